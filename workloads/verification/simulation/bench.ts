/**
 * `./run.sh bench:simulate`: how fast is the simulator? Finding a rare mistake takes much
 * simulation, so the speed decides what a night of simulation can say.
 *
 * 1. Simulate for a while, so that the engine's code is compiled before the measurement.
 * 2. Simulate seed after seed in this one thread until the time is over.
 * 3. Print transactions per second, by the clock and by processor time. The latter is the rate of a
 *    core without other work, and is compared with the aim; it includes the threads that collect
 *    garbage and compile.
 *
 * Every run is judged, as always. If one breaks a rule, no numbers are printed.
 *
 * Exit codes: 0 if no run broke a rule, however fast; 1 if one did; 2 for a mistake on the command
 * line.
 */
import { tmpdir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { planOf, simulate } from './index.ts';
import { captureEnvironment } from '#results';
import { integer, runCommand, startProgress } from '#harness';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { type SimulationMeasurements, measuredLines } from './measured.ts';

const WARM_UP_SECONDS_MAX = 5;

const specification = {
  script: 'bench:simulate',
  description:
    'Measures how many transactions a second the simulator simulates and judges on one core.',
  options: {
    seconds: integer({
      description: 'time to measure',
      default: 20,
      min: 1,
      max: 86_400,
      unit: 'seconds',
    }),
    from: integer({
      description: 'the first seed; the others follow',
      default: 1,
      min: 1,
      max: 2 ** 31 - 1,
    }),
  },
  ignoredInFiles: Object.keys(ENGINE_OPTIONS), // A seed decides them.
  examples: [
    { command: './run.sh bench:simulate', does: 'Measures for 20 seconds.' },
    { command: './run.sh bench:simulate --seconds 120', does: 'Measures more exactly.' },
  ],
} as const;

// The same setting as in the threads of `./run.sh simulate`.
setFlagsFromString('--max-semi-space-size=32');
// Millions of conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

await runCommand(specification, async ({ seconds, from }, { signal }) => {
  const progress = startProgress();
  const onProgress = (done: number): void => progress.update(Math.round(done));
  const warmUpSeconds = Math.min(seconds, WARM_UP_SECONDS_MAX);
  progress.phase('warming up', warmUpSeconds, 'seconds');
  const warm = await measure(from, warmUpSeconds, { signal, onProgress });
  progress.phase('simulating', seconds, 'seconds');
  const measured = await measure(from + warm.runs, seconds, { signal, onProgress });
  progress.end();
  if (signal.aborted) return;
  const broken = [...warm.broken, ...measured.broken];
  if (broken.length > 0) {
    process.exitCode = 1;
    process.stdout.write(`No numbers: seeds ${broken.join(', ')} broke a rule.\n`);
    return;
  }
  const lines = measuredLines(measured, captureEnvironment(tmpdir()));
  process.stdout.write(`${lines.join('\n')}\n`);
});

/** Simulates seeds from `from` on until `seconds` are over. */
async function measure(
  from: number,
  seconds: number,
  watched: { readonly signal: AbortSignal; readonly onProgress: (seconds: number) => void },
): Promise<SimulationMeasurements> {
  const totals = { runs: 0, transactions: 0, messages: 0, judgingMs: 0, broken: [] as number[] };
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  let wallMs = 0;
  while (wallMs < seconds * 1_000 && !watched.signal.aborted) {
    let judgingSinceMs = startedMs;
    const onJudging = (): void => {
      judgingSinceMs = performance.now();
    };
    const result = await simulate(planOf(from + totals.runs), { onJudging });
    const nowMs = performance.now();
    totals.judgingMs += nowMs - judgingSinceMs;
    totals.transactions += result.counts.transactions;
    totals.messages += result.messages;
    if (result.violations.length > 0) totals.broken.push(result.plan.seed);
    totals.runs++;
    wallMs = nowMs - startedMs;
    watched.onProgress(wallMs / 1_000);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ...totals, wallMs, cpuMs: (user + system) / 1_000 };
}
