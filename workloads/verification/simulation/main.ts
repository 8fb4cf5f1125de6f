/**
 * `./run.sh simulate`: simulated runs of the real engine, seed after seed, on every core.
 *
 * 1. Each seed decides one run: what its clients do, and what goes wrong. Equal seeds give equal
 *    runs.
 * 2. Every run is judged. The tables count what was simulated, and the faults that were met.
 * 3. The first run that fails is shrunk, and its plan is written to a file, which every test run
 *    replays from then on; its story becomes part of the record, and a page shows it step by step.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { firstSeedOption, flag, integer, jobsOption, runExperiment, type Sizes } from '#harness';
import { findingsOf, type Shrunk } from './findings.ts';
import {
  type FailedRun,
  type SimulationPlan,
  planOf,
  shrink,
  SHRINKING_RUNS_MAX,
  simulateSeeds,
  tellStory,
} from './index.ts';

const REGRESSIONS = fileURLToPath(new URL('../regressions/', import.meta.url));
/** In the folder of the run. */
const PAGE = 'counterexample.html';
const STORY_LINES_MAX = 200;
/** The speed of one core: a guess, for the plan. */
const RUNS_PER_SECOND = 12;

const SIZES: Sizes<{ readonly seeds: number }> = {
  smoke: { seeds: 20 },
  quick: { seeds: 2_000 },
  standard: { seeds: 40_000 },
  full: { seeds: 400_000 },
};

await runExperiment(
  {
    script: 'simulate',
    subject: { kind: 'proof', kicker: 'Verification', title: 'The engine in a simulated world' },
    description:
      'Simulates the engine under faults, deterministically, and judges every run: snapshot isolation, ' +
      'list append, notifications, changes, progress, and what an audit finds in the tables.',
    sizes: SIZES,
    options: {
      seeds: integer({ description: 'runs to simulate', min: 1, max: 1e9 }),
      seed: firstSeedOption(),
      jobs: jobsOption('runs simulated'),
      follow: flag({ description: 'processes follow the changes of the tables, too' }),
      reverse: flag({ description: 'half of the scans are in reverse' }),
      story: flag({ description: 'print the story of the first seed, and nothing else' }),
      noRegression: flag({ description: 'write no regression file for a run that fails' }),
    },
    examples: [
      { command: './run.sh simulate --seeds 100000', does: 'simulates for an hour or two' },
      { command: './run.sh simulate --seed 17 --story', does: 'prints what happens in run 17' },
    ],
    instead: {
      story: async ({ seed, follow: follows, reverse: reverses }) => {
        const plan = planOf(seed, { follows, reverses });
        process.stdout.write(`${(await storyOf(plan)).join('\n')}\n`);
      },
    },
    plan: ({ seeds, seed, jobs }) => ({
      about: `seeds ${seed} to ${seed + seeds - 1}, ${jobs} at a time`,
      seconds: 1 + seeds / (RUNS_PER_SECOND * jobs),
      store: {
        name: 'simulated',
        durability: 'a model of a storage, which loses what it may lose',
      },
      limitations: [
        'Storage, network, machines and time are modelled; the embedded store is not simulated.',
      ],
    }),
  },
  async (
    { seeds, seed, jobs, follow: follows, reverse: reverses, noRegression },
    { keep, progress, run, signal },
  ) => {
    progress.phase('simulating', seeds, 'runs');
    const range = { from: seed, to: seed + seeds - 1, jobs, follows, reverses };
    const tally = await simulateSeeds(range, ({ runs }) => progress.update(runs), signal);
    const found = findingsOf(tally, seeds);
    const [failed] = tally.failed;
    if (failed === undefined || signal.aborted) return found;
    keep(found);
    progress.phase(`shrinking seed ${failed.seed}, at most`, SHRINKING_RUNS_MAX, 'runs');
    const onRun = (runs: number): void => progress.update(runs);
    const isKept = !noRegression;
    const plan = planOf(failed.seed, { follows, reverses });
    return findingsOf(
      tally,
      seeds,
      await shrunkRun(failed, plan, { isKept, folder: run.folder, signal, onRun }),
    );
  },
);

/** Shrinks the run, writes a page to step through it, and saves its plan. */
async function shrunkRun(
  { seed, claim }: FailedRun,
  whole: SimulationPlan,
  {
    isKept,
    folder,
    signal,
    onRun,
  }: {
    readonly isKept: boolean;
    readonly folder: string;
    readonly signal: AbortSignal;
    readonly onRun: (runs: number) => void;
  },
): Promise<Shrunk> {
  const plan = await shrink(whole, claim, { signal, onRun });
  const story = await storyOf(plan);
  // First the plan, which took the longest: the page can be made from it again.
  const file = path.join(REGRESSIONS, `${claim.replaceAll(/[^a-z]+/gi, '-')}-${seed}.json`);
  const hasFile = isKept && !signal.aborted;
  if (hasFile) await writeFile(file, `${JSON.stringify({ claim, plan }, null, 2)}\n`);
  const page = await writePage(plan, folder);
  return { seed, story, page, file: hasFile ? path.relative(process.cwd(), file) : undefined };
}

/**
 * Undefined for a run on a simulated HBase, whose messages have another form. The bundler is loaded
 * only here.
 */
async function writePage(plan: SimulationPlan, folder: string): Promise<string | undefined> {
  if (plan.knobs.hbase !== undefined) return undefined;
  const { recordSimulation } = await import('../explorer/recording.ts');
  const { buildRecordedPage } = await import('../explorer/page/build.ts');
  const page = path.join(folder, PAGE);
  await writeFile(page, await buildRecordedPage(await recordSimulation(plan)));
  return page;
}

async function storyOf(plan: SimulationPlan): Promise<readonly string[]> {
  const lines = await tellStory(plan);
  const left = lines.length - STORY_LINES_MAX;
  return left <= 0 ? lines : [`(${left} lines before)`, ...lines.slice(left)];
}
