/** Opens the store of a folder: as its owner, or through the process that owns it. */
import { resolve } from 'node:path';
import { type Clock, hasCode, PercolatorError, systemClock } from '../../base/index.ts';
import { checkOptions, FLAG, NAME, type OptionRules } from '../../base/options.ts';
import { type Bigtable, durabilityOf } from '../bigtable.ts';
import {
  anotherStore,
  codeOf,
  type Disk,
  folderDisk,
  lenientDisk,
  reasonOf,
  refused,
} from './disk.ts';
import { Embedded, MANIFEST } from './embedded.ts';
import { type Claim, claimStore, makeFolder, type Ownership, storeIn } from './folder.ts';
import { HintWriter, removeHint } from './hint.ts';
import type { Place } from './leaf.ts';
import { Log, type LogState, SIZES, type Sizes } from './log.ts';
import { withValues } from './page.ts';
import type { PendingPage } from './pending-row.ts';
import { type LogRecord, nameOfLog } from './record.ts';
import { applyRecords, recover, type Recovered } from './recovery.ts';
import { Reserve } from './reserve.ts';
import { RowStore } from './row-store.ts';
import { salvage, type Salvaged } from './salvage.ts';
import { Client } from './sharing/client.ts';
import { Service } from './sharing/service.ts';
import { socketOf } from './sharing/socket-place.ts';

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

const KINDS: OptionRules<EmbeddedOptions> = {
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
  { folder: given, fsync = true, readOnly = false, own: mayOwn = true, ...more }: EmbeddedOptions,
  patience: Patience,
): Promise<Bigtable> {
  const folder = resolve(given); // The process may change its working directory later.
  const refusal = (reason: string, cause?: unknown): PercolatorError =>
    new PercolatorError(
      codeOf(cause),
      `the embedded store in ${folder} cannot be opened: ${reason}`,
      { cause },
    );
  const settings = {
    fsync,
    readOnly,
    salvage: more.salvage,
    sizes: SIZES,
    reserveBytes: RESERVE_BYTES,
  };
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
  { path, end: unclaim }: Claim,
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
      unclaim();
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

/* Opens the store that is on a disk: recovers it, and puts its parts together. */

interface DiskSettings {
  readonly fsync: boolean;
  readonly readOnly: boolean;
  readonly sizes: Sizes;
  /** Whether a folder without a store is refused. Default: the value of `readOnly`. */
  readonly mustExist?: boolean | undefined;
  /** The number of the store that must be there: another one is refused. Default: any. */
  readonly store?: number | undefined;
  /** With `readOnly`: opens a damaged store, too (salvage.ts). Default false. */
  readonly salvage?: boolean | undefined;
  /** What is kept free for a full disk (reserve.ts). Default 0. */
  readonly reserveBytes?: number | undefined;
  /** For how long a look at the ownership counts. Default: the system's. */
  readonly clock?: Clock | undefined;
  /**
   * Called with what looks at the ownership, which should be asked once a second to look at all,
   * and with the number of the store.
   */
  readonly onOwned?: ((ownership: Ownership, store: number) => void) | undefined;
  /** Called when nothing more is to be taken that clients sent before. */
  readonly fenceClients?: (() => void) | undefined;
  /** Called when the store no longer uses the disk. */
  readonly end?: (() => Promise<void>) | undefined;
}

export async function openOnDisk(given: Disk, settings: DiskSettings): Promise<Bigtable> {
  const { fsync, readOnly, sizes, clock = systemClock } = settings;
  const { disk, found } = look(given, settings);
  const { isNew, index, log: state, last, usesHint, leftovers, replayedBytes } = found;
  const log = new Log(disk, state, sizes, clock);
  const { ownership } = log;
  let hints: HintWriter | undefined;
  let reserves: Reserve | undefined;
  try {
    if (state.store !== (settings.store ?? state.store)) throw anotherStore();
    const flush = async (): Promise<number> => {
      await rows.flush();
      return log.hint().sequence;
    };
    const writer = (hints = new HintWriter(disk, { index, log, flush }, replayedBytes));
    let store: Embedded | undefined;
    const reserve = (reserves = new Reserve(disk, readOnly ? 0 : (settings.reserveBytes ?? 0)));
    const rows = new RowStore(
      { index, log },
      {
        onVisible: (bytes, tables) => {
          writer.added(bytes);
          reserve.added(bytes);
          store?.changed(tables);
        },
        onFailed: () => store?.failed(),
      },
    );
    if (!readOnly) await syncAll(disk, state);
    // Before the next group: the owner before this one may still write to a file that it has just
    // made, and its group would not fit the next one (P70).
    const isUnfinished = (name: string): boolean => name > nameOfLog(state.end.file);
    if (!readOnly) for (const name of leftovers.filter(isUnfinished)) disk.remove(name);
    if (readOnly) applyRecords(index, last ?? []);
    else if (last !== undefined) {
      if (!usesHint) await removeHint(disk);
      await reserve.use(() => rows.restore(pagesOf(last)));
    }
    if (isNew) await reserve.use(() => rows.writeEmptyGroup()); // From now on the folder holds a store.
    if (!readOnly) for (const name of leftovers) if (!isUnfinished(name)) disk.remove(name);
    if (!readOnly) await reserve.fill();
    const end = async (): Promise<void> => {
      try {
        await reserve.close();
        // No caller was promised that what is visible is durable by now.
        if (!readOnly) await flush().catch(() => undefined);
        if (!readOnly) await writer.close();
        log.close();
      } finally {
        await settings.end?.();
      }
    };
    store = new Embedded({
      rows,
      reserve,
      manifest: { ...MANIFEST, durability: durabilityOf({ kind: 'embedded', fsync }) },
      readOnly,
      fenceClients: () => settings.fenceClients?.(),
      salvaged: found,
      end,
    });
    const opened = store;
    ownership.onLost = (error) => opened.lost(error);
    ownership.look(); // What it found in opening was before that.
    settings.onOwned?.(ownership, state.store);
    return opened;
  } catch (error) {
    await reserves?.close();
    await hints?.idle(); // The folder must not change once another process may own it.
    giveUp(log);
    throw error;
  }
}

/** @throws STORE_CLOSED if the store is lost: that is why opening failed, also if it is in doubt */
function giveUp(log: Log): void {
  try {
    log.ownership.look();
  } finally {
    log.close();
  }
}

/** What is on the disk, and the disk to read it from. */
function look(
  given: Disk,
  { readOnly, mustExist = readOnly, salvage: salvages = false }: DiskSettings,
): { readonly disk: Disk; readonly found: Recovered & Partial<Salvaged> } {
  const isSalvaged = readOnly && salvages;
  const disk = isSalvaged ? lenientDisk(given) : given;
  const found = isSalvaged ? salvage(disk) : recover(disk);
  if (found.isNew && mustExist) throw refused('there is no store in it');
  return { disk, found };
}

/**
 * An opening without fsync, or a copy of the folder, may have left bytes that only the system's
 * cache has. They must be on the disk before the groups that build on them.
 */
async function syncAll(disk: Disk, { files }: LogState): Promise<void> {
  for (const { file } of files.values()) await file.sync();
  if (files.size > 0) await disk.sync();
}

/**
 * The newest pages of the last groups, each with the long values in it that these groups hold: the
 * groups may not be on the disk, so all of them are written again.
 */
function pagesOf(last: readonly LogRecord[]): PendingPage[] {
  const values = new Map<string, Buffer>();
  const pages = new Map<string, LogRecord>();
  for (const record of last) {
    if (record.kind === 'value') values.set(placeName(record.place), record.body);
    else pages.set(record.key.toString('latin1'), record);
  }
  return Array.from(pages.values(), ({ key, body }) => {
    return { key, page: withValues(body, (place) => values.get(placeName(place))) };
  });
}

function placeName({ file, offset }: Place): string {
  return `${file} ${offset}`;
}
