/**
 * A Percolator database: a store of its own, loaded in bulk. If the number of client processes is
 * given, the oracle and the lock service are processes, too. An embedded store is loaded once and
 * copied, so that each experiment begins with the same data.
 */
import { rm } from 'node:fs/promises';
import { durabilityOf, fsck, openPercolator, openStore, type StoreAddress } from '#engine';
import type { DatabaseValues } from '../../harness/engine-settings.ts';
import { Crew, startEngine } from '../../harness/processes/index.ts';
import { copyStore, type ProvidedStore, provideEmptyStore } from '../../harness/stores.ts';
import type { Population } from '../model/population.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { loadPopulation } from '../percolator/load.ts';
import type { StoreKind } from '../plan.ts';
import {
  checkDatabase,
  COLLECTING,
  type LoadedDatabase,
  type PercolatorAddress,
  UNKNOWN_SERVERS,
} from './database.ts';

export interface PercolatorDatabaseOptions {
  readonly kind: StoreKind;
  /** As the user named it. */
  readonly store: string;
  /** Region servers of an HBase that is started here. */
  readonly regionServers?: number | undefined;
  /** Folder of an embedded store, which must not exist. */
  readonly folder: string;
  /** A loaded store to copy; default: load. */
  readonly copyOf?: string | undefined;
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  readonly countsCalls: boolean;
  /** Client processes; undefined for one that has its oracle in the store. */
  readonly processes: number | undefined;
  readonly signal: AbortSignal;
}

/** Errors reported per audit: enough to see the problem. */
const ERRORS_MAX = 20;

/** @throws UsageError if the store is not available */
export async function openPercolatorDatabase(
  population: Population,
  options: PercolatorDatabaseOptions,
): Promise<LoadedDatabase> {
  const { kind, store, regionServers, folder, copyOf, processes, signal } = options;
  await using cleanup = new AsyncDisposableStack();
  const provided = await provideEmptyStore(store, { folder }, { regionServers });
  cleanup.use(provided);
  if (provided.address.kind === 'embedded') {
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  }
  if (copyOf === undefined) await loadStore(provided.address, population, signal);
  else await copyStore(copyOf, folder);

  const crew = cleanup.use(new Crew(signal));
  const at =
    processes === undefined
      ? { store: provided.address }
      : { shared: (await startEngine(crew, { store: provided.address })).database };
  const address: PercolatorAddress = { kind: 'percolator', at, ...pick(options) };
  const servers = { services: crew.pids, server: serversOf(provided) };
  const durability = durabilityOf(provided.address);
  const all = cleanup.move();
  return {
    name: kind,
    address,
    durability,
    servers,
    check: async (tradeResults) => [
      ...(await checkDatabase(address, population, tradeResults)),
      ...(await auditErrors(provided.address)),
    ],
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The processes that serve the store. */
export function serversOf({
  address,
  serverPids,
}: Pick<ProvidedStore, 'address' | 'serverPids'>): readonly number[] {
  const isElsewhere = address.kind !== 'embedded' && serverPids.length === 0;
  return isElsewhere ? UNKNOWN_SERVERS : serverPids;
}

/**
 * Makes a store that contains only the population. As PostgreSQL vacuums its tables when they are
 * loaded, a collector looks once at every row of an embedded store; from then on most cycles look
 * only at what has changed.
 */
export async function loadStore(
  address: StoreAddress,
  population: Population,
  signal: AbortSignal,
): Promise<void> {
  const store = await openStore(address);
  try {
    await using percolator = await openPercolator({ store });
    await loadPopulation(percolator, population, { signal });
    if (address.kind === 'embedded') await percolator.collectGarbage(COLLECTING.atOnce);
  } finally {
    await store.close();
  }
}

function pick({
  brokerUpdate,
  engine,
  countsCalls,
}: PercolatorDatabaseOptions): Omit<PercolatorAddress, 'kind' | 'at'> {
  return { brokerUpdate, engine, countsCalls };
}

/** Returns states that must not occur in one of our stores, however transactions have ended. */
export async function auditErrors(address: StoreAddress): Promise<readonly string[]> {
  await using store = await openStore(address);
  const errors: string[] = [];
  for await (const { severity, code, sentence } of await fsck(store)) {
    if (severity === 'error' && errors.length < ERRORS_MAX) errors.push(`${code}: ${sentence}`);
  }
  return errors;
}
