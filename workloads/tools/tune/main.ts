/**
 * `./run.sh tune`: finds batching and prefetch settings for a workload, and states their certainty.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Bigtable, createRandom } from '#engine';
import { choice, integer, number, outputFolder, runCommand, startProgress } from '#harness';
import { createRun, defaultRunFolder } from '#results';
import { DEFAULTS, drawCandidates, nameOf } from './candidates.ts';
import { distantStore } from '../../harness/stores/distant-store.ts';
import { emptyStores, STORES } from '../../harness/stores/empty-stores.ts';
import type { EngineValues } from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { describeStore } from '../../harness/stores/index.ts';
import { type SearchResult, search, type Trial, trialsOf } from './search.ts';
import { certaintyOf, configText, findingsOf, recommended } from './tune-findings.ts';
import { tryOut, TUNED, WORKLOADS } from './tuned-workloads.ts';

/** Time of a trial besides its measurement: loading, warm-up and check. */
const OVERHEAD_SECONDS = 1.5;
/**
 * A trial's seconds are its busy part; warm-up and the part with one at a time take half as long.
 */
const TRIAL_FACTOR = 1.5;
const SECONDS_MIN = 0.1;

const specification = {
  script: 'tune',
  description:
    'Tries batching, prefetch and scanner settings on a workload within a budget of time, draws throughput against ' +
    'latency, and writes the recommended settings to a file that scripts accept with --config.',
  options: {
    workload: choice({
      choices: TUNED,
      description:
        'the workload to tune for: clustering documents, or single-cell reads and rewrites',
      default: 'crawl-rate',
    }),
    store: choice({ choices: STORES, description: 'the storage', default: 'embedded' }),
    roundTrip: number({
      description: 'added to each call of the storage, by a timer; 0 adds nothing',
      default: 0,
      min: 0,
      max: 1_000,
      unit: 'ms',
    }),
    objective: choice({
      choices: ['throughput', 'latency'],
      description: 'the measure by which the best settings are chosen',
      default: 'throughput',
    }),
    seconds: number({
      description: 'the approximate duration; the shorter, the less certain',
      default: 240,
      min: 5,
      max: 86_400,
      unit: 'seconds',
    }),
    candidates: integer({
      description: 'settings to try, including the defaults',
      default: 12,
      min: 2,
      max: 500,
    }),
    repeats: integer({
      description: 'final pairs of the best settings and the defaults; fewer are less certain',
      default: 6,
      min: 3,
      max: 100,
    }),
    size: integer({
      description: 'documents, or rows, in the storage before a trial',
      default: 2_000,
      min: 100,
      max: 10_000_000,
    }),
    concurrency: integer({
      description: 'documents, or transactions, at a time',
      default: 256,
      min: 1,
      max: 10_000,
    }),
    seed: integer({
      description: 'with the same seed, tries the same settings in the same order',
      default: 1,
      min: 0,
      max: 2 ** 31 - 1,
    }),
    out: outputFolder({
      description: 'new folder for the record, the chart and the recommended settings',
      default: () => defaultRunFolder('tune'),
      defaultText: 'results/runs/tune-<UTC time>',
      isNew: true,
    }),
  },
  examples: [
    { command: './run.sh tune', does: 'the clustering of documents, four minutes' },
    { command: './run.sh tune --workload micro --seconds 600', does: 'more certain' },
    { command: './run.sh tune --round-trip 2', does: 'as if the storage were far away' },
  ],
} as const;

interface TuneOptions {
  readonly workload: (typeof TUNED)[number];
  readonly store: (typeof STORES)[number];
  readonly objective: 'throughput' | 'latency';
  readonly roundTrip: number;
  readonly seconds: number;
  readonly candidates: number;
  readonly repeats: number;
  readonly size: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly out: string;
}

await runCommand(specification, async (options, { signal, commandLine }) => {
  const { workload, objective, out, seed, repeats, store } = options;
  const run = createRun(out, {
    experiment: 'tune',
    profile: 'custom',
    commandLine,
    parameters: parametersOf(options),
    seed,
    repeats,
    store: describeStore(store),
    limitations: ['Client, workers and loader share one process with the search.'],
  });
  try {
    const found = await searchWithin(options, signal);
    const result = { workload, unit: WORKLOADS[workload].unit, objective, found };
    run.describe({ findings: findingsOf(result) });
    const { page } = run.finish();
    const config = path.join(out, 'config.json');
    await writeFile(config, configText(found));
    const lines = [
      '',
      ...found.tried
        .toSorted((a, b) => b.trial.perSecond - a.trial.perSecond)
        .map((one) => lineOf(one.values, one.trial, result.unit)),
      '',
      certaintyOf(result),
      `Recommended: ${nameOf(recommended(found))}`,
      `  --config ${config}`,
      '',
      `Report: ${page}`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await rm(path.join(out, 'work'), { recursive: true, force: true });
  }
});

async function searchWithin(options: TuneOptions, signal: AbortSignal): Promise<SearchResult> {
  const { workload, store, out, size, concurrency, roundTrip: roundTripMs, repeats } = options;
  const random = createRandom(options.seed).fork('tune');
  const candidates = drawCandidates(options.candidates, random.fork('candidates'));
  const { trials, lengths } = trialsOf(candidates.length, repeats);
  const measured = (options.seconds - trials * OVERHEAD_SECONDS) / TRIAL_FACTOR;
  const seconds = Math.max(SECONDS_MIN, measured / lengths);
  const work = path.join(out, 'work');
  await mkdir(work, { recursive: true });
  const openEmpty = emptyStores(store, work);
  const progress = startProgress();
  progress.phase(`trying settings for ${workload}`, trials, 'trials');
  const measure: Parameters<typeof search>[0]['measure'] = async (values, trial) => {
    await using empty = await openEmpty();
    const data = { size, concurrency, seed: trial.seed };
    const distance = { ...empty.manifest, roundTripMs };
    const wrap = (one: Bigtable): Bigtable => (roundTripMs > 0 ? distantStore(one, distance) : one);
    const details = { values, data, seconds: trial.seconds, wrap, signal };
    return await tryOut(WORKLOADS[workload], empty, details);
  };
  const onTrial = (done: number): void => progress.update(done);
  try {
    // Not counted: the first trial would include the compilation of all code.
    await measure(DEFAULTS, { seconds, seed: 0 });
    return await search({ ...options, candidates, seconds, random, onTrial, measure });
  } finally {
    progress.end();
  }
}

function lineOf(values: EngineValues, { perSecond, latencyMs }: Trial, unit: string): string {
  const [rate, latency] = [perSecond.toFixed(0).padStart(7), latencyMs.toFixed(2).padStart(8)];
  return `${rate} ${unit}/s ${latency} ms  ${nameOf(values)}`;
}
