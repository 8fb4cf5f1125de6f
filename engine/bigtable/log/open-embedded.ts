/** Opens an embedded store: in a folder, or on any disk. */
import { PercolatorError } from '../../base/index.ts';
import type { Bigtable, Manifest } from '../bigtable.ts';
import { type Disk, folderDisk } from './disk.ts';
import { Embedded } from './embedded.ts';
import { lockFolder, makeFolder } from './folder.ts';
import { HintWriter } from './hint-writer.ts';
import type { Place } from './leaf.ts';
import { Log, reasonOf } from './log.ts';
import { withValues } from './page.ts';
import type { PendingPage } from './pending-row.ts';
import type { LogRecord } from './record.ts';
import { applyRecords, recover } from './recovery.ts';
import { RowStore } from './row-store.ts';
import { SIZES, type Sizes } from './sizes.ts';

export interface EmbeddedOptions {
  /** The folder of the store; created if absent. One process at a time may write it. */
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
   * Memory, in bytes, for what was written last. Default 64 MB. Too small: rows are read from the
   * system's file cache, which takes two microseconds more.
   */
  readonly rowCacheBytes?: number | undefined;
}

/**
 * @throws STORE_UNAVAILABLE if the folder cannot be created or opened, is in use, or is damaged,
 * INVALID_ARGUMENT; the message says which
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Bigtable> {
  const { folder, fsync = true, readOnly = false, rowCacheBytes = SIZES.recentBytes } = options;
  checkBytes(rowCacheBytes);
  let unlock: (() => void) | undefined;
  try {
    if (!readOnly) await makeFolder(folder, { fsync });
    unlock = lockFolder(folder, { readOnly });
    const disk = folderDisk(folder, { fsync });
    const sizes = { ...SIZES, recentBytes: rowCacheBytes };
    const settings = { fsync, readOnly, sizes, unlock };
    return await openOnDisk(disk, settings);
  } catch (cause) {
    unlock?.();
    throw new PercolatorError(
      'STORE_UNAVAILABLE',
      `the embedded store in ${folder} cannot be opened: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function checkBytes(rowCacheBytes: number): void {
  if (Number.isSafeInteger(rowCacheBytes) && rowCacheBytes >= 0) return;
  throw new PercolatorError(
    'INVALID_ARGUMENT',
    `rowCacheBytes is ${rowCacheBytes}, and must be a whole number of bytes, or 0 for almost none`,
  );
}

export interface DiskSettings {
  readonly fsync: boolean;
  readonly readOnly: boolean;
  readonly sizes: Sizes;
  /** Called when the store no longer uses the disk. */
  readonly unlock?: (() => void) | undefined;
}

export async function openOnDisk(disk: Disk, settings: DiskSettings): Promise<Bigtable> {
  const { readOnly, sizes } = settings;
  const { isNew, index, log: state, last, leftovers, replayedBytes } = recover(disk);
  if (isNew && readOnly) throw new Error('there is no store in it');
  const log = new Log(disk, state, sizes);
  try {
    const hints = new HintWriter(disk, { index, log }, replayedBytes);
    let store: Embedded | undefined;
    const rows = new RowStore(
      { index, log },
      {
        onDurable: (bytes) => {
          hints.added(bytes);
          store?.changed();
        },
        onFailed: () => store?.failed(),
      },
    );
    if (readOnly) applyRecords(index, last);
    else await rows.restore(pagesOf(last));
    if (isNew) await rows.writeEmptyGroup(); // It says that here is a store.
    if (!readOnly) for (const name of leftovers) disk.remove(name);
    const end = async (): Promise<void> => {
      if (!readOnly) await hints.close();
      log.close();
      settings.unlock?.();
    };
    store = new Embedded({ rows, manifest: manifestOf(settings), readOnly, end });
    return store;
  } catch (error) {
    log.close();
    throw error;
  }
}

/** The pages of the last group, with their long values: it may not be on the disk. */
function pagesOf(last: readonly LogRecord[]): PendingPage[] {
  const values = new Map<number, Buffer>();
  const pages: PendingPage[] = [];
  for (const { kind, key, body, place } of last) {
    const valueAt = ({ file, offset }: Place): Buffer | undefined =>
      file === place.file ? values.get(offset) : undefined;
    if (kind === 'value') values.set(place.offset, body);
    else pages.push({ key, page: withValues(body, valueAt) });
  }
  return pages;
}

function manifestOf({ fsync }: DiskSettings): Manifest {
  return {
    name: 'embedded',
    conditionalBatch: true,
    ordered: true,
    splits: true,
    durability: fsync
      ? 'every commit is on disk (fsync, in groups) before it is answered'
      : 'a commit survives kill -9 of the process, not a power failure (no fsync)',
  };
}
