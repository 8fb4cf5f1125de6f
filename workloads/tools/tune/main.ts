/**
 * `./run.sh tune`: finds settings for batching, prefetch and scanners that suit a workload, and
 * states how certain they are.
 *
 * The recommended settings are written next to the record, as a file for `--config`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Bigtable, createRandom } from '#engine';
import {
  choice,
  counted,
  integer,
  type Measuring,
  number,
  roundTripOption,
  runExperiment,
  seedOption,
  type Sizes,
} from '#harness';
import { DEFAULTS, drawCandidates, tryOut, TUNED, WORKLOADS } from './tuned-workloads.ts';
import { distantStore } from '../../harness/watched-stores.ts';
import { describeStore, emptyStores, STORES } from '../../harness/stores.ts';
import { type SearchResult, search, trialsOf } from './search.ts';
import { configText, findingsOf } from './tune-findings.ts';

/** Time of a trial besides the parts that TRIAL_FACTOR counts: loading and check. */
const OVERHEAD_SECONDS = 1.5;
/**
 * A trial's seconds are its busy part; the warm-up and the part with one document or transaction at
 * a time together take half as long.
 */
const TRIAL_FACTOR = 1.5;
const SECONDS_MIN = 0.1;

interface TuneSize {
  readonly seconds: number;
  readonly candidates: number;
  readonly repeats: number;
  readonly size: number;
}

const SIZES: Sizes<TuneSize> = {
  smoke: { seconds: 5, candidates: 3, repeats: 3, size: 100 },
  quick: { seconds: 240, candidates: 12, repeats: 6, size: 2_000 },
  standard: { seconds: 1_800, candidates: 24, repeats: 12, size: 2_000 },
  full: { seconds: 14_400, candidates: 48, repeats: 24, size: 20_000 },
};

interface TuneSettings extends TuneSize {
  readonly workload: (typeof TUNED)[number];
  readonly store: (typeof STORES)[number];
  readonly objective: 'throughput' | 'latency';
  readonly roundTrip: number;
  readonly concurrency: number;
  readonly seed: number;
}

await runExperiment(
  {
    script: 'tune',
    subject: { kicker: 'Percolator paper, section 2.5', title: 'Settings for a workload' },
    description:
      'Tries batching, prefetch and scanner settings on a workload within a budget of time, draws throughput against ' +
      'latency, and writes the recommended settings to a file that scripts accept with --config.',
    sizes: SIZES,
    hasTargets: false,
    options: {
      workload: choice({
        choices: TUNED,
        description:
          'the workload to tune for: clustering documents, or single-cell reads and rewrites',
        default: 'crawl-rate',
      }),
      store: choice({ choices: STORES, description: 'the storage', default: 'embedded' }),
      roundTrip: roundTripOption(0),
      objective: choice({
        choices: ['throughput', 'latency'],
        description: 'the measure by which the best settings are chosen',
        default: 'throughput',
      }),
      seconds: number({
        description: 'the approximate duration; the shorter, the less certain',
        min: 5,
        max: 86_400,
        unit: 'seconds',
      }),
      candidates: integer({
        description: 'settings to try, including the defaults',
        min: 2,
        max: 500,
      }),
      repeats: integer({
        description: 'final pairs of the best settings and the defaults; fewer are less certain',
        min: 3,
        max: 100,
      }),
      size: integer({
        description: 'documents, or rows, in the storage before a trial',
        min: 100,
        max: 10_000_000,
      }),
      concurrency: integer({
        description: 'documents, or transactions, at a time',
        default: 256,
        min: 1,
        max: 10_000,
      }),
      seed: seedOption('the settings that are tried, their order, and the data'),
    },
    examples: [
      { command: './run.sh tune --workload micro --seconds 600', does: 'more certain' },
      { command: './run.sh tune --round-trip 2', does: 'as if the storage were far away' },
    ],
    plan: ({ candidates, repeats, seconds, store }) => {
      const { trials } = trialsOf(candidates, repeats);
      return {
        about: `${counted(trials, 'trials')} of ${counted(candidates, 'settings')}`,
        seconds: Math.max(seconds, trials * (OVERHEAD_SECONDS + TRIAL_FACTOR * SECONDS_MIN)),
        store: describeStore(store),
        limitations: ['Client, workers and loader share one process with the search.'],
      };
    },
  },
  async (settings, measuring) => {
    const { workload, objective } = settings;
    const found = await searchWithin(settings, measuring);
    await writeFile(path.join(measuring.run.folder, 'config.json'), configText(found));
    return findingsOf({ workload, unit: WORKLOADS[workload].unit, objective, found });
  },
);

async function searchWithin(
  settings: TuneSettings,
  { progress, signal, work }: Measuring,
): Promise<SearchResult> {
  const { workload, store, size, concurrency, roundTrip: roundTripMs, repeats } = settings;
  const random = createRandom(settings.seed).fork('tune');
  const { fixed } = WORKLOADS[workload];
  const candidates = drawCandidates(settings.candidates, random.fork('candidates'), fixed);
  const { trials, lengths } = trialsOf(candidates.length, repeats);
  const measured = (settings.seconds - trials * OVERHEAD_SECONDS) / TRIAL_FACTOR;
  const seconds = Math.max(SECONDS_MIN, measured / lengths);
  const openEmpty = emptyStores(store, work);
  progress.phase(`trying settings for ${workload}`, trials, 'trials');
  const measure: Parameters<typeof search>[0]['measure'] = async (values, trial) => {
    signal.throwIfAborted();
    await using empty = await openEmpty();
    const data = { size, concurrency, seed: trial.seed };
    const distance = { ...empty.manifest, roundTripMs };
    const wrap = (one: Bigtable): Bigtable => (roundTripMs > 0 ? distantStore(one, distance) : one);
    const details = { values, data, seconds: trial.seconds, wrap, signal };
    return await tryOut(WORKLOADS[workload], empty, details);
  };
  const onTrial = (done: number): void => progress.update(done);
  // Not counted: the first trial would include the compilation of all code.
  await measure(DEFAULTS, { seconds, seed: 0 });
  const found = await search({ ...settings, candidates, seconds, random, onTrial, measure });
  signal.throwIfAborted(); // An interrupt cuts the last trial short.
  return found;
}
