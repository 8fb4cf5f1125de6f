/** Opens the store of a folder: as its owner, or through the process that owns it. */
import { resolve } from 'node:path';
import { hasCode, PercolatorError, systemClock } from '../../base/index.ts';
import { checkOptions, FLAG, type Kinds, NAME } from '../../base/options.ts';
import type { Bigtable } from '../bigtable.ts';
import { durabilityOf } from '../durability.ts';
import { type Disk, folderDisk } from './disk.ts';
import { codeOf, reasonOf } from './disk-errors.ts';
import { MANIFEST } from './embedded.ts';
import { type Claim, claimStore, makeFolder, storeIn } from './folder.ts';
import { type DiskSettings, openOnDisk } from './open-on-disk.ts';
import type { Ownership } from './ownership.ts';
import { Client } from './sharing/client.ts';
import { Service } from './sharing/service.ts';
import { socketOf } from './sharing/socket-place.ts';
import { SIZES } from './sizes.ts';

export interface EmbeddedOptions {
  /** The folder of the store; created if absent. Processes of one machine may share it. */
  readonly folder: string;
  /**
   * Whether a mutation resolves only when fsync has put it on the disk. Default true. With false it
   * survives `kill -9` of the process but not a power failure, after which the store may be refused
   * as damaged.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Opens a store that must exist, refuses every mutation with READ_ONLY, and leaves the folder's
   * content unchanged. Default false.
   */
  readonly readOnly?: boolean | undefined;
  /**
   * Whether this process may own the store and serve it to the others. Default true. With false it
   * always needs another process that does. Say false in a process that keeps its event loop busy,
   * because as the owner it would keep the others waiting, and in a process that runs for hours
   * with `readOnly`, because as the owner it would keep writers away.
   */
  readonly own?: boolean | undefined;
  /**
   * With `readOnly`: opens a damaged store as far as it can be read, and says in `damage` what is
   * lost; for fsck, and to copy what is left. Rows that were lost may be as they were before, so do
   * not say true where a program relies on them. Default false: a damaged store is refused.
   */
  readonly salvage?: boolean | undefined;
}

const KINDS: Kinds<EmbeddedOptions> = {
  folder: NAME,
  fsync: FLAG,
  readOnly: FLAG,
  own: FLAG,
  salvage: FLAG,
};

/** In milliseconds: how a process that does not own the folder waits. */
export interface Patience {
  /** How long it looks for a process that owns the folder and answers. */
  readonly attachMs: number;
  /**
   * The deadline of a request. As on a remote store, far below the time for which collectors expect
   * messages in flight (garbage-collection/options.ts).
   */
  readonly requestMs: number;
  /** Its clock: see `ClientSettings`. */
  readonly nowMs?: (() => number) | undefined;
}

const PATIENCE: Patience = { attachMs: 10_000, requestMs: 10_000 };
/** Some hundred mutations of readers, each in a file of its own: see reserve.ts. */
const RESERVE_BYTES = 2 ** 20;
/** Far below `attachMs`: for that long a process looks for a socket that was removed. */
const WATCH_MS = 1_000;

/**
 * Opens the store of a folder: as its owner, or through the process that owns it. If the owner
 * ends, this process or another one takes its place.
 * @throws STORE_UNAVAILABLE if the folder is in use by a process that does not answer, or the disk
 * fails; STORE_REFUSED if it cannot be created or opened, or is no store of this format;
 * STORE_DAMAGED, STORE_FULL; INVALID_ARGUMENT if an option is wrong; the message says which
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Bigtable> {
  checkOptions('openEmbedded', options, KINDS, ['folder']);
  if (options.salvage === true && options.readOnly !== true) {
    const message = 'salvage must come with readOnly: what is left of a damaged store is only read';
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return openPatiently(options, PATIENCE);
}

export async function openPatiently(
  { folder: given, fsync = true, readOnly = false, own: mayOwn = true, salvage }: EmbeddedOptions,
  patience: Patience,
): Promise<Bigtable> {
  const folder = resolve(given); // The process may change its working directory later.
  const refusal = (reason: string, cause?: unknown): PercolatorError =>
    new PercolatorError(
      codeOf(cause),
      `the embedded store in ${folder} cannot be opened: ${reason}`,
      { cause },
    );
  const settings = { fsync, readOnly, salvage, sizes: SIZES, reserveBytes: RESERVE_BYTES };
  const own = async (store?: number): Promise<Bigtable | undefined> => {
    try {
      const mustExist = store !== undefined || readOnly;
      return await ownFolder(folder, { ...settings, store, mustExist });
    } catch (cause) {
      throw refusal(reasonOf(cause), cause);
    }
  };
  const owned = mayOwn ? await own() : undefined;
  if (owned !== undefined) return owned;
  const manifest = { ...MANIFEST, durability: durabilityOf({ kind: 'embedded', fsync }) };
  const socketPath = (): string => socketOf(storeIn(folder) ?? folder);
  const shared = { ...settings, ...patience, manifest, socketPath, refusal };
  const client = new Client({ ...shared, own: mayOwn ? own : undefined });
  await client.attach();
  return client;
}

/** Undefined if another process owns the folder, also if it takes the store over meanwhile. */
async function ownFolder(folder: string, settings: DiskSettings): Promise<Bigtable | undefined> {
  const { fsync, readOnly, mustExist = readOnly } = settings;
  if (!mustExist) await makeFolder(folder, { fsync });
  const claim = await claimStore(folder, { readOnly, mustExist, fsync });
  if (claim === undefined) return undefined;
  try {
    return await openClaimed(claim, settings);
  } catch (error) {
    if (hasCode(error, 'STORE_CLOSED')) return undefined;
    throw error;
  }
}

async function openClaimed(
  { path, end: giveUp }: Claim,
  settings: DiskSettings,
): Promise<Bigtable> {
  const { fsync, readOnly } = settings;
  const closed = new AbortController();
  let disk: Disk | undefined;
  let service: Service | undefined;
  let ownership: Ownership | undefined;
  const release = (): void => {
    try {
      disk?.close();
    } finally {
      giveUp();
    }
  };
  const end = async (): Promise<void> => {
    closed.abort();
    try {
      // The store may be lost while it still begins to listen.
      await service?.close();
    } finally {
      release();
    }
  };
  let store: Bigtable;
  let number = 0;
  try {
    disk = folderDisk(path, { fsync });
    store = await openOnDisk(disk, {
      ...settings,
      onOwned: (...found) => ([ownership, number] = found),
      fenceClients: () => service?.fence(),
      end,
    });
  } catch (error) {
    release();
    throw error;
  }
  if (readOnly) return store;
  try {
    service = new Service(path, store, { fsync, store: number });
    await service.start();
    void keepWatch({ service, ownership }, closed.signal);
    return store;
  } catch (error) {
    const reason = lossOf(ownership) ?? error;
    await store.close();
    throw reason;
  }
}

/** Why the store is lost, if it is. */
function lossOf(ownership: Ownership | undefined): unknown {
  try {
    ownership?.lookAtAll();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Once a second: notices a lost ownership that no caller would notice, and a lost socket. */
async function keepWatch(
  { service, ownership }: { service: Service; ownership: Ownership | undefined },
  closed: AbortSignal,
): Promise<void> {
  for (;;) {
    await systemClock.sleep(WATCH_MS, closed, { background: true });
    if (closed.aborted) return;
    if (lossOf(ownership) !== undefined) return; // The store has heard of it.
    await service.stayReachable();
  }
}
