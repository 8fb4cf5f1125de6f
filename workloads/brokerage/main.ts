/**
 * `./run.sh bench:brokerage`: figure 9 of the paper on this machine, and PostgreSQL on the same
 * work.
 */
import {
  choice,
  flag,
  integer,
  number,
  numberList,
  onlyWith,
  regionServersOption,
  repeatsOption,
  runExperiment,
  secondsOption,
  seedOption,
  storesOption,
  warmUpOption,
} from '#harness';
import { UsageError } from '#results';
import { DATABASE_OPTIONS } from '../harness/engine-settings.ts';
import { parametersOf, type Sized } from '../harness/experiment/plan.ts';
import { measureFigure9 } from './experiment.ts';
import {
  type BrokeragePlan,
  type BrokerageSize,
  daysText,
  expectedSeconds,
  limitationsOf,
  SIZES,
  type StoreKind,
  type SystemName,
  SYSTEMS,
} from './plan.ts';
import type { Scale } from './model/scale.ts';
import { checkStoreName } from '../harness/stores.ts';
import { TRADING_DAY_MS } from './population/calendar.ts';

/** Conditions of the options that only Percolator has, or only its embedded store. */
const WITH_PERCOLATOR = { system: ['both', 'percolator'] };
const EMBEDDED = { ...WITH_PERCOLATOR, store: ['embedded'] };
const WITH_BATCHING = { ...WITH_PERCOLATOR, batching: ['on'] };
/** At most this share of the loaded days lies after the latest moment at which a lookup begins. */
const BACK_OFF_SHARE_MAX = 0.8;

const OPTIONS = {
  system: choice({
    choices: ['both', 'percolator', 'postgres'],
    description:
      'systems to measure; PostgreSQL runs the transactions as functions in the server, on DATABASE_URL or on a private server',
    default: 'both',
  }),
  store: onlyWith(WITH_PERCOLATOR, storesOption(['embedded', 'emulator'])),
  regionServers: onlyWith({ ...WITH_PERCOLATOR, store: ['hbase'] }, regionServersOption()),
  broker: choice({
    choices: ['omit', 'inline', 'side-table'],
    description:
      'the update of the broker in Trade-Result: omitted as in the paper, in the transaction, or aggregated by an observer',
    default: 'omit',
  }),
  customers: integer({
    description:
      'customers of the brokerage, a multiple of 100; the specification requires at least 5,000',
    min: 100,
    max: 1_000_000,
  }),
  days: number({
    description: 'days of trades that are loaded; the specification has 300',
    min: 0.25,
    max: 300,
  }),
  pricePeriod: number({
    description:
      'time in which prices go up and down once; if it is much longer than a point, most limit orders never trade',
    min: 2,
    max: 3_600,
    unit: 'seconds',
  }),
  paced: flag({
    description:
      'measure the ladder, an open loop, in which a clock starts transactions; parts that are not named are left out',
  }),
  unpaced: flag({
    description:
      'measure the maximum, a closed loop, in which each user begins again at once; parts that are not named are left out',
  }),
  reads: onlyWith(
    EMBEDDED,
    flag({
      description:
        'measure the reads that batching and prefetching save; parts that are not named are left out',
    }),
  ),
  brokers: onlyWith(
    EMBEDDED,
    flag({
      description:
        'measure the update of the broker in its three modes; parts that are not named are left out',
    }),
  ),
  rates: numberList({
    description:
      'the ladder in Trade-Results per second; the range should be tenfold; the run gives up a load far above ' +
      'what a system can do, which takes up to a minute longer than planned',
    defaultText: 'from 5 to 65 % of the maximum of each system',
    unit: 'TR/s',
    min: 1e-3,
    max: 1e6,
  }),
  users: integer({
    description: 'users of unpaced runs; too few leave the system idle, too many only wait',
    min: 1,
    max: 1_000,
  }),
  seconds: secondsOption('each point'),
  warmUp: warmUpOption('each point'),
  repeats: repeatsOption('the whole ladder'),
  processes: integer({
    description:
      'client processes of each system for --paced and --unpaced; Percolator then also has an oracle and a lock service',
    defaultText: 'one client, with the oracle in the store',
    min: 1,
    max: 64,
  }),
  batching: onlyWith(WITH_PERCOLATOR, {
    ...DATABASE_OPTIONS.batching,
    defaultText: 'on',
    fallback: () => 'on' as const,
  }),
  batchDelay: onlyWith(WITH_BATCHING, DATABASE_OPTIONS.batchDelay),
  batchRows: onlyWith(WITH_BATCHING, DATABASE_OPTIONS.batchRows),
  batchInFlight: onlyWith(WITH_BATCHING, DATABASE_OPTIONS.batchInFlight),
  prefetch: onlyWith(WITH_PERCOLATOR, DATABASE_OPTIONS.prefetch),
  seed: seedOption('the brokerage, the transactions and the order of points'),
};

type Figure9Options = Sized<typeof OPTIONS, BrokerageSize>;

await runExperiment(
  {
    script: 'bench:brokerage',
    subject: {
      kicker: 'Percolator paper, figure 9',
      title: 'A brokerage like TPC-E’s, on Percolator and on PostgreSQL',
    },
    description:
      'Measures what a brokerage like that of TPC-E costs, from low load to saturation (figure 9 of the ' +
      'paper), on Percolator and on PostgreSQL; then the reads that batching and prefetching save, and the conflicts of ' +
      'the broker update that the paper left out. Ends with tables and a report.',
    isOnOneHost:
      'begins and ends its runs at moments that all clients read from the clock of this machine, next to a PostgreSQL that only this machine reaches',
    sizes: SIZES,
    options: OPTIONS,
    examples: [
      {
        command: './run.sh bench:brokerage --system percolator --store embedded --paced',
        does: 'the ladder of one system',
      },
      {
        command: './run.sh bench:brokerage --unpaced --broker inline --users 64',
        does: 'the maximum, with the conflicts that the paper avoided',
      },
    ],
    plan: (options) => {
      const plan = planOf(options);
      const { customers, initialTradeDays, pricePeriodMs: _, ...ofScale } = plan.scale;
      return {
        about: `${customers} customers, ${daysText(initialTradeDays)} of trades, on ${plan.systems.join(', ')}`,
        seconds: expectedSeconds(plan),
        parameters: parametersOf({ ...options, ...ofScale, ...plan.parts, repeats: plan.repeats }),
        repeats: plan.repeats,
        store: {
          name: plan.systems.join(', '),
          durability:
            'The table "Maximum throughput", if there is one, says for each system what a commit survives.',
        },
        limitations: limitationsOf(plan),
      };
    },
  },
  async (options, measuring) => measureFigure9(planOf(options), measuring),
);

function planOf(options: Figure9Options): BrokeragePlan {
  const { batchDelay, batchRows, batchInFlight } = options;
  const engine = { batching: options.batching, prefetch: options.prefetch };
  const parts = partsOf(options);
  const stores = storesOf(options);
  if (options.rates !== undefined && !parts.paced) {
    throw new UsageError(
      '--rates sets the loads of the ladder, so --paced must be among the named parts.',
    );
  }
  if (options.processes !== undefined && !parts.paced && !parts.unpaced) {
    throw new UsageError(
      `--processes sets the clients of --paced and --unpaced, so one of them must be among the named parts, but is "${options.processes}".`,
    );
  }
  if (options.system === 'postgres' && options.broker === 'side-table') {
    throw new UsageError(
      '--broker must be omit or inline with --system postgres, which has no observers, but is "side-table".',
    );
  }
  return {
    ...options,
    scale: scaleOf(options),
    stores,
    systems: systemsOf(options, stores, parts),
    // Only the ladder is repeated.
    repeats: parts.paced ? options.repeats : 1,
    brokerUpdate: options.broker,
    engine: { ...engine, batchDelay, batchRows, batchInFlight },
    parts,
  };
}

function scaleOf({ scale, customers, days, pricePeriod }: Figure9Options): Scale {
  const pricePeriodMs = Math.round(1_000 * pricePeriod);
  if (pricePeriodMs % 2 !== 0) {
    throw new UsageError(
      `--price-period must be an even number of milliseconds, such as 2.002 seconds, but is "${pricePeriod}".`,
    );
  }
  if (customers % 100 !== 0) {
    throw new UsageError(`--customers must be a multiple of 100, but is "${customers}".`);
  }
  return {
    ...scale,
    customers,
    initialTradeDays: days,
    pricePeriodMs,
    backOffMs: Math.min(scale.backOffMs, BACK_OFF_SHARE_MAX * days * TRADING_DAY_MS),
  };
}

/** The stores by their kind, in the order in which they were named. */
function storesOf({ system, store }: Figure9Options): ReadonlyMap<StoreKind, string> {
  if (system === 'postgres') return new Map();
  const named = store.map((name) => [kindOf(name), name] as const);
  const kinds = named.map(([kind]) => kind);
  const twice = kinds.find((kind, i) => kinds.indexOf(kind) !== i);
  if (twice !== undefined) {
    const names = named.flatMap(([kind, name]) => (kind === twice ? [name] : []));
    throw new UsageError(
      `--store must name stores of different kinds, but is "${names.join('" and "')}".`,
    );
  }
  return new Map(named);
}

function kindOf(name: string): StoreKind {
  const store = checkStoreName(name);
  return typeof store === 'string' ? store : store.kind;
}

/** Reads and broker modes are measured on the embedded store alone. */
function systemsOf(
  { system }: Figure9Options,
  stores: BrokeragePlan['stores'],
  { paced, unpaced }: BrokeragePlan['parts'],
): readonly SystemName[] {
  if (!paced && !unpaced) return ['embedded'];
  return SYSTEMS.filter((name) =>
    name === 'postgres' ? system !== 'percolator' : stores.has(name),
  );
}

/** Returns the parts that were named; otherwise all that apply to these systems. */
function partsOf({
  paced,
  unpaced,
  reads,
  brokers,
  system,
  store,
}: Figure9Options): BrokeragePlan['parts'] {
  if (paced || unpaced || reads || brokers) return { paced, unpaced, reads, brokers };
  const hasEmbedded = system !== 'postgres' && store.includes('embedded');
  return { paced: true, unpaced: true, reads: hasEmbedded, brokers: hasEmbedded };
}
