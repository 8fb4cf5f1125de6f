/** All settings of a run of the benchmark, decided before it begins. */
import type { StoreAddress } from '#engine';
import type { DatabaseValues } from '../harness/engine-settings.ts';
import type { Sizes } from '#harness';
import { type BrokerUpdate, countsOf, type Scale, SCALES } from './model/index.ts';

/**
 * The systems that are compared: Percolator by the kind of its store, and PostgreSQL by where
 * transactions run.
 */
export type SystemName = StoreKind | 'functions' | 'frames';
export type StoreKind = StoreAddress['kind'];

const STORE_KINDS: readonly StoreKind[] = ['embedded', 'emulator', 'hbase', 'cloud'];
export const SYSTEMS: readonly SystemName[] = [...STORE_KINDS, 'functions', 'frames'];

export interface Plan extends Durations {
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

export interface Size extends Durations {
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
export const SIZES: Sizes<Size> = {
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
  durations: Omit<Durations, 'rungs'> & Partial<Pick<Size, 'rungs' | 'users'>>,
): Size {
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
export const LOAD_FACTOR_MAX = 4;

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
/** Runs on copies of the embedded store, by part (reads.ts, broker-modes.ts). */
const VARIANTS = { reads: 4, brokers: 3 } as const;

/** Whether each system runs at full speed: for its maximum, or to find the loads of its ladder. */
export function needsMaximum({ parts, rates }: Pick<Plan, 'parts' | 'rates'>): boolean {
  return parts.unpaced || rates === undefined;
}

/** The expected duration of a run. */
export function expectedSeconds(plan: Plan): number {
  const { scale, systems, parts, repeats, rungs, rates, warmUp, seconds } = plan;
  const { tradeIds: trades } = countsOf(scale);
  const loading = trades / TRADES_PER_SECOND;
  const point = warmUp + seconds;
  const maximum = needsMaximum(plan) ? 2 * point : 0; // Once unmeasured, then measured.
  // Each turn on the ladder begins with an unmeasured run.
  const climb = repeats * ((rates ?? rungs).length * (warmUp + LADDER_FACTOR * seconds) + point);
  const collecting = needsMaximum(plan) ? trades / COLLECTED_PER_SECOND : 0;
  const ladder = parts.paced ? collecting + climb : 0;
  const perSystem = START_SECONDS + maximum + ladder;
  // Both variants of PostgreSQL run on one database.
  const databases = new Set(systems.map((name) => (name === 'frames' ? 'functions' : name))).size;
  const compared = databases * loading + systems.length * perSystem;
  const variants = (parts.reads ? VARIANTS.reads : 0) + (parts.brokers ? VARIANTS.brokers : 0);
  const perVariant = START_SECONDS + point + trades / COPIED_PER_SECOND;
  // Variants run on copies of the embedded store, which is loaded even if no system is compared.
  const isCompared = parts.paced || parts.unpaced;
  return (isCompared ? compared : loading) + variants * perVariant;
}
