/**
 * What a run of chaos does, and its sizes. A round ends when it has reached its floors:
 *
 *                       pairs of overlapping writers   runs of observers   faults of the folder
 *     smoke      1 round              1,000                     100                 2
 *     quick      1 round             50,000                   5,000                 7
 *     standard   7 rounds            20,000                   2,000                 7
 *     full       7 rounds           100,000                  10,000                14
 *
 * A smoke run is in every test run, a quick one takes 2 to 5 minutes, and the others have a round
 * for each setting. Only the embedded store has a folder. On other stores, where every call takes
 * longer, a tenth of the rest is enough. Kills are not part of the floors: processes that are
 * killed all the time do nothing but start. The settings are in matrix.ts. Rounds bound the memory
 * for histories, because a history is judged as a whole.
 */
import path from 'node:path';
import type { Sizes } from '#harness';
import { type StoreDescription, UsageError } from '#results';
import { checkStoreName, describeStore } from '../../harness/stores/index.ts';
import { ENGINE_OPTIONS, type EngineValues } from '../../harness/engine-settings.ts';
import type { Workload } from '../invariants/index.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import { matrixOf, nameOf, type PartialSetting, type Setting, settingOf } from './matrix.ts';

/** What a round must have seen when it ends. */
export interface RoundMinimums {
  /** Pairs of overlapping writers; see pairs.ts. */
  readonly pairs: number;
  /** Committed runs of observers. */
  readonly runs: number;
  /** Faults of the folder of the store; see folder-faults.ts. */
  readonly folderFaults: number;
}

interface RoundSize extends RoundMinimums {
  /** A round ends after this many seconds, even short of its floors. */
  readonly secondsMax: number;
  /** Whether a round that ends short of its floors proves nothing. */
  readonly isStrict: boolean;
}

interface Size {
  /** From the command line; used instead of the values in `round`. */
  readonly pairs: number | undefined;
  readonly runs: number | undefined;
  readonly seconds: number | undefined;
  readonly round: RoundSize;
  /** Whether there is a round for each setting of the matrix. */
  readonly isMatrix: boolean;
}

const GIVEN = { pairs: undefined, runs: undefined, seconds: undefined };

export const SIZES: Sizes<Size> = {
  smoke: {
    ...GIVEN,
    round: { pairs: 1_000, runs: 100, folderFaults: 2, secondsMax: 60, isStrict: false },
    isMatrix: false,
  },
  quick: {
    ...GIVEN,
    round: { pairs: 50_000, runs: 5_000, folderFaults: 7, secondsMax: 1_200, isStrict: true },
    isMatrix: false,
  },
  standard: {
    ...GIVEN,
    round: { pairs: 20_000, runs: 2_000, folderFaults: 7, secondsMax: 900, isStrict: true },
    isMatrix: true,
  },
  full: {
    ...GIVEN,
    round: { pairs: 100_000, runs: 10_000, folderFaults: 14, secondsMax: 3_600, isStrict: true },
    isMatrix: true,
  },
};

/** Processes of a round, if the user does not say. */
export const PROCESSES = 3;

/** The part of the floors for stores other than the embedded one. */
const REMOTE_PART = 0.1;
/** Guesses: pairs per second on the embedded store, and the time to start and to judge. */
const PAIRS_PER_SECOND = 250;
const ROUND_SECONDS = 8;

/** One round. */
export interface Plan extends Setting {
  /** From 1. Rounds keep their numbers when others are skipped. */
  readonly number: number;
  readonly seed: number;
  readonly workloads: readonly Workload[];
  /** Processes that are killed; one more only watches, and is not killed. */
  readonly processes: number;
  /** Region servers of the HBase that the round starts, if `store` is `hbase`. */
  readonly regionServers: number;
  readonly floors: RoundMinimums;
  /** Whether a round that ends short of its floors proves nothing. */
  readonly isStrict: boolean;
  /** Seconds after which the round ends, whether it has reached its floors or not. */
  readonly seconds: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  /** Whether the round ends with a power cut. */
  readonly powerCut: boolean;
  /** The folder of the store, the history and the verdict. */
  readonly folder: string;
}

/**
 * Time to live of locks, in milliseconds; the engine's default would outlast most pauses. A process
 * that is stopped for longer is taken for dead, and then continues as if nothing had happened.
 */
export const LOCK_TIME_TO_LIVE_MS = 300;

/**
 * How long the lease of an oracle lasts, in milliseconds. Some pauses outlast it, and another
 * oracle takes over.
 */
export const ORACLE_LEASE_MS = 1_000;

/** How long collectors respect the lease of a process that does not renew it, in milliseconds. */
export const LEASE_TIME_TO_LIVE_MS = 1_000;

/**
 * How long a message may be in flight, as far as collectors know, in milliseconds. A message of a
 * process that is stopped in the middle of sending may arrive later; long pauses cause this on
 * purpose.
 */
export const MESSAGE_LIFETIME_MS = 1_000;

/**
 * How long a process asks again if the store is away, in milliseconds, before it ends, which is a
 * violation. The store itself gives up after 10 seconds; on a busy machine the next owner took 17.
 */
export const PATIENCE_MS = 60_000;

/**
 * The shortest and the longest long pause, in milliseconds: the lease and the lifetime of messages
 * together, plus time for a collector to delete what neither protects any more.
 */
export const LONG_PAUSE_MS: readonly [number, number] = [
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 1_000,
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 4_000,
];

export type ChaosOptions = EngineValues &
  Size & {
    readonly seed: number;
    readonly processes: number;
    readonly store: string | undefined;
    readonly regionServers: number;
    readonly services: boolean;
    readonly gc: boolean;
    readonly noFsync: boolean;
    readonly powerCuts: boolean;
  };

/** One round for each setting. @param folder for the folders of all rounds */
export function plansOf(
  options: ChaosOptions,
  workloads: readonly Workload[],
  folder: string,
): readonly Plan[] {
  const { seed, processes, regionServers, noFsync, powerCuts, seconds, round } = options;
  const common = {
    workloads,
    processes,
    regionServers,
    fsync: !noFsync,
    powerCut: powerCuts,
    isStrict: round.isStrict && seconds === undefined,
    seconds: seconds ?? round.secondsMax,
  };
  return settingsOf(options).map((setting, i) =>
    Object.assign({}, common, setting, {
      number: i + 1,
      seed: seed + i, // The seed of the record repeats the first round.
      folder: path.join(folder, `round-${i + 1}`),
      floors: floorsOf(options, setting),
    }),
  );
}

function settingsOf(options: ChaosOptions): readonly Setting[] {
  const store = storeOf(options);
  const engine = Object.keys(ENGINE_OPTIONS)
    .map((key) => key as keyof EngineValues)
    .filter((key) => options[key] !== ENGINE_OPTIONS[key].fallback())
    .map((key) => [key, options[key]]);
  const given: PartialSetting = {
    ...(store !== undefined && { store }),
    ...(options.services && { services: true }),
    ...(options.gc && { gc: true }),
    engine: Object.fromEntries(engine) as Partial<EngineValues>,
  };
  return options.isMatrix ? matrixOf(given) : [settingOf(given)];
}

/**
 * Power cuts need the embedded store: of other stores, we do not know what was synced. And they
 * need fsync: without it a commit may be lost, which is no mistake.
 */
function storeOf({ store, powerCuts, noFsync }: ChaosOptions): Setting['store'] | undefined {
  if (powerCuts && noFsync) {
    throw new UsageError(
      '--power-cuts cannot be combined with --no-fsync, which lets a power cut lose commits.',
    );
  }
  if (store === undefined) return powerCuts ? 'embedded' : undefined;
  const name = checkStoreName(store);
  if (powerCuts && name !== 'embedded') {
    throw new UsageError(`--power-cuts needs --store embedded, but --store is ${store}.`);
  }
  return name;
}

/** What may happen to the folder. A copy in its place is not in the record for power cuts. */
export function folderFaultsOf({
  store,
  powerCut,
}: Pick<Plan, 'store' | 'powerCut'>): readonly FolderFaultName[] {
  if (store !== 'embedded') return [];
  const names = Object.keys(FOLDER_FAULTS) as FolderFaultName[];
  return names.filter((name) => name !== 'replaced' || !powerCut);
}

/** If only one floor is given, the other one is 0. */
function floorsOf(
  { round, pairs, runs, seconds }: ChaosOptions,
  { store }: Setting,
): RoundMinimums {
  if (pairs !== undefined || runs !== undefined) {
    return { pairs: pairs ?? 0, runs: runs ?? 0, folderFaults: 0 };
  }
  if (seconds !== undefined) return { pairs: Infinity, runs: Infinity, folderFaults: 0 };
  if (store === 'embedded') return round;
  return { pairs: REMOTE_PART * round.pairs, runs: REMOTE_PART * round.runs, folderFaults: 0 };
}

/** The stores of all rounds, in the words of a run's record. */
export function describeStores(plans: readonly Plan[]): StoreDescription {
  const names = new Set(plans.map(({ store }) => nameOf(store)));
  const fsync = plans.every((plan) => plan.fsync);
  const stores = [...names].map((name) => describeStore(name, { fsync }));
  const [only] = stores;
  if (only !== undefined && stores.length === 1) return only;
  return {
    name: stores.map(({ name }) => name).join(', '),
    durability: stores.map(({ name, durability }) => `${name}: ${durability}`).join('; '),
  };
}

export function expectedSeconds({ floors, seconds, store }: Plan): number {
  const perSecond = PAIRS_PER_SECOND * (store === 'embedded' ? 1 : REMOTE_PART);
  return ROUND_SECONDS + Math.min(seconds, floors.pairs / perSecond);
}
