/** All settings of a run of the benchmark, decided before it begins. */
import type { DatabaseValues } from '../harness/engine-settings.ts';
import type { BrokerUpdate, PresetName, Scale } from './model/index.ts';

/**
 * The systems that are compared: Percolator by its store, and PostgreSQL by where transactions run.
 */
export type SystemName = 'embedded' | 'emulator' | 'functions' | 'frames';

export const SYSTEMS: readonly SystemName[] = ['embedded', 'emulator', 'functions', 'frames'];

export interface Plan extends Durations {
  readonly preset: PresetName | 'custom';
  readonly scale: Scale;
  readonly seed: number;
  readonly systems: readonly SystemName[];
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /** Client processes; undefined for one that has its oracle in the store. */
  readonly processes: number | undefined;
  /** Memory of each client for rows of the embedded store, in millions of bytes. */
  readonly rowCache: number;
  /** Offered Trade-Results per second; undefined for shares of the maximum of each system. */
  readonly rates: readonly number[] | undefined;
  /** Users of unpaced runs. */
  readonly users: number;
  readonly parts: Readonly<Record<PartName, boolean>>;
  readonly out: string;
}

/**
 * The parts that can be measured: the ladder of loads, the maximum, reads saved, and modes of the
 * broker's update.
 */
export type PartName = 'paced' | 'unpaced' | 'reads' | 'brokers';

export interface Durations {
  /** Warm-up before the measurement of each point. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** How often the whole ladder is measured. */
  readonly rounds: number;
}

export const DURATIONS: Readonly<Record<PresetName, Durations>> = {
  smoke: { warmupSeconds: 3, seconds: 10, rounds: 3 },
  small: { warmupSeconds: 5, seconds: 20, rounds: 3 },
  paperlike: { warmupSeconds: 15, seconds: 60, rounds: 3 },
};

/**
 * The specification's price period of 15 minutes would leave most limit orders waiting at the end
 * of a short run.
 */
export const PRICE_PERIOD_SECONDS: Readonly<Record<PresetName, number>> = {
  smoke: 3,
  small: 5,
  paperlike: 900,
};

/** The ladder, relative to the maximum of a system: a range of more than ten. */
export const RUNGS: readonly number[] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65];

/**
 * Each load of the ladder is measured for this many Trade-Results, but at most twice as long as the
 * other loads.
 */
export const TRADES_OF_LOAD = 150;

/** The specification has one trade per customer and 500 seconds (6.6.8). */
export const SECONDS_PER_TRADE = 500;
