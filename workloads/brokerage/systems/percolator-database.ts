/**
 * Our database: a store of its own, loaded in bulk; with oracle and lock service in a process each, if several clients
 * share it. An embedded one is loaded once and copied, so that each experiment begins with the same.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { fsck, openPercolator, openStore, type StoreAddress } from '#engine';
import { Crew, startServices } from '../../harness/processes/index.ts';
import { checkStoreName, provideStore } from '../../harness/stores/index.ts';
import type { DatabaseValues } from '../../harness/engine-settings.ts';
import type { BrokerUpdate, Population } from '../model/index.ts';
import { loadPopulation } from '../percolator/index.ts';
import type { PercolatorAddress } from './address.ts';
import { checkDatabase } from './check-database.ts';
import type { LoadedDatabase } from './database.ts';

export interface PercolatorDatabaseOptions {
  readonly store: 'embedded' | 'emulator';
  /** Of an embedded store, which must not exist. */
  readonly folder: string;
  /** A loaded one to copy; default: load. */
  readonly copyOf?: string | undefined;
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  readonly countsCalls: boolean;
  readonly processes: number | undefined;
  /** Of each client, with an embedded store. */
  readonly rowCacheBytes: number;
  readonly signal: AbortSignal;
}

/** The one file of a closed lmdb environment that matters; its lock file is made anew. */
const DATA_FILE = 'data.mdb';
/** Of an audit: enough to see what it is about. */
const ERRORS_MAX = 20;

/** @throws UsageError if there is no such store here */
export async function openPercolatorDatabase(
  population: Population,
  options: PercolatorDatabaseOptions,
): Promise<LoadedDatabase> {
  const { store: name, folder, copyOf, processes, rowCacheBytes, signal } = options;
  await using cleanup = new AsyncDisposableStack();
  const provided = await provideStore(checkStoreName(name), { folder, rowCacheBytes });
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
      : { place: await startServices(crew, provided.address) };
  const address: PercolatorAddress = { kind: 'percolator', at, ...pick(options) };
  const { serverPid } = provided;
  const servers = { services: crew.pids, server: serverPid === null ? [] : [serverPid] };
  const durability = await durabilityOf(provided.address);
  const all = cleanup.move();
  return {
    ways: [{ name, address, durability, servers }],
    check: async (tradeResults) => [
      ...(await checkDatabase(address, population, tradeResults)),
      ...(await auditErrors(provided.address)),
    ],
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Makes a store with the population, and nothing but it. */
export async function loadStore(
  address: StoreAddress,
  population: Population,
  signal: AbortSignal,
): Promise<void> {
  const store = await openStore(address);
  try {
    await using percolator = await openPercolator({ store });
    await loadPopulation(percolator, population, { signal });
  } finally {
    await store.close();
  }
}

/** On the disk before it is used, so that no measurement waits for it. */
async function copyStore(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const target = path.join(to, DATA_FILE);
  await copyFile(path.join(from, DATA_FILE), target, constants.COPYFILE_FICLONE);
  await using file = await open(target, 'r+');
  await file.sync();
}

function pick({
  brokerUpdate,
  engine,
  countsCalls,
}: PercolatorDatabaseOptions): Omit<PercolatorAddress, 'kind' | 'at'> {
  return { brokerUpdate, engine, countsCalls };
}

/** What must never be in a store of ours, however transactions have ended. */
async function auditErrors(address: StoreAddress): Promise<readonly string[]> {
  const store = await openStore(address);
  const errors: string[] = [];
  for await (const { severity, code, sentence } of await fsck(store)) {
    if (severity === 'error' && errors.length < ERRORS_MAX) errors.push(`${code}: ${sentence}`);
  }
  await store.close();
  return errors;
}

async function durabilityOf(address: StoreAddress): Promise<string> {
  const store = await openStore(address);
  const { durability } = store.manifest;
  await store.close();
  return durability;
}
