/**
 * `./run.sh simulate`: simulated runs of the real engine, seed after seed, on every core.
 *
 * 1. Each seed decides one run: what its clients do, and what goes wrong. Equal seeds give equal
 *    runs.
 * 2. Every run is judged. At the end the program prints what was simulated, and which faults never
 *    occurred.
 * 3. The first run that fails is shrunk, and its plan is written to a file, which every test run
 *    replays from then on; its story is printed.
 *
 * Exit codes: 0 if every run passed; 1 if one failed; 2 for a mistake on the command line.
 */
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type FailedRun,
  type Plan,
  planOf,
  shrink,
  simulateSeeds,
  type Tally,
  tellStory,
} from './index.ts';
import { flag, integer, runCommand, startProgress } from '#harness';
import { summaryLines } from './summary.ts';

const REGRESSIONS = new URL('../regressions/', import.meta.url);
const STORY_LINES_MAX = 200;

const specification = {
  script: 'simulate',
  description:
    'Simulates the engine under faults, deterministically, and judges every run: snapshot isolation, ' +
    'list append, notifications, progress, and what an audit finds in the tables.',
  options: {
    seeds: integer({ description: 'runs to simulate', default: 2_000, min: 1, max: 1e9 }),
    from: integer({
      description: 'the first seed; the others follow',
      default: 1,
      min: 1,
      max: 2 ** 31 - 1,
    }),
    jobs: integer({
      description: 'runs simulated at the same time, one per core',
      default: availableParallelism(),
      min: 1,
      max: 256,
    }),
    story: flag({ description: 'print the story of the first seed, instead of counts' }),
    keep: flag({ description: 'write no regression file for a run that fails' }),
  },
  examples: [
    { command: './run.sh simulate', does: 'Simulates 2,000 runs.' },
    { command: './run.sh simulate --seeds 100000', does: 'Simulates for an hour or two.' },
    { command: './run.sh simulate --from 17 --story', does: 'Prints what happens in run 17.' },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  if (options.story) {
    await printStory(planOf(options.from));
    return;
  }
  const last = options.from + options.seeds - 1;
  process.stdout.write(`Seeds ${options.from} to ${last}\n`);
  const progress = startProgress();
  progress.phase('simulating', options.seeds, 'runs');
  const startedMs = performance.now();
  const { from, jobs } = options;
  const onTally = ({ runs }: Tally): void => {
    progress.update(runs);
  };
  const tally = await simulateSeeds({ from, to: last, jobs }, onTally, signal);
  progress.end();
  const seconds = (performance.now() - startedMs) / 1000;
  process.stdout.write(`${summaryLines(tally, { seconds, jobs }).join('\n')}\n`);
  const [failed] = tally.failed;
  if (failed === undefined) return;
  process.exitCode = 1;
  if (!signal.aborted) await explain(failed, !options.keep);
});

/** Shrinks the run, saves its plan, and prints its story. */
async function explain(failed: FailedRun, isKept: boolean): Promise<void> {
  process.stdout.write(`\nSeed ${failed.seed} breaks "${failed.claim}". Shrinking it ...\n`);
  const plan = await shrink(planOf(failed.seed), failed.claim);
  if (isKept) {
    const name = `${failed.claim.replaceAll(/[^a-z]+/gi, '-')}-${failed.seed}.json`;
    const file = path.join(fileURLToPath(REGRESSIONS), name);
    await writeFile(file, `${JSON.stringify({ claim: failed.claim, plan }, null, 2)}\n`);
    process.stdout.write(
      `Its plan is in ${path.relative(process.cwd(), file)}; tests replay it.\n`,
    );
  }
  await printStory(plan);
}

async function printStory(plan: Plan): Promise<void> {
  const lines = await tellStory(plan);
  const shown = lines.slice(-STORY_LINES_MAX);
  if (shown.length < lines.length) shown.unshift(`(${lines.length - shown.length} lines before)`);
  process.stdout.write(`\n${shown.join('\n')}\n`);
}
