/** `npm run bench:batching`: what batching and prefetching are worth (section 2.5 of the paper). */
import path from 'node:path';
import {
  captureEnvironment,
  choice,
  defaultRunFolder,
  integer,
  number,
  outputFolder,
  runCommand,
  startProgress,
} from '#results';
import { crawlLines, tenColumnsLines } from './batching-lines.ts';
import { emptyStores, STORES } from './empty-stores.ts';
import { ENGINE_OPTIONS, settingsOf } from './engine-settings.ts';
import { benchCrawl, benchTenColumns, type Variant } from './measure-variants.ts';
import { writeRecord } from './record.ts';

const LIMITATIONS = [
  'The round trip is added by a timer: it has the latency of a network, and none of its other costs.',
  'Loader, workers and storage share one process, so a call costs less of the processor than over a network.',
  'Each of the variants was measured in a run of its own on a fresh storage.',
];

const { batchDelay, batchRows, batchInFlight } = ENGINE_OPTIONS;

const specification = {
  name: 'npm run bench:batching --',
  description:
    'Counts Bigtable operations and RPCs for each document of the crawl-rate workload, and for each transaction that ' +
    'reads a row of ten columns, with batching and prefetching off and on, and states the latency beside them.',
  options: {
    store: choice({
      choices: STORES,
      description: 'the storage; emulator is the official one, over the network',
      default: 'embedded',
    }),
    roundTrip: number({
      description: 'added to each call of the storage, by a timer; 0 adds nothing',
      default: 2,
      min: 0,
      max: 1_000,
      unit: 'ms',
    }),
    documents: integer({ description: 'documents clustered in each run', default: 3_000, min: 20 }),
    transactions: integer({
      description: 'transactions of ten reads in each run',
      default: 3_000,
      min: 20,
    }),
    repository: integer({
      description: 'documents, or rows of ten columns, that are there before',
      default: 5_000,
      min: 100,
      max: 10_000_000,
    }),
    concurrency: integer({
      description: 'documents, or transactions, at a time; too few, and nobody shares anything',
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
      mustNotHold: 'run.json',
    }),
  },
  examples: [
    { command: 'npm run bench:batching', does: 'both workloads, a minute or two' },
    {
      command: 'npm run bench:batching -- --round-trip 0',
      does: 'on the embedded storage as it is',
    },
    { command: 'npm run bench:batching -- --store emulator --round-trip 0', does: 'over gRPC' },
  ],
} as const;

await runCommand(specification, async (options, { signal, commandLine }) => {
  const startedAt = new Date().toISOString();
  const { out, roundTrip: roundTripMs, ...given } = options;
  const variants = variantsOf(options);
  const bench = { ...given, roundTripMs, variants };
  const progress = startProgress();
  const openEmpty = emptyStores(options.store, out);
  const around = { openEmpty, progress, signal };
  const crawl = await benchCrawl(bench, around).finally(() => progress.end());
  const tenColumns = await benchTenColumns(bench, around).finally(() => progress.end());
  const parameters = { ...given, roundTrip: roundTripMs, out: path.basename(out) };
  const result = { variants, crawl, tenColumns };
  const record = { experiment: 'batching', startedAt, commandLine, parameters, result } as const;
  const file = await writeRecord(out, { ...record, limitations: LIMITATIONS });
  const { cpuModel, cores, nodeVersion } = captureEnvironment(out);
  const lines = [
    '',
    ...crawlLines(crawl, options.concurrency),
    '',
    ...tenColumnsLines(tenColumns, options.concurrency),
    '',
    `${options.store} storage, round trip ${roundTripMs} ms longer, ${options.repeats} repeats; ` +
      `${cpuModel}, ${cores} cores, Node ${nodeVersion}`,
    ...LIMITATIONS,
    '',
    `Record: ${file}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
});

function variantsOf(
  values: Pick<Parameters<typeof settingsOf>[0], 'batchDelay' | 'batchRows' | 'batchInFlight'>,
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
