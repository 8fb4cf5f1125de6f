/**
 * What a run of chaos does, and its sizes. A round ends when it has reached its floors:
 *
 *                       pairs of overlapping writers   runs of observers   faults of the folder
 *     smoke      1 round              1,000                     100                 2
 *     quick      1 round             50,000                   5,000                 7
 *     standard   7 rounds            20,000                   2,000                 7
 *     full       7 rounds           100,000                  10,000                14
 *
 * With --cuts there is one round, whose floors are pairs, runs and cuts:
 *
 *                        200, 20, 7 (smoke)      5,000, 500, 40      50,000, 2,000, 200 (standard)
 *
 * A smoke run is in every test run, a quick one takes 2 to 5 minutes, and the others have a round
 * for each setting. Only the embedded store has a folder. On other stores, where every call takes
 * longer, a tenth of the rest is enough. Kills are not part of the floors: processes that are
 * killed all the time do nothing but start. Only a round with services goes on until the first of
 * them is killed. The settings are a table below. Rounds bound the
 * memory for histories, because a history is judged as a whole.
 */
import path from 'node:path';
import type { StoreName } from '#engine';
import type { Sizes } from '#harness';
import { type StoreDescription, UsageError } from '#results';
import { quoteForShell } from '../../harness/command-line/invocation.ts';
import { asConfig, ENGINE_OPTIONS, type EngineValues } from '../../harness/engine-settings.ts';
import { checkStoreName, describeStore } from '../../harness/stores.ts';
import type { Workload } from '../invariants/index.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import { hostsMin } from './places.ts';

/** What a round must have seen when it ends. */
export interface RoundMinimums {
  /** Pairs of overlapping writers; see goal.ts. */
  readonly pairs: number;
  /** Committed runs of observers. */
  readonly runs: number;
  /** Faults of the folder of the store; see folder-faults.ts. */
  readonly folderFaults: number;
  /** Cuts that have hit something; see cuts.ts. */
  readonly cuts: number;
}

interface RoundSize extends RoundMinimums {
  /** A round ends after this many seconds, even short of its floors. */
  readonly secondsMax: number;
  /** Whether a round that ends short of its floors proves nothing. */
  readonly isStrict: boolean;
  /** The floors, and the seconds, of a round with cuts. */
  readonly withCuts: Pick<RoundMinimums, 'pairs' | 'runs' | 'cuts'> & {
    readonly secondsMax: number;
  };
}

interface ChaosSize {
  /** From the command line; used instead of the values in `round`. */
  readonly pairs: number | undefined;
  readonly runs: number | undefined;
  readonly seconds: number | undefined;
  readonly round: RoundSize;
  /** Whether there is a round for each setting of the matrix. */
  readonly isMatrix: boolean;
}

const GIVEN = { pairs: undefined, runs: undefined, seconds: undefined };

export const SIZES: Sizes<ChaosSize> = {
  smoke: {
    ...GIVEN,
    round: {
      pairs: 1_000,
      runs: 100,
      folderFaults: 2,
      cuts: 0,
      secondsMax: 60,
      isStrict: false,
      withCuts: { pairs: 200, runs: 20, cuts: 7, secondsMax: 600 },
    },
    isMatrix: false,
  },
  quick: {
    ...GIVEN,
    round: {
      pairs: 50_000,
      runs: 5_000,
      folderFaults: 7,
      cuts: 0,
      secondsMax: 1_200,
      isStrict: true,
      withCuts: { pairs: 5_000, runs: 500, cuts: 40, secondsMax: 2_400 },
    },
    isMatrix: false,
  },
  standard: {
    ...GIVEN,
    round: {
      pairs: 20_000,
      runs: 2_000,
      folderFaults: 7,
      cuts: 0,
      secondsMax: 900,
      isStrict: true,
      withCuts: { pairs: 50_000, runs: 2_000, cuts: 200, secondsMax: 10_800 },
    },
    isMatrix: true,
  },
  full: {
    ...GIVEN,
    round: {
      pairs: 100_000,
      runs: 10_000,
      folderFaults: 14,
      cuts: 0,
      secondsMax: 3_600,
      isStrict: true,
      withCuts: { pairs: 200_000, runs: 10_000, cuts: 1_000, secondsMax: 43_200 },
    },
    isMatrix: true,
  },
};

/** Processes of a round, if the user does not say. */
export const PROCESSES = 3;

/** More loops: transactions wait for one another. Fewer: few overlap. */
const LOOPS = 3;
/** While a host is cut off, only some of the loops get on. */
const LOOPS_WITH_CUTS = 6;

/** The part of the floors for stores other than the embedded one. */
const REMOTE_PART = 0.1;
/** Guesses: pairs per second on the embedded store, and the time to start and to judge. */
const PAIRS_PER_SECOND = 250;
const ROUND_SECONDS = 8;
/** Guesses: from one cut to the next, where the store has no servers on hosts, and where it has. */
const CUT_SECONDS = 8;
const CUT_SECONDS_WITH_SERVERS = 30;

/** One round. */
export interface ChaosPlan extends Setting {
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
  /** Hosts of the round; 0: all processes are on this one. */
  readonly hosts: number;
  /** Whether hosts are cut off from one another. */
  readonly cuts: boolean;
  /** Loops of each workload in each process, whose transactions conflict with one another. */
  readonly loops: number;
  /** The folder of the store, the history and the verdict. */
  readonly folder: string;
}

/**
 * Time to live of locks, in milliseconds; the engine's default would outlast most pauses. A process
 * that is stopped for longer is presumed dead, and then continues as if nothing had happened.
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
/** The same in a round with cuts, between which a store recovers. */
export const PATIENCE_WITH_CUTS_MS = 240_000;
/** How long a process waits for an oracle in a round with cuts, in milliseconds. */
export const ORACLE_WITH_CUTS_MS = 3_000;

/**
 * The shortest and the longest long pause, in milliseconds: the lease and the lifetime of messages
 * together, plus time for a collector to delete what neither protects any more.
 */
export const LONG_PAUSE_MS: readonly [number, number] = [
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 1_000,
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 4_000,
];

export type ChaosOptions = EngineValues &
  ChaosSize & {
    readonly seed: number;
    readonly processes: number;
    readonly store: string | undefined;
    readonly regionServers: number;
    readonly services: boolean;
    readonly gc: boolean;
    readonly noFsync: boolean;
    readonly powerCuts: boolean;
    readonly hosts: number;
    readonly cuts: boolean;
  };

/** One round for each setting. @param folder for the folders of all rounds */
export function plansOf(
  options: ChaosOptions,
  workloads: readonly Workload[],
  folder: string,
): readonly ChaosPlan[] {
  const { seed, processes, regionServers, noFsync, powerCuts, seconds, round, hosts, cuts } =
    options;
  refuseHosts(options);
  const common = {
    workloads,
    processes,
    regionServers,
    // On hosts, no process that is killed owns the store, and the power does not fail.
    fsync: !noFsync && hosts === 0,
    powerCut: powerCuts,
    isStrict: round.isStrict && seconds === undefined,
    seconds: seconds ?? (cuts ? round.withCuts : round).secondsMax,
    hosts,
    cuts,
    loops: cuts ? LOOPS_WITH_CUTS : LOOPS,
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

/** Hosts need processes on them, and a store that they can share or reach. */
function refuseHosts({ hosts, cuts, powerCuts, store, regionServers }: ChaosOptions): void {
  if (cuts && hosts === 0) {
    throw new UsageError(
      '--cuts cuts hosts off from one another, so it needs --hosts, such as --hosts 7.',
    );
  }
  if (hosts === 0) return;
  if (powerCuts) {
    throw new UsageError(
      '--power-cuts cannot be combined with --hosts: the power fails on one host.',
    );
  }
  if (store !== undefined && store !== 'embedded' && store !== 'hbase') {
    throw new UsageError(
      `--hosts needs --store embedded or --store hbase, which can be on hosts, but --store is ${store}.`,
    );
  }
  if (store === 'hbase' && regionServers === 0) {
    throw new UsageError('--hosts needs region servers of their own, but --region-servers is 0.');
  }
  const min = hostsMin(store === 'hbase' ? regionServers : 0);
  if (hosts >= min) return;
  throw new UsageError(`--hosts must be at least ${min} here, but is ${hosts}.`);
}

function settingsOf(options: ChaosOptions): readonly Setting[] {
  const store = storeOf(options);
  const engine = Object.keys(ENGINE_OPTIONS)
    .map((key) => key as keyof EngineValues)
    .filter((key) => options[key] !== ENGINE_OPTIONS[key].fallback())
    .map((key) => [key, options[key]]);
  const given: PartialSetting = {
    ...(store !== undefined && { store }),
    ...((options.services || options.hosts > 0) && { services: true }),
    ...(options.gc && { gc: true }),
    engine: Object.fromEntries(engine) as Partial<EngineValues>,
  };
  return options.isMatrix && options.hosts === 0 ? matrixOf(given) : [settingOf(given)];
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
  hosts,
}: Pick<ChaosPlan, 'store' | 'powerCut' | 'hosts'>): readonly FolderFaultName[] {
  if (store !== 'embedded' || hosts > 0) return [];
  const names = Object.keys(FOLDER_FAULTS) as FolderFaultName[];
  return names.filter((name) => name !== 'replaced' || !powerCut);
}

/** If only one floor is given, the other one is 0. */
function floorsOf(
  { round, pairs, runs, seconds, cuts: hasCuts, hosts }: ChaosOptions,
  { store }: Setting,
): RoundMinimums {
  const cuts = hasCuts && seconds === undefined ? round.withCuts.cuts : 0;
  const none = { folderFaults: 0, cuts };
  if (pairs !== undefined || runs !== undefined) {
    return { pairs: pairs ?? 0, runs: runs ?? 0, ...none };
  }
  if (seconds !== undefined) return { pairs: Infinity, runs: Infinity, ...none };
  if (hasCuts) return { ...round.withCuts, ...none };
  if (store === 'embedded') return hosts > 0 ? { ...round, ...none } : round;
  return { pairs: REMOTE_PART * round.pairs, runs: REMOTE_PART * round.runs, ...none };
}

/** The stores of all rounds, in the words of a run's record. */
export function describeStores(plans: readonly ChaosPlan[]): StoreDescription {
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

export function expectedSeconds({ floors, seconds, store }: ChaosPlan): number {
  const perSecond = PAIRS_PER_SECOND * (store === 'embedded' ? 1 : REMOTE_PART);
  const perCut = store === 'embedded' ? CUT_SECONDS : CUT_SECONDS_WITH_SERVERS;
  return (
    ROUND_SECONDS + Math.min(seconds, Math.max(floors.pairs / perSecond, floors.cuts * perCut))
  );
}

/*
 * The settings that `--profile standard` goes through, one round each.
 *
 * The table is pairwise: any two values of two columns occur together in at least one round. Most
 * mistakes need one setting or two to show; all combinations would be 64 rounds.
 */

/** How the processes of a round open the database. */
interface Setting {
  readonly store: StoreName;
  /** Whether two oracles and the lock service are processes that are killed, too. */
  readonly services: boolean;
  readonly engine: EngineValues;
  /** Whether all processes collect garbage, too. */
  readonly gc: boolean;
}

/** Settings from the command line. */
type PartialSetting = Partial<Omit<Setting, 'engine'>> & {
  readonly engine: Partial<EngineValues>;
};

type SettingValue = 'embedded' | 'emulator' | 'on' | 'off';

// oxfmt-ignore
export const TABLE: readonly (readonly [store: SettingValue, ...SettingValue[]])[] = [
  // store     services  batching  prefetch  scanners  gc
  ['embedded', 'on',     'on',     'off',    'off',    'off'],
  ['embedded', 'off',    'on',     'off',    'on',     'on'],
  ['emulator', 'on',     'off',    'off',    'on',     'on'],
  ['embedded', 'off',    'off',    'on',     'on',     'on'],
  ['embedded', 'on',     'off',    'on',     'off',    'off'],
  ['emulator', 'off',    'on',     'off',    'off',    'on'],
  ['emulator', 'off',    'on',     'on',     'on',     'off'],
];

const SCANNERS = 3;

/**
 * The setting of each round. Settings from the command line that differ from their defaults hold in
 * all rounds.
 */
export function matrixOf(given: PartialSetting): readonly Setting[] {
  return TABLE.map(([store, services, batching, prefetch, scanners, gc]) => {
    const engine: Partial<EngineValues> = {
      batching: batching === 'on' ? 'on' : 'off',
      prefetch: prefetch === 'on' ? 'learn' : 'off',
      scanners: scanners === 'on' ? SCANNERS : 1,
    };
    const ofRow = {
      store: store === 'emulator' ? 'emulator' : 'embedded',
      services: services === 'on',
      gc: gc === 'on',
    };
    return settingOf(Object.assign(ofRow, given, { engine: Object.assign(engine, given.engine) }));
  });
}

/** The given setting, for a single round. */
export function settingOf({ engine, ...given }: PartialSetting): Setting {
  const plain = { store: 'embedded', services: false, gc: false } as const;
  return { ...plain, ...given, engine: { ...defaultEngine(), ...engine } };
}

/** The command-line options that repeat the setting, for a shell. */
export function optionsOf({ store, services, engine, gc }: Setting): string {
  const plain = asConfig(defaultEngine());
  const hasEffect = (option: string): boolean =>
    engine.batching === 'on' || !option.startsWith('batch-');
  const options = [
    `--store ${quoteForShell(nameOf(store))}`,
    services && '--services',
    ...Object.entries(asConfig(engine)).map(
      ([option, value]) => value !== plain[option] && hasEffect(option) && `--${option} ${value}`,
    ),
    gc && '--gc',
  ];
  return options.filter((option) => option !== false).join(' ');
}

function defaultEngine(): EngineValues {
  const entries = Object.entries(ENGINE_OPTIONS).map(([name, { fallback }]) => [name, fallback()]);
  return Object.fromEntries(entries);
}

/** The name of the store as `--store` takes it. */
function nameOf(store: StoreName): string {
  if (typeof store === 'string') return store;
  if (store.kind === 'cloud') {
    const { project, instance, appProfile } = store;
    return `bigtable://${project}/${instance}${appProfile ? `?appProfile=${appProfile}` : ''}`;
  }
  const { tls, servers, namespace, sessionTimeoutMs, proofMs, principal } = store;
  const parameters = Object.entries({ namespace, sessionTimeoutMs, proofMs, principal })
    .filter(([, value]) => value !== undefined)
    .map(([parameter, value]) => `${parameter}=${value}`);
  const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  return `hbase${tls === true ? 's' : ''}://${servers.join(',')}${query}`;
}
