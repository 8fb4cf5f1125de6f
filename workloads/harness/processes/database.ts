/**
 * The database of an experiment in several processes: how to reach it, as plain data that each
 * process receives, and how each opens it.
 *
 *     parent ──▶ oracle (oracle-process.ts), lock service (lock-service-process.ts)
 *            └─▶ workers, loaders ...: `openDatabase(database)`, with a client of each service
 *
 * The processes share the store by its address; the embedded store is a folder that lets them
 * share.
 */
import {
  type Bigtable,
  connectLockService,
  connectOracle,
  entropySeed,
  localProcesses,
  openPercolator,
  openStore,
  type Percolator,
  type PercolatorOptions,
  type StoreAddress,
  type WorkerOptions,
} from '#engine';
import { freePorts, HOST } from '#engine/testing';
import type { Crew } from './crew.ts';
import type { Member } from './member.ts';

/** How each of several processes reaches a database. */
export interface SharedDatabase {
  readonly store: StoreAddress;
  /** Hosts and ports of its timestamp oracles. */
  readonly oracles: readonly string[];
  /** Host and port of its lock service. */
  readonly lockService: string;
}

export interface OpenDatabase {
  readonly percolator: Percolator;
  /** The range locks of the lock service. */
  readonly rangeLocks: NonNullable<WorkerOptions['rangeLocks']>;
  readonly close: () => Promise<void>;
}

/** The options of a service's process; the lock service has no store. */
export interface ServiceOptions {
  readonly store: StoreAddress;
  /** Host and port; default: a free port. */
  readonly address?: string | undefined;
  /** For the oracle: how long clients receive no timestamp after a kill. Default: the engine's. */
  readonly leaseTimeToLiveMs?: number | undefined;
  /** For the oracle: how long it waits for a store that is away, in milliseconds. Default: 0. */
  readonly patienceMs?: number | undefined;
}

/** The message of a service that is ready. */
export interface ServiceReady {
  readonly address: string;
}

/**
 * How long a process waits for an oracle, in milliseconds: an experiment should wait rather than
 * fail.
 */
const ORACLE_MS_MAX = 60_000;
const ORACLE = new URL('oracle-process.ts', import.meta.url);
const LOCK_SERVICE = new URL('lock-service-process.ts', import.meta.url);

/** Starts the services of the database in `store`, each as a process of its own. */
export async function startServices(crew: Crew, store: StoreAddress): Promise<SharedDatabase> {
  const options = { store } satisfies ServiceOptions;
  const oracle = await crew.start({ name: 'the oracle', program: ORACLE, options });
  const locks = await crew.start({ name: 'the lock service', program: LOCK_SERVICE, options: {} });
  return { store, oracles: [await addressOf(oracle)], lockService: await addressOf(locks) };
}

/** The programs of the services, for an experiment that restarts a killed service. */
export const SERVICE_PROGRAMS: { readonly oracle: URL; readonly lockService: URL } = {
  oracle: ORACLE,
  lockService: LOCK_SERVICE,
};

/**
 * Addresses for two oracles and a lock service, which the caller starts, so that clients find a
 * service again after a restart: each has a port of this machine that had no listener.
 */
export async function newServices(store: StoreAddress): Promise<SharedDatabase> {
  const [lockService = '', ...oracles] = (await freePorts(3)).map((port) => `${HOST}:${port}`);
  return { store, oracles, lockService };
}

async function addressOf(service: Member): Promise<string> {
  return ((await service.ready) as ServiceReady).address;
}

/**
 * Opens the database. Its `close` also closes the store and the clients. `rangeLocks` are for its
 * workers.
 * @param observed wraps the store that the database uses, for a process that watches its calls
 */
export async function openDatabase(
  { store: address, oracles, lockService }: SharedDatabase,
  options: Omit<PercolatorOptions, 'store' | 'folder' | 'oracle' | 'liveness'> = {},
  observed: (store: Bigtable) => Bigtable = (store) => store,
): Promise<OpenDatabase> {
  const store = observed(await openStore(address));
  const oracle = connectOracle({ addresses: oracles, timeoutMs: ORACLE_MS_MAX });
  const local = localProcesses(String(entropySeed()));
  const liveness = connectLockService({ address: lockService, local });
  const closeServices = async (): Promise<void> => {
    await Promise.all([oracle.close(), liveness.close()]);
    await store.close();
  };
  const opening = openPercolator({ ...options, store, oracle, liveness });
  const percolator = await opening.catch(async (error: unknown) => {
    await closeServices();
    throw error;
  });
  const close = async (): Promise<void> => {
    await percolator.close();
    await closeServices();
  };
  return { percolator, rangeLocks: liveness, close };
}
