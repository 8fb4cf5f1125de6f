/**
 * `./run.sh bench:simulate`: how fast is the simulator? Finding a rare mistake takes much
 * simulation, so the speed decides what a night of simulation can say.
 *
 * 1. Simulate for a while, so that the engine's code is compiled before the measurement.
 * 2. Simulate seed after seed in this one thread until the time is over.
 * 3. Report transactions per second, by the clock and by processor time. The latter is the rate of
 *    a core without other work, and is compared with the aim.
 *
 * Every run is judged, as always. If one breaks a rule, there are no numbers.
 */
import { setFlagsFromString } from 'node:v8';
import { firstSeedOption, runExperiment, secondsOption, type Sizes, warmUpOption } from '#harness';
import { speedFindings, type SimulationMeasurements } from './findings.ts';
import { planOf, simulate } from './index.ts';

const SIZES: Sizes<{ readonly seconds: number; readonly warmUp: number }> = {
  smoke: { seconds: 1, warmUp: 1 },
  quick: { seconds: 20, warmUp: 5 },
  standard: { seconds: 1_200, warmUp: 10 },
  full: { seconds: 7_200, warmUp: 10 },
};

// As in the threads of `./run.sh simulate`: their young generation of 96 MB
// (harness/processes/thread.ts) is three times this.
setFlagsFromString('--max-semi-space-size=32');
// Millions of conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

await runExperiment(
  {
    script: 'bench:simulate',
    subject: { kicker: 'Verification', title: 'The speed of the simulator' },
    description:
      'Measures how many transactions a second the simulator simulates and judges on one core.',
    sizes: SIZES,
    options: {
      seconds: secondsOption('the runs', 1),
      warmUp: warmUpOption('the runs'),
      seed: firstSeedOption(),
    },
    examples: [{ command: './run.sh bench:simulate --seconds 120', does: 'measures more exactly' }],
    plan: ({ seconds, warmUp, seed }) => ({
      about: `seeds from ${seed} on for ${seconds} s, one after another`,
      seconds: seconds + warmUp,
      store: { name: 'simulated', durability: 'as in ./run.sh simulate' },
      limitations: ['The time of the processor depends on what else the machine does.'],
    }),
  },
  async ({ seconds, warmUp, seed }, { progress, signal }) => {
    const onProgress = (done: number): void => progress.update(Math.round(done));
    progress.phase('warming up', warmUp, 'seconds');
    const warm = await measure(seed, warmUp, { signal, onProgress });
    progress.phase('simulating', seconds, 'seconds');
    const measured = await measure(seed + warm.runs, seconds, { signal, onProgress });
    signal.throwIfAborted();
    return speedFindings(warm, measured);
  },
);

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
