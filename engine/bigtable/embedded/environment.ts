/** The lmdb environment of a store: its folder, its settings, and the two databases in it. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open as openFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { open, type Database, type DatabaseOptions, type Key, type RootDatabase } from 'lmdb';
import type { Catalog } from './catalog.ts';
import { LISTED_VALUE_BYTES_MAX } from './cells.ts';

export interface EnvironmentSettings {
  readonly folder: string;
  readonly fsync: boolean;
  readonly readOnly: boolean;
}

export interface Environment {
  readonly root: RootDatabase;
  readonly cells: Database<Buffer, Buffer>;
  /** The catalog, and its version. */
  readonly catalogs: Database<Catalog | number, string>;
}

/** lmdb takes keys of 4,026 bytes from this page size on. */
const PAGE_BYTES = 8192;
/**
 * The file's map in the address space, made once; it costs neither memory nor disk. lmdb by itself begins with
 * 128 KiB and maps anew whenever the file has outgrown that. If it was another process that made it
 * grow, this one's next reader and next writer both do so, in two threads and without a lock, and a later close
 * unmaps memory that belongs to others. So the first map should be enough: only a larger store that
 * several processes share is in that danger.
 */
const MAP_BYTES = 64 * 2 ** 30;
/** The cells: keys and values as they are. */
const CELLS = {
  name: 'cells',
  keyEncoder: {
    writeKey: (key: Buffer, target: Buffer, start: number): number => {
      target.set(key, start);
      return start + key.length;
    },
    // As lmdb's own for binary keys, into Node's pool.
    readKey: (target: Buffer, start: number, end: number): Buffer => {
      const key = Buffer.allocUnsafe(end - start);
      target.copy(key, 0, start, end);
      return key;
    },
  },
  // As lmdb's own `binary`, which takes a value out of the read buffer by `slice`; this is 1 µs less.
  encoder: {
    encode: (value: Buffer): Buffer => value,
    // A pass over cells tells the length. A point get does not: its buffer says how long the value is.
    decode: (shared: Buffer, listed?: number): Buffer | undefined => {
      if (listed !== undefined && listed > LISTED_VALUE_BYTES_MAX) return undefined;
      const length = listed ?? shared.length;
      const value = Buffer.allocUnsafe(length);
      shared.copy(value, 0, 0, length);
      return value;
    },
  },
} as const;

/** Only while nobody commits (door.ts). */
export function openEnvironment({ folder, fsync, readOnly }: EnvironmentSettings): Environment {
  const root = open({
    path: folder,
    noSubdir: false,
    pageSize: PAGE_BYTES,
    ...(isAddressSpaceLimited() ? {} : { mapSize: MAP_BYTES }),
    maxDbs: 4,
    // Strict: visible and durable at the same moment. The default lets readers, and so other
    // transactions, act on a commit that a power failure may still undo.
    overlappingSync: false,
    noSync: !fsync,
    readOnly,
  });
  return {
    root,
    cells: openDatabase(root, CELLS),
    catalogs: openDatabase(root, { name: 'catalog', encoding: 'json' }),
  };
}

/**
 * As by `ulimit -v`. The map may then be refused, of which lmdb dies; a small one that grows is better,
 * with its danger. Systems without the file do not have the limit, or do not enforce it.
 */
function isAddressSpaceLimited(): boolean {
  const file = '/proc/self/limits';
  if (!existsSync(file)) return false;
  return !/^Max address space +unlimited/m.test(readFileSync(file, 'utf8'));
}

/** lmdb makes a database that is missing, but not in a store that is only read. */
function openDatabase<V, K extends Key>(
  root: RootDatabase,
  options: DatabaseOptions & { readonly name: string },
): Database<V, K> {
  const database = root.openDB<V, K>(options) as Database<V, K> | undefined;
  if (database !== undefined) return database;
  throw new Error(`it is an lmdb folder, but not a store of ours: it has no ${options.name}`);
}

/**
 * Makes the folder and those above it that are missing. Not `mkdir`'s own `recursive`: where the
 * system denies that a folder exists which it refuses to make, as in /proc, that never returns.
 */
export async function makeFolder(
  folder: string,
  { fsync }: { readonly fsync: boolean },
): Promise<void> {
  const missing: string[] = [];
  for (let next = resolve(folder); !existsSync(next); next = dirname(next)) missing.push(next);
  for (const next of missing.toReversed()) {
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // Another process was faster.
    });
    if (fsync) await syncFolder(dirname(next));
  }
}

/**
 * Puts on the disk that the store is there: its files' names, and its own. lmdb syncs what is in its files only; after
 * a power failure a store that was just made could be gone with every commit that was answered. At each
 * opening, because the process that made it may have died before it came to this.
 */
export async function syncStore(folder: string): Promise<void> {
  await syncFolder(folder);
  await syncFolder(dirname(resolve(folder)));
}

/** A folder that we may not read, or a system that does not sync folders, is no reason not to open the store. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await openFile(folder, 'r');
    await handle.sync();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
  }
}
