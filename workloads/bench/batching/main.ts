/** `./run.sh bench:batching`: the value of batching and prefetching (section 2.5 of the paper). */
import {
  counted,
  choice,
  integer,
  onlyWith,
  repeatsOption,
  roundTripOption,
  runExperiment,
  seedOption,
} from '#harness';
import { describeStore, emptyStores, STORES } from '../../harness/stores.ts';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { benchCrawl, benchTenColumns, variantsOf } from './measure.ts';
import { findingsOf } from './findings.ts';

const LIMITATIONS = [
  'Loader, workers and the storage’s client share one process.',
  'Each variant was measured in a separate run on a fresh storage.',
];
const OF_TIMERS =
  'A round trip is added by a timer: it has the latency of a network, but none of its other costs.';

const SIZES = {
  smoke: { documents: 40, transactions: 40, repository: 200, repeats: 1 },
  quick: { documents: 3_000, transactions: 3_000, repository: 20_000, repeats: 3 },
  standard: { documents: 10_000, transactions: 10_000, repository: 100_000, repeats: 8 },
  full: { documents: 30_000, transactions: 30_000, repository: 1_000_000, repeats: 10 },
};
/** Guesses for the plan. */
const LOADED_PER_SECOND = 20_000;
const DONE_PER_SECOND = 1_000;

// Variants with and without batching are tried here, so its settings always have an effect.
const [batchDelay, batchRows, batchInFlight] = [
  onlyWith({}, ENGINE_OPTIONS.batchDelay),
  onlyWith({}, ENGINE_OPTIONS.batchRows),
  onlyWith({}, ENGINE_OPTIONS.batchInFlight),
];

await runExperiment(
  {
    script: 'bench:batching',
    subject: {
      kicker: 'Percolator paper, section 2.5',
      title: 'The value of batching and prefetching',
    },
    description:
      'Counts Bigtable operations and RPCs per document of the crawl-rate workload, and per transaction that ' +
      'reads a row of ten columns, with batching and prefetching off and on, and reports the latency of each.',
    sizes: SIZES,
    options: {
      store: choice({
        choices: STORES,
        description: 'the storage; emulator is the official emulator, over the network',
        default: 'embedded',
      }),
      roundTrip: roundTripOption(2),
      documents: integer({
        description: 'documents clustered in each run',
        min: 20,
        max: 10_000_000,
      }),
      transactions: integer({
        description: 'transactions of ten reads in each run',
        min: 20,
        max: 10_000_000,
      }),
      repository: integer({
        description: 'documents, or rows of ten columns, in the storage before the run',
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
      repeats: repeatsOption('each variant'),
      seed: seedOption('the documents, the rows and the order of runs'),
    },
    examples: [
      {
        command: './run.sh bench:batching --round-trip 0',
        does: 'on the embedded storage without a delay',
      },
      { command: './run.sh bench:batching --store emulator --round-trip 0', does: 'over gRPC' },
    ],
    plan: (options) => {
      const { documents, transactions, repository, repeats, roundTrip, store } = options;
      const runs = repeats * variantsOf(options).length;
      return {
        about: `${counted(runs, 'runs')} on ${store}, each call ${roundTrip} ms longer: ${counted(documents, 'documents')}, then ${counted(transactions, 'transactions')}`,
        seconds:
          runs *
          (2 + (2 * repository) / LOADED_PER_SECOND + (documents + transactions) / DONE_PER_SECOND),
        store: describeStore(store),
        limitations: roundTrip > 0 ? [OF_TIMERS, ...LIMITATIONS] : LIMITATIONS,
      };
    },
  },
  async (options, { progress, signal, work }) => {
    const { store, roundTrip: roundTripMs, concurrency } = options;
    const bench = { ...options, roundTripMs, variants: variantsOf(options) };
    const context = { openEmpty: emptyStores(store, work), progress, signal };
    const crawl = await benchCrawl(bench, context);
    const tenColumns = await benchTenColumns(bench, context);
    return findingsOf({ crawl, tenColumns, concurrency });
  },
);
