/** Everything that decides a run of the benchmark, settled before it begins. */
import type { DatabaseValues } from '../harness/engine-settings.ts';
import type { BrokerUpdate, PresetName, Scale } from './model/index.ts';

/** What is compared: our system by its store, and PostgreSQL by where transactions run. */
export type WayName = 'embedded' | 'emulator' | 'functions' | 'frames';

export const WAYS: readonly WayName[] = ['embedded', 'emulator', 'functions', 'frames'];

export interface Plan extends Durations {
  readonly preset: PresetName | 'custom';
  readonly scale: Scale;
  readonly seed: number;
  readonly ways: readonly WayName[];
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /** Client processes; undefined for one that has its oracle in the store. */
  readonly processes: number | undefined;
  /** Memory of each client for rows of the embedded store, in millions of bytes. */
  readonly rowCache: number;
  /** Offered Trade-Results a second; undefined for shares of what each system can do. */
  readonly rates: readonly number[] | undefined;
  /** Users of unpaced runs. */
  readonly users: number;
  readonly parts: Readonly<Record<PartName, boolean>>;
  readonly out: string;
}

/** What is measured: the ladder of loads, the most that goes, reads saved, and modes of the broker's update. */
export type PartName = 'paced' | 'unpaced' | 'reads' | 'brokers';

export interface Durations {
  /** Of each point, before it is measured. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** The whole ladder so many times. */
  readonly rounds: number;
}

export const DURATIONS: Readonly<Record<PresetName, Durations>> = {
  smoke: { warmupSeconds: 3, seconds: 10, rounds: 3 },
  small: { warmupSeconds: 5, seconds: 20, rounds: 3 },
  paperlike: { warmupSeconds: 15, seconds: 60, rounds: 3 },
};

/** The specification's price period of 15 minutes would leave most limit orders waiting when a short run ends. */
export const PRICE_PERIOD_SECONDS: Readonly<Record<PresetName, number>> = {
  smoke: 3,
  small: 5,
  paperlike: 900,
};

/** The ladder, relative to the most that a system can do: a range of more than ten. */
export const RUNGS: readonly number[] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65];

/** A load of the ladder is measured for so many Trade-Results, or twice as long as others. */
export const TRADES_OF_LOAD = 150;

/** One trade per customer and 500 seconds (6.6.8). */
export const SECONDS_PER_TRADE = 500;
