/** All settings of a run of the benchmark, decided before it begins. */
import { availableParallelism, loadavg } from 'node:os';
import type { StoreAddress } from '#engine';
import { counted, type Sizes } from '#harness';
import type { DatabaseValues } from '../harness/engine-settings.ts';
import { countsOf, type Scale, SCALES } from './model/scale.ts';
import type { BrokerUpdate } from './model/trading-rules.ts';

/** The systems that are compared: Percolator by the kind of its store, and PostgreSQL. */
export type SystemName = StoreKind | 'postgres';
export type StoreKind = StoreAddress['kind'];

const STORE_KINDS: readonly StoreKind[] = ['embedded', 'emulator', 'hbase', 'cloud'];
export const SYSTEMS: readonly SystemName[] = [...STORE_KINDS, 'postgres'];

export interface BrokeragePlan extends Durations {
  readonly scale: Scale;
  readonly seed: number;
  readonly systems: readonly SystemName[];
  /** The stores of Percolator, all of different kinds: the name given for each kind. */
  readonly stores: ReadonlyMap<StoreKind, string>;
  /** Region servers of an HBase that is started here. */
  readonly regionServers: number;
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /**
   * Client processes of each system; undefined for a single one, with its oracle in the store. The
   * runs on copies of the embedded store (`reads`, `brokers`) always have that.
   */
  readonly processes: number | undefined;
  /** Offered Trade-Results per second; undefined for `rungs`. */
  readonly rates: readonly number[] | undefined;
  /** Users of unpaced runs. */
  readonly users: number;
  readonly parts: Readonly<Record<PartName, boolean>>;
}

/**
 * The parts that can be measured: the ladder of loads, the maximum, reads saved, and modes of the
 * broker's update.
 */
export type PartName = 'paced' | 'unpaced' | 'reads' | 'brokers';

export interface Durations {
  /** Seconds before the measurement of each point. */
  readonly warmUp: number;
  /** Measured seconds of each point; low loads of the ladder take longer (`secondsOfLoad`). */
  readonly seconds: number;
  /** How often the whole ladder is measured. */
  readonly repeats: number;
  /** The ladder, relative to the maximum of a system. */
  readonly rungs: readonly number[];
}

export interface BrokerageSize extends Durations {
  readonly scale: Scale;
  /** Defaults of the options of these names, whose values replace those of `scale` (main.ts). */
  readonly customers: number;
  readonly days: number;
  /** In seconds. */
  readonly pricePeriod: number;
  readonly users: number;
}

/** The highest load is more than ten times the lowest. */
const RUNGS: readonly number[] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65];

/**
 * The specification's price period of 15 minutes would leave most limit orders waiting at the end
 * of a short run; only the full profile has it, the scales of the others a shorter one.
 */
export const SIZES: Sizes<BrokerageSize> = {
  smoke: sizeOf(SCALES.smoke, {
    warmUp: 0.5,
    seconds: 1,
    repeats: 1,
    rungs: [0.05, 0.65],
    users: 4,
  }),
  quick: sizeOf(SCALES.quick, { warmUp: 2, seconds: 4, repeats: 1 }),
  standard: sizeOf(SCALES.standard, { warmUp: 3, seconds: 10, repeats: 3 }),
  full: sizeOf(SCALES.full, { warmUp: 15, seconds: 60, repeats: 3 }),
};

function sizeOf(
  scale: Scale,
  durations: Omit<Durations, 'rungs'> & Partial<Pick<BrokerageSize, 'rungs' | 'users'>>,
): BrokerageSize {
  const { customers, initialTradeDays: days, pricePeriodMs } = scale;
  const ofScale = { scale, customers, days, pricePeriod: pricePeriodMs / 1_000 };
  return { ...ofScale, rungs: RUNGS, users: 32, ...durations };
}

/**
 * In all rounds together, each load of the ladder is measured for at least this many Trade-Results,
 * so that chance does not decide the cost of a load; but at most four times as long as the other
 * loads.
 */
const TRADES_OF_LOAD = 1_000;
const LOAD_FACTOR_MAX = 4;

/** Seconds for which each round measures a load of `rate` Trade-Results per second. */
export function secondsOfLoad({ seconds, repeats }: Durations, rate: number): number {
  const enough = TRADES_OF_LOAD / repeats / rate;
  return Math.min(LOAD_FACTOR_MAX * seconds, Math.max(seconds, enough));
}

/** The specification has one trade per customer every 500 seconds (6.6.8). */
export const SECONDS_PER_TRADE = 500;

/**
 * Trades per second at which a system is loaded and checked, and at which a copy of the embedded
 * store is made and checked; guesses.
 */
const TRADES_PER_SECOND = 1_200;
const COPIED_PER_SECOND = 4_000;
/** Loaded trades that a garbage collection passes in a second; a guess. */
const COLLECTED_PER_SECOND = 500;
/** Time to start the clients of a system. */
const START_SECONDS = 4;
/** The low loads of the ladder take longer. */
const LADDER_FACTOR = 2;
/** Runs on copies of the embedded store, by part (experiment.ts). */
const VARIANTS = { reads: 4, brokers: 3 } as const;

/** Whether each system runs at full speed: for its maximum, or to find the loads of its ladder. */
export function needsMaximum({ parts, rates }: Pick<BrokeragePlan, 'parts' | 'rates'>): boolean {
  return parts.unpaced || rates === undefined;
}

/** The expected duration of a run. */
export function expectedSeconds(plan: BrokeragePlan): number {
  const { scale, systems, parts, repeats, rungs, rates, warmUp, seconds } = plan;
  const { tradeIds: trades } = countsOf(scale);
  const loading = trades / TRADES_PER_SECOND;
  const point = warmUp + seconds;
  const maximum = needsMaximum(plan) ? 2 * point : 0; // Once unmeasured, then measured.
  // Each turn on the ladder begins with an unmeasured run.
  const climb = repeats * ((rates ?? rungs).length * (warmUp + LADDER_FACTOR * seconds) + point);
  const collecting = needsMaximum(plan) ? trades / COLLECTED_PER_SECOND : 0;
  const ladder = parts.paced ? collecting + climb : 0;
  const compared = systems.length * (loading + START_SECONDS + maximum + ladder);
  const variants = (parts.reads ? VARIANTS.reads : 0) + (parts.brokers ? VARIANTS.brokers : 0);
  const perVariant = START_SECONDS + point + trades / COPIED_PER_SECOND;
  // Variants run on copies of the embedded store, which is loaded even if no system is compared.
  const isCompared = parts.paced || parts.unpaced;
  return (isCompared ? compared : loading) + variants * perVariant;
}

/** The price period of the specification. */
const PRICE_PERIOD_MS = 900_000;

/** What a reader must know before trusting the numbers. */
export function limitationsOf({
  scale,
  seconds,
  processes,
  brokerUpdate,
  systems,
  parts,
}: BrokeragePlan): readonly string[] {
  const { customers, initialTradeDays, dailyMarketDays, pricePeriodMs } = scale;
  const onCopies = [
    ...(parts.reads ? ['reads that batching saves'] : []),
    ...(parts.brokers ? ['modes of the broker update'] : []),
  ];
  const hasPostgres = systems.includes('postgres');
  const load = (loadavg()[0] ?? 0) / availableParallelism();
  return [
    ...(load >= 0.5
      ? [
          `The machine was busy with other work when the run began (load ${load.toFixed(1)} per core), so the rates are too low.`,
        ]
      : []),
    'This benchmark resembles TPC-E but is not TPC-E: its TR/s are not comparable with any published result.',
    `The specification requires at least 5,000 customers, 300 days of trades, 1,305 days of prices and an hour or more of measurement; this run has ${customers} customers, ${daysText(initialTradeDays)} of trades, ${daysText(dailyMarketDays)} of prices and ${seconds} seconds per point${parts.paced ? `, low loads up to ${LOAD_FACTOR_MAX} times as long` : ''}.`,
    `The specification drives ${customers} customers at ${customers / SECONDS_PER_TRADE} TR/s; at a higher load, accounts and brokers are hotter than it intends.`,
    ...(pricePeriodMs < PRICE_PERIOD_MS
      ? [
          `Prices go up and down in ${pricePeriodMs / 1_000} s (the specification: ${PRICE_PERIOD_MS / 1_000} s), so that limit orders are triggered within a short run; fewer of them are pending at any time.`,
        ]
      : []),
    'Clients, servers and all other processes that this run starts share the cores of one machine; the paper measured thousands of cores.',
    processes === undefined
      ? 'One client process with one JavaScript thread drives each system; on the embedded store it contains the whole engine, and the oracle is kept in the store.'
      : `${counted(processes, 'client processes')} with one JavaScript thread ${processes === 1 ? 'drives' : 'each drive'} each system; the oracle and the lock service of Percolator are processes too, and their processor time counts.`,
    ...(processes !== undefined && onCopies.length > 0
      ? [
          `The ${onCopies.join(' and ')} are measured with one client process, which has its oracle in the store.`,
        ]
      : []),
    'Processor time is that of processes; the work of kernel threads, such as writing to the disk, is charged to no system.',
    'A collector removes old versions and deleted rows from the Percolator stores during the measurement, as autovacuum does for PostgreSQL; the processor time of both counts.',
    ...(systems.includes('emulator')
      ? [
          'For each read, the official emulator lists and sorts all rows of the range, whatever the limit; Bigtable does not. Its reads cost more as more trades are loaded.',
        ]
      : []),
    ...(systems.includes('hbase')
      ? [
          'HBase compiles its code while it runs and compacts when it likes, so its first minutes are slower and dearer than the rest.',
        ]
      : []),
    ...(brokerUpdate !== 'side-table'
      ? ['All systems treat the broker’s totals in the same way.']
      : hasPostgres
        ? [
            'PostgreSQL has no observers to aggregate a side table: it updates brokers in the transaction.',
          ]
        : []),
  ];
}

/** "1 day", "5 days"; `count` may be a fraction. */
export function daysText(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
