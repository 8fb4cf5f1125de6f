/** The lmdb environment of a store: its folder, its settings, and its two databases. */
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
  /** The catalog and its version. */
  readonly catalogs: Database<Catalog | number, string>;
}

/** From this page size on, lmdb takes keys of 4,026 bytes. */
const PAGE_BYTES = 8192;
/**
 * The size of the file's map in the address space; it is mapped once and costs neither memory nor
 * disk. By default lmdb begins with 128 KiB and remaps whenever the file has outgrown the map. If
 * another process made it grow, this process's next reader and next writer both remap, in two
 * threads and without a lock, and a later close unmaps memory that belongs to others. So the first
 * map should be large enough: only a larger store that several processes share is in danger.
 */
const MAP_BYTES = 64 * 2 ** 30;
/** The cells: keys and values as raw bytes. */
const CELLS = {
  name: 'cells',
  keyEncoder: {
    writeKey: (key: Buffer, target: Buffer, start: number): number => {
      target.set(key, start);
      return start + key.length;
    },
    // Like lmdb's own for binary keys: into Node's pool.
    readKey: (target: Buffer, start: number, end: number): Buffer => {
      const key = Buffer.allocUnsafe(end - start);
      target.copy(key, 0, start, end);
      return key;
    },
  },
  // Like lmdb's own `binary`, which slices a value out of the read buffer, but 1 µs faster.
  encoder: {
    encode: (value: Buffer): Buffer => value,
    // A pass over cells gives the length. A point get does not: there the buffer has the value's
    // length.
    decode: (shared: Buffer, listed?: number): Buffer | undefined => {
      if (listed !== undefined && listed > LISTED_VALUE_BYTES_MAX) return undefined;
      const length = listed ?? shared.length;
      const value = Buffer.allocUnsafe(length);
      shared.copy(value, 0, 0, length);
      return value;
    },
  },
} as const;

/** Call it only while no process commits (door.ts). */
export function openEnvironment({ folder, fsync, readOnly }: EnvironmentSettings): Environment {
  const root = open({
    path: folder,
    noSubdir: false,
    pageSize: PAGE_BYTES,
    ...(isAddressSpaceLimited() ? {} : { mapSize: MAP_BYTES }),
    maxDbs: 4,
    // Strict: a commit becomes visible and durable at the same moment. By default, readers, and so
    // other transactions, may act on a commit that a power failure can still undo.
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
 * Limited for example by `ulimit -v`. Then the map may be refused, which kills lmdb; a small map
 * that grows is better, despite its danger. Systems without the file have no such limit, or do not
 * enforce it.
 */
function isAddressSpaceLimited(): boolean {
  const file = '/proc/self/limits';
  if (!existsSync(file)) return false;
  return !/^Max address space +unlimited/m.test(readFileSync(file, 'utf8'));
}

/** lmdb creates a missing database, but not in a read-only store. */
function openDatabase<V, K extends Key>(
  root: RootDatabase,
  options: DatabaseOptions & { readonly name: string },
): Database<V, K> {
  const database = root.openDB<V, K>(options) as Database<V, K> | undefined;
  if (database !== undefined) return database;
  throw new Error(`it is an lmdb folder, but not a store of ours: it has no ${options.name}`);
}

/**
 * Creates the folder and its missing parents. Not `mkdir`'s own `recursive`: it never returns where
 * the system denies that a folder exists and also refuses to create it, as in /proc.
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
 * Syncs the existence of the store to the disk: its files' names, and its own. lmdb syncs only the
 * content of its files; a power failure could remove a new store with every commit that was
 * answered. This runs at each opening, because the process that created the store may have died
 * before doing it.
 */
export async function syncStore(folder: string): Promise<void> {
  await syncFolder(folder);
  await syncFolder(dirname(resolve(folder)));
}

/** Tolerates a folder that we may not read, and a system that does not sync folders. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await openFile(folder, 'r');
    await handle.sync();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
  }
}
