/**
 * The database of an experiment in several processes: how to reach it, as plain data that each
 * process receives, and how each opens it.
 *
 *     parent ──▶ oracle (oracle-process.ts), lock service (lock-service-process.ts): engine.ts
 *            └─▶ workers, loaders ...: `openDatabase(database)`, with a client of each service
 *
 * The processes share the store by its address; the embedded store is a folder that lets them
 * share. If they are on several hosts, the services listen there, with the certificates of the run
 * (hosts/run-identity.ts).
 */
import { isIP } from 'node:net';
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
import { tlsOfRun } from '../hosts/run-identity.ts';
import { live } from '../watch/live.ts';
import { databaseProbes } from '../watch/probes.ts';
import type { Crew } from './crew.ts';
import type { AnyHost } from './program.ts';

/** How each of several processes reaches a database. */
export interface SharedDatabase {
  readonly store: StoreAddress;
  /** Hosts and ports of its timestamp oracles. */
  readonly oracles: readonly string[];
  /** Host and port of its lock service. */
  readonly lockService: string;
  /** How long a process waits for an oracle, in milliseconds. Default: `ORACLE_MS_MAX`. */
  readonly oracleMsMax?: number | undefined;
  /** Whether the services have addresses off the loopback, without certificates. */
  readonly insecure?: boolean | undefined;
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
  /** Whether the address may be off the loopback, without certificates. */
  readonly insecure?: boolean | undefined;
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

/** Resolves to the address of an oracle without the rest of an engine. */
export async function startOracle(crew: Crew, store: StoreAddress): Promise<string> {
  const name = 'the oracle';
  const options = { store, address: addressOn(crew.placeOf(name)) } satisfies ServiceOptions;
  const oracle = await crew.start({ name, program: SERVICE_PROGRAMS.oracle, options });
  return ((await oracle.ready) as ServiceReady).address;
}

/** A free port of the host; of this machine alone if the service runs where this process does. */
export function addressOn(host: AnyHost | undefined): string | undefined {
  if (host === undefined) return undefined;
  return isIP(host.address) === 6 ? `[${host.address}]:0` : `${host.address}:0`;
}

export const SERVICE_PROGRAMS: { readonly oracle: URL; readonly lockService: URL } = {
  oracle: new URL('oracle-process.ts', import.meta.url),
  lockService: new URL('lock-service-process.ts', import.meta.url),
};

/**
 * Addresses for two oracles and a lock service, which the caller starts, so that clients find a
 * service again after a restart: each has a port of this machine that had no listener.
 */
export async function newServices(store: StoreAddress): Promise<SharedDatabase> {
  const [lockService = '', ...oracles] = (await freePorts(3)).map((port) => `${HOST}:${port}`);
  return { store, oracles, lockService };
}

/**
 * Opens the database. Its `close` also closes the store and the clients. `rangeLocks` are for its
 * workers.
 * @param observed wraps the store that the database uses, for a process that watches its calls
 */
export async function openDatabase(
  database: SharedDatabase,
  options: Omit<PercolatorOptions, 'store' | 'folder' | 'oracle' | 'liveness'> = {},
  observed: (store: Bigtable) => Bigtable = (store) => store,
): Promise<OpenDatabase> {
  const { oracles, lockService, oracleMsMax = ORACLE_MS_MAX, insecure } = database;
  const store = observed(await openStore(database.store));
  const tls = tlsOfRun();
  const oracle = connectOracle({ addresses: oracles, timeoutMs: oracleMsMax, insecure, tls });
  const local = localProcesses(String(entropySeed()));
  const liveness = connectLockService({ addresses: [lockService], local, insecure, tls });
  const closeServices = async (): Promise<void> => {
    await Promise.all([oracle.close(), liveness.close()]);
    await store.close();
  };
  const opening = openPercolator({ ...options, store, oracle, liveness });
  const percolator = await opening.catch(async (error: unknown) => {
    await closeServices();
    throw error;
  });
  const shown = live.show(databaseProbes(percolator));
  const close = async (): Promise<void> => {
    shown[Symbol.dispose]();
    await percolator.close();
    await closeServices();
  };
  return { percolator, rangeLocks: liveness, close };
}
