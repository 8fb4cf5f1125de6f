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
import {
  durabilityOf,
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
}

export interface ProvideOptions extends OpenStoreOptions {
  /** Region servers of an HBase that is started here. Default: 3. */
  readonly regionServers?: number | undefined;
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
  { regionServers, ...opening }: ProvideOptions = {},
): Promise<ProvidedStore> {
  if (name === 'embedded') return provided({ kind: 'embedded', ...embedded });
  try {
    if (name === 'emulator') return await provideEmulator(opening);
    if (name === 'hbase') return await provideHBase(regionServers);
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
  return provided({ kind: 'emulator', address: started }, [pid], () => emulator.stop());
}

async function provideHBase(regionServers: number | undefined): Promise<ProvidedStore> {
  const hbase = await startHBase({
    environment: process.env,
    regionServers,
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  const { servers, sessionTimeoutMs } = hbase;
  const pids = hbase.processes().map(({ pid }) => pid);
  return provided({ kind: 'hbase', servers, sessionTimeoutMs }, pids, () => hbase.stop());
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
  return provided(address);
}

function provided(
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
