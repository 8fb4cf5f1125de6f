/** `./run.sh bench:batching`: the value of batching and prefetching (section 2.5 of the paper). */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { choice, integer, number, outputFolder, runCommand, startProgress } from '#harness';
import { createRun, defaultRunFolder, type Run } from '#results';
import { crawlLines, tenColumnsLines } from './lines.ts';
import { DURABILITY, emptyStores, STORES } from '../../harness/stores/empty-stores.ts';
import { ENGINE_OPTIONS, type EngineValues, settingsOf } from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { benchCrawl, benchTenColumns, type Variant } from './measure-variants.ts';
import { findingsOf, readTarget } from './findings.ts';

const LIMITATIONS = [
  'Loader, workers and the storage’s client share one process.',
  'Each variant was measured in a separate run on a fresh storage.',
];
const OF_TIMERS =
  'A round trip is added by a timer: it has the latency of a network, but none of its other costs.';

const { batchDelay, batchRows, batchInFlight } = ENGINE_OPTIONS;

const specification = {
  script: 'bench:batching',
  description:
    'Counts Bigtable operations and RPCs per document of the crawl-rate workload, and per transaction that ' +
    'reads a row of ten columns, with batching and prefetching off and on, and reports the latency of each.',
  options: {
    store: choice({
      choices: STORES,
      description: 'the storage; emulator is the official emulator, over the network',
      default: 'embedded',
    }),
    roundTrip: number({
      description: 'added to each call of the storage, by a timer; 0 adds nothing',
      default: 2,
      min: 0,
      max: 1_000,
      unit: 'ms',
    }),
    documents: integer({
      description: 'documents clustered in each run',
      default: 3_000,
      min: 20,
      max: 10_000_000,
    }),
    transactions: integer({
      description: 'transactions of ten reads in each run',
      default: 3_000,
      min: 20,
      max: 10_000_000,
    }),
    repository: integer({
      description: 'documents, or rows of ten columns, in the storage before the run',
      default: 20_000,
      min: 100,
      max: 10_000_000,
    }),
    concurrency: integer({
      description:
        'documents, or transactions, at a time; with too few, no transactions share calls',
      default: 256,
      min: 1,
      max: 10_000,
    }),
    batchDelay,
    batchRows,
    batchInFlight,
    repeats: integer({ description: 'runs of each variant', default: 3, min: 1, max: 100 }),
    seed: integer({
      description: 'the same seed makes the same documents, rows and order of runs',
      default: 1,
      min: 0,
      max: 2 ** 31 - 1,
    }),
    out: outputFolder({
      description: 'new folder for the record and the temporary databases',
      default: () => defaultRunFolder('batching'),
      defaultText: 'results/runs/batching-<UTC time>',
      isNew: true,
    }),
  },
  // The benchmark tries these itself.
  ignoredInFiles: ['batching', 'prefetch', 'scanners'],
  examples: [
    { command: './run.sh bench:batching', does: 'both workloads, a minute or two' },
    {
      command: './run.sh bench:batching --round-trip 0',
      does: 'on the embedded storage without a delay',
    },
    { command: './run.sh bench:batching --store emulator --round-trip 0', does: 'over gRPC' },
  ],
} as const;

await runCommand(specification, async (options, { signal, commandLine }) => {
  const { out, store, roundTrip, seed, repeats, concurrency } = options;
  const run = createRun(out, {
    experiment: 'batching',
    profile: 'custom',
    commandLine,
    parameters: parametersOf(options),
    seed,
    repeats,
    store: { name: store, durability: DURABILITY[store] },
    limitations: roundTrip > 0 ? [OF_TIMERS, ...LIMITATIONS] : LIMITATIONS,
  });
  const bench = { ...options, roundTripMs: roundTrip, variants: variantsOf(options) };
  const progress = startProgress();
  const work = path.join(out, 'work');
  const context = { openEmpty: emptyStores(store, work), progress, signal };
  try {
    const crawl = await benchCrawl(bench, context);
    const tenColumns = await benchTenColumns(bench, context);
    progress.end();
    run.describe({ findings: findingsOf({ crawl, tenColumns, concurrency }) });
    run.describe({ targets: [readTarget(tenColumns)] });
    const { page } = run.finish();
    const lines = [
      ...crawlLines(crawl, concurrency),
      '',
      ...tenColumnsLines(tenColumns, concurrency),
    ];
    const where = `${store} storage, each call ${roundTrip} ms longer, ${repeats} ${repeats === 1 ? 'repeat' : 'repeats'}, seed ${seed}`;
    printLines(run, [...lines, '', where], page);
  } finally {
    progress.end();
    await rm(work, { recursive: true, force: true });
  }
});

/** Prints the tables, then their limitations. */
function printLines({ record }: Run, lines: readonly string[], page: string): void {
  const { cpuModel, cores, nodeVersion } = record.environment;
  const machine = `${cpuModel}, ${cores} cores, Node ${nodeVersion}`;
  const all = ['', ...lines, machine, ...record.limitations, '', `Report: ${page}`];
  process.stdout.write(`${all.join('\n')}\n`);
}

function variantsOf(
  values: Pick<EngineValues, 'batchDelay' | 'batchRows' | 'batchInFlight'>,
): readonly Variant[] {
  const variant = (name: string, batching: 'off' | 'on', prefetch: 'off' | 'learn'): Variant => ({
    name,
    settings: settingsOf({ ...values, batching, prefetch }),
    conditionalBatch: true,
  });
  return [
    variant('off', 'off', 'off'),
    variant('prefetch', 'off', 'learn'),
    variant('batching', 'on', 'off'),
    variant('both', 'on', 'learn'),
    { ...variant('both, public API', 'on', 'learn'), conditionalBatch: false },
  ];
}
