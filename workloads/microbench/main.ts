/**
 * `./run.sh bench:micro`: figure 8 of the paper on every store, its parts, and measurements that the
 * paper does not show.
 */
import { choice, flag, integer, number, outputFolder, runCommand, textList } from '#harness';
import { defaultRunFolder, UsageError } from '#results';
import { checkStoreName } from '../harness/stores/index.ts';
import { DATABASE_OPTIONS, type DatabaseValues, settingsOf } from '../harness/engine-settings.ts';
import { runExperiment } from './experiment.ts';
import type { Plan } from './plan.ts';
import { PROFILES, SCALES } from './profiles.ts';
import { STAMP_BYTES } from './stamped-value.ts';
import { resultLines } from '../harness/experiment/result-lines.ts';

const PROFILE_DEFAULT = 'depends on --profile';
const STORES = ['embedded', 'emulator'];

await runCommand(
  {
    script: 'bench:micro',
    description:
      'Measures random reads and single-cell write transactions of Percolator against the raw store that it uses ' +
      '(figure 8 of the paper): same store, same client, no batching, in turns. Then it varies cells, versions, ' +
      'conflicts, callers and batching.',
    options: {
      store: textList({
        description:
          'embedded, emulator, or bigtable://project/instance[?appProfile=name]; repeat the option for several stores',
        defaultText: STORES.join(' and '),
        placeholder: 'store',
      }),
      profile: choice({
        choices: PROFILES,
        description: 'size of the run: smoke takes seconds, quick 5 minutes, standard 20 minutes',
        default: 'quick',
      }),
      rows: integer({
        description:
          'number of rows that are read, and of rows that are written; all should fit in memory',
        defaultText: PROFILE_DEFAULT,
        min: 100,
        max: 10_000_000,
      }),
      rounds: integer({
        description:
          'how often each case is measured; fewer than three give no confidence interval',
        defaultText: PROFILE_DEFAULT,
        min: 1,
        max: 10_000,
      }),
      slice: number({
        description:
          'how long a case runs in each round; with shorter slices, the cases of a round meet the same disturbances',
        defaultText: PROFILE_DEFAULT,
        unit: 'seconds',
        min: 0.01,
        max: 60,
      }),
      concurrency: integer({
        description:
          'operations in flight; one at a time measures latency, many measure throughput',
        default: 64,
        min: 1,
        max: 10_000,
      }),
      valueBytes: integer({
        description: 'size of a value',
        default: 100,
        min: STAMP_BYTES,
        max: 1_048_576,
        unit: 'bytes',
      }),
      seed: integer({
        description: 'the same seed makes the same values, keys and order of cases',
        default: 1,
        min: 0,
        max: 2 ** 31 - 1,
      }),
      processes: integer({
        description:
          'client processes of figure 8; oracle and lock service are then separate processes as well; with 0, one ' +
          'process contains all of them',
        default: 0,
        min: 0,
        max: 64,
      }),
      ...DATABASE_OPTIONS,
      withoutFsync: flag({ description: 'the embedded store does not wait for the disk' }),
      figureOnly: flag({ description: 'figure 8 and its parts, without the sweeps' }),
      profileCpu: flag({
        description:
          'also report where the CPU time of client and server goes, and keep the profiles',
      }),
      out: outputFolder({
        description: 'new folder for the record, the charts and the report',
        default: () => defaultRunFolder('micro'),
        defaultText: 'results/runs/micro-<UTC time>',
        isNew: true,
      }),
    },
    ignoredInFiles: ['scanners'], // This benchmark has no observers.
    examples: [
      { command: './run.sh bench:micro', does: 'figure 8 and the sweeps, embedded and emulator' },
      {
        command: './run.sh bench:micro --store emulator --figure-only --profile-cpu',
        does: 'the cost of an operation for client and server',
      },
      {
        command: './run.sh bench:micro --processes 2 --figure-only',
        does: 'figure 8 with an oracle, a lock service and two clients, each in its own process',
      },
    ],
  },
  async (options, { signal, commandLine }) => {
    const plan = planOf(options);
    for (const store of plan.stores) checkStoreName(store);
    console.log(
      `micro, profile ${plan.profile}, seed ${plan.seed}: ${plan.stores.join(', ')}; ` +
        `${plan.rows} rows, values of ${plan.valueBytes} bytes, ${plan.concurrency} operations in flight, ` +
        (plan.processes === 0 ? 'all in one process' : `${plan.processes} client processes`),
    );
    const { run, page, missing } = await runExperiment(plan, { commandLine, signal });
    console.log(`\n${[...resultLines(run.record), ...missing].join('\n')}\n\nReport: ${page}`);
    if (run.record.findings?.check.passed !== true) process.exitCode = 1;
  },
);

interface Options extends DatabaseValues {
  readonly store: readonly string[];
  readonly profile: (typeof PROFILES)[number];
  readonly rows: number | undefined;
  readonly rounds: number | undefined;
  readonly slice: number | undefined;
  readonly concurrency: number;
  readonly processes: number;
  readonly valueBytes: number;
  readonly seed: number;
  readonly withoutFsync: boolean;
  readonly figureOnly: boolean;
  readonly profileCpu: boolean;
  readonly out: string;
}

/** Combines the given options with the profile. A run that differs from its profile is custom. */
function planOf(options: Options): Plan {
  const { profile, rows, rounds, slice, store, withoutFsync } = options;
  const { concurrency, processes, valueBytes, seed, figureOnly, profileCpu, out } = options;
  const { batching, batchDelay, batchRows, batchInFlight, prefetch } = options;
  const engineValues = { batching, batchDelay, batchRows, batchInFlight, prefetch };
  if (concurrency < processes) {
    throw new UsageError('--concurrency must be at least --processes: each client needs a caller.');
  }
  const scale = SCALES[profile];
  const isCustom = [rows, rounds, slice].some((value) => value !== undefined);
  return {
    ...scale,
    concurrency,
    processes,
    valueBytes,
    seed,
    figureOnly,
    profileCpu,
    out,
    engine: settingsOf(engineValues),
    engineValues,
    profile: isCustom ? 'custom' : profile,
    stores: store.length > 0 ? [...new Set(store)] : STORES,
    rows: rows ?? scale.rows,
    rounds: rounds ?? scale.rounds,
    sliceSeconds: slice ?? scale.sliceSeconds,
    fsync: !withoutFsync,
  };
}
