/**
 * `./run.sh bench:micro`: figure 8 of the paper on every store, its parts, and measurements that
 * the paper does not show.
 */
import {
  flag,
  integer,
  noFsyncOption,
  onlyWith,
  regionServersOption,
  repeatsOption,
  runExperiment,
  secondsOption,
  seedOption,
  storesOption,
  warmUpOption,
} from '#harness';
import { counted, UsageError } from '#results';
import { DATABASE_OPTIONS } from '../harness/engine-settings.ts';
import { STAMP_BYTES } from './data.ts';
import { measureStores } from './experiment.ts';
import { expectedSeconds, limitationsOf, SIZES } from './plan.ts';

await runExperiment(
  {
    script: 'bench:micro',
    subject: {
      kicker: 'Percolator paper, figure 8',
      title: 'A raw store against Percolator on the same store',
    },
    description:
      'Measures random reads and single-cell write transactions of Percolator against the raw store that it uses ' +
      '(figure 8 of the paper): same store, same client, no batching, in turns. Then it varies cells, callers and ' +
      'conflicts.',
    isOnOneHost:
      'measures a slice from the first begin to the last end of all its clients, by the clock of this machine that they share',
    sizes: SIZES,
    options: {
      store: storesOption(['embedded', 'emulator']),
      regionServers: onlyWith({ store: ['hbase'] }, regionServersOption()),
      rows: integer({
        description:
          'number of rows that are read, and of rows that are written; all should fit in memory',
        min: 100,
        max: 10_000_000,
      }),
      repeats: repeatsOption('each case; fewer than three give no confidence interval'),
      seconds: secondsOption('each case in each repeat', 0.01),
      warmUp: warmUpOption('each case'),
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
      seed: seedOption('the values, the keys and the order of cases'),
      processes: integer({
        description:
          'client processes of figure 8; oracle and lock service are then separate processes as well; with 0, one ' +
          'process contains all of them',
        default: 0,
        min: 0,
        max: 64,
      }),
      ...DATABASE_OPTIONS,
      noFsync: onlyWith({ store: ['embedded'] }, noFsyncOption),
      figureOnly: flag({ description: 'measure only figure 8 and its parts, without the sweeps' }),
      conditionalBatch: flag({
        description:
          'also measure transactions whose conditional mutations share an RPC, the change that the paper made to Bigtable, off and on',
      }),
      profileCpu: flag({
        description:
          'also report where the CPU time of the client goes, next to that of the server, and keep the profiles',
      }),
    },
    examples: [
      {
        command: './run.sh bench:micro --store emulator --figure-only --profile-cpu',
        does: 'the cost of an operation for client and server',
      },
      {
        command: './run.sh bench:micro --store hbase --figure-only --conditional-batch --warm-up 3',
        does: 'on an HBase that has had time to compile, also with conditional mutations that share an RPC',
      },
      {
        command: './run.sh bench:micro --processes 2 --figure-only',
        does: 'figure 8 with an oracle, a lock service and two clients, each in its own process',
      },
    ],
    plan: (options) => {
      const { store: stores, rows, repeats, concurrency, processes } = options;
      if (concurrency < processes) {
        throw new UsageError(
          `--concurrency must be at least --processes, which is ${processes}, because each client needs a caller, but is ${concurrency}.`,
        );
      }
      if (concurrency > rows) {
        throw new UsageError(
          `--concurrency must be at most --rows, which is ${rows}, because no two operations in flight use one row, but is ${concurrency}.`,
        );
      }
      const clients = processes === 0 ? 'one process' : counted(processes, 'client processes');
      return {
        about: `${stores.join(' and ')}, ${counted(rows, 'rows')}, ${counted(repeats, 'repeats')} of each case, ${counted(concurrency, 'operations')} in flight, ${clients}`,
        seconds: stores.length * expectedSeconds(options),
        store: {
          name: stores.join(', '),
          durability: 'The table of each store says what a commit survives.',
        },
        limitations: limitationsOf({ processes }),
      };
    },
  },
  (options, measuring) =>
    measureStores({ ...options, out: measuring.run.folder, work: measuring.work }, measuring),
);
