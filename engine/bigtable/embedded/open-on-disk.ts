/** Opens the store that is on a disk: recovers it, and puts its parts together. */
import { type Clock, systemClock } from '../../base/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { durabilityOf } from '../durability.ts';
import type { Disk } from './disk.ts';
import { anotherStore, refused } from './disk-errors.ts';
import { Embedded, MANIFEST } from './embedded.ts';
import { removeHint } from './hint.ts';
import { HintWriter } from './hint-writer.ts';
import type { Place } from './leaf.ts';
import { lenientDisk } from './lenient-disk.ts';
import { Log, type LogState } from './log.ts';
import type { Ownership } from './ownership.ts';
import { withValues } from './page.ts';
import type { PendingPage } from './pending-row.ts';
import { type LogRecord, nameOfLog } from './record.ts';
import { applyRecords, recover, type Recovered } from './recovery.ts';
import { Reserve } from './reserve.ts';
import { RowStore } from './row-store.ts';
import { salvage, type Salvaged } from './salvage.ts';
import type { Sizes } from './sizes.ts';

export interface DiskSettings {
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
        onVisible: (bytes) => {
          writer.added(bytes);
          reserve.added(bytes);
          store?.changed();
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
