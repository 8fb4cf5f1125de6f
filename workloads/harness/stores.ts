/**
 * The store of a script: the one that `--store` names, made ready for the script and its processes.
 *
 *     embedded      a folder that the script gives
 *     emulator      the one of BIGTABLE_EMULATOR_HOST, or one started here and stopped at the end
 *     bigtable://   Cloud Bigtable
 *     hbase         an HBase that is started here, one process per server, and stopped at the end
 *     hbase://      an HBase that already runs
 *
 * A store whose servers already run is opened once, so that a wrong address or missing credentials
 * are reported before a run begins.
 *
 * A script passes the address to its processes, and each opens the store with `openStore`.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  type Bigtable,
  decorate,
  durabilityOf,
  type LocalHBase,
  type LocalHBaseOptions,
  openStore,
  type OpenStoreOptions,
  parseStoreName,
  PercolatorError,
  startEmulator,
  startHBase,
  type StoreAddress,
  type StoreName,
  whyNoEmulator,
  whyNoHBase,
} from '#engine';
import { type StoreDescription, UsageError } from '#results';

export interface ProvidedStore extends AsyncDisposable {
  readonly address: StoreAddress;
  /** The processes that serve it on this machine, if this script started them. */
  readonly serverPids: readonly number[];
  /** The HBase, if this script started it. */
  readonly hbase?: LocalHBase | undefined;
}

interface ProvideOptions extends OpenStoreOptions {
  /** Region servers of an HBase that is started here. Default: 3. */
  readonly regionServers?: number | undefined;
  /** Where each process of that HBase runs, by its name. Default: all on this host. */
  readonly placeOf?: LocalHBaseOptions['placeOf'];
}

/**
 * The store in the words of a run's record.
 * @throws UsageError for a name that is not a store's
 */
export function describeStore(
  name: string,
  { fsync = true }: { readonly fsync?: boolean } = {},
): StoreDescription {
  const store = checkStoreName(name);
  const kind = typeof store === 'string' ? store : store.kind;
  return { name, durability: durabilityOf({ kind, fsync }) };
}

/** @throws UsageError for a name that is not a store's */
export function checkStoreName(name: string): StoreName {
  try {
    return parseStoreName(name);
  } catch (error) {
    throw asUsageError(error);
  }
}

/**
 * @param options how the store will be opened
 * @throws UsageError if no emulator or HBase is found, or if the store does not answer or cannot be
 *   used; the message says what to do
 */
export async function provideStore(
  name: StoreName,
  embedded: Omit<Extract<StoreAddress, { readonly kind: 'embedded' }>, 'kind'>,
  { regionServers, placeOf, ...opening }: ProvideOptions = {},
): Promise<ProvidedStore> {
  if (name === 'embedded') return providedAt({ kind: 'embedded', ...embedded });
  try {
    if (name === 'emulator') return await provideEmulator(opening);
    if (name === 'hbase') return await provideHBase({ regionServers, placeOf });
    return await tried(name, opening);
  } catch (error) {
    throw asUsageError(error);
  }
}

/**
 * Looks for the store before a run prepares or writes anything: opens one whose servers already
 * run, and looks whether one to be started is installed.
 * @throws UsageError as `provideStore`
 */
export async function refuseMissingStore(name: string): Promise<void> {
  const store = checkStoreName(name);
  if (store === 'embedded') return;
  if (store === 'hbase') return refuseIf(await whyNoHBase(process.env));
  if (store === 'emulator' && namedEmulator() === undefined) {
    return refuseIf(await whyNoEmulator(process.env));
  }
  await provideStore(store, { folder: '' });
}

function refuseIf(why: string | undefined): void {
  if (why !== undefined) throw new UsageError(`--store: ${why}.`);
}

async function provideEmulator(options: OpenStoreOptions): Promise<ProvidedStore> {
  const address = namedEmulator();
  if (address !== undefined) return tried({ kind: 'emulator', address }, options);
  const emulator = await startEmulator({ environment: process.env });
  const { address: started, pid } = emulator;
  return providedAt({ kind: 'emulator', address: started }, [pid], () => emulator.stop());
}

async function provideHBase(
  options: Pick<ProvideOptions, 'regionServers' | 'placeOf'>,
): Promise<ProvidedStore> {
  const hbase = await startHBase({
    ...options,
    environment: process.env,
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  const { servers, sessionTimeoutMs } = hbase;
  const pids = hbase.processes().map(({ pid }) => pid);
  const address: StoreAddress = { kind: 'hbase', servers, sessionTimeoutMs };
  return { ...providedAt(address, pids, () => hbase.stop()), hbase };
}

/**
 * The address in BIGTABLE_EMULATOR_HOST, if it has one.
 * @throws UsageError if that is not an address
 */
export function namedEmulator(): string | undefined {
  const value = process.env['BIGTABLE_EMULATOR_HOST'];
  if (value === undefined || value === '') return undefined;
  const [, port] = /^(?:[\w.-]+|\[[\da-f:.]+\]):(\d+)$/i.exec(value) ?? [];
  if (Number(port) >= 1 && Number(port) <= 65_535) return value;
  throw new UsageError(
    `BIGTABLE_EMULATOR_HOST must be host:port, such as localhost:8086, but is ${JSON.stringify(value)}.`,
  );
}

async function tried(address: StoreAddress, options: OpenStoreOptions): Promise<ProvidedStore> {
  const store = await openStore(address, options);
  await store.close();
  return providedAt(address);
}

function providedAt(
  address: StoreAddress,
  serverPids: readonly number[] = [],
  stop: () => Promise<void> = async () => {},
): ProvidedStore {
  return { address, serverPids, [Symbol.asyncDispose]: stop };
}

function asUsageError(error: unknown): unknown {
  if (!(error instanceof PercolatorError)) return error;
  return new UsageError(`--store: ${error.message}.`, { cause: error });
}

export const STORES = ['embedded', 'emulator'] as const;

/**
 * Opens a new store without tables each time, which is deleted when it is closed.
 * @param store of `STORES`; the embedded one is kept in a new folder below `folder`
 */
export function emptyStores(
  store: (typeof STORES)[number],
  folder: string,
): () => Promise<Bigtable> {
  return store === 'embedded' ? () => openEmptyEmbedded(folder) : openEmptyEmulator;
}

async function openEmptyEmbedded(parent: string): Promise<Bigtable> {
  await mkdir(parent, { recursive: true });
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(parent, 'store-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const store = opened.use(await openStore({ kind: 'embedded', folder }));
  return closingWith(store, opened.move());
}

async function openEmptyEmulator(): Promise<Bigtable> {
  await using opened = new AsyncDisposableStack();
  const provided = opened.use(await provideEmptyStore('emulator', { folder: '' }));
  const store = opened.use(await openStore(provided.address));
  return closingWith(store, opened.move());
}

/**
 * The store of a script that loads a database of its own. A server that was not started here must
 * hold no tables, because the script would write among them; at the end all its tables are dropped.
 * An embedded folder is not checked: the caller gives a new one.
 * @throws UsageError as `provideStore`, and if the store holds a table
 */
export async function provideEmptyStore(
  name: string,
  embedded: Parameters<typeof provideStore>[1],
  options?: ProvideOptions,
): Promise<ProvidedStore> {
  const provided = await provideStore(checkStoreName(name), embedded, options);
  const { address, serverPids } = provided;
  if (address.kind === 'embedded' || serverPids.length > 0) return provided;
  await using store = await openStore(address);
  const [table] = await store.listTables();
  if (table !== undefined) {
    throw new UsageError(
      `--store must be a store without tables, since this script loads its own, but ${name} has ${table}.`,
    );
  }
  return { ...provided, [Symbol.asyncDispose]: () => dropAll(provided) };
}

async function dropAll(provided: ProvidedStore): Promise<void> {
  await using _ = provided;
  await using store = await openStore(provided.address);
  for (const table of await store.listTables()) await store.dropTable(table);
}

/** `store`; to close it disposes of all that was opened for it, once. */
function closingWith(store: Bigtable, opened: AsyncDisposableStack): Bigtable {
  let closed: Promise<void> | undefined;
  return decorate(store, { close: () => (closed ??= opened.disposeAsync()) });
}

/**
 * Copies the folder of an embedded store that no process has open. Syncs the copy before use, so
 * that no measurement waits for the disk.
 */
export async function copyStore(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      await copyStore(source, target);
      continue;
    }
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    await using file = await open(target, 'r+');
    await file.sync();
  }
}
