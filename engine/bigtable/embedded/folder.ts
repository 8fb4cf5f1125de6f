/**
 * The folder of a store: making it, and owning it.
 *
 * One process at a time writes a store, or several read it. Node has no file locks, but its SQLite
 * has: a transaction on an empty database holds them. The system releases them when the process
 * ends, however it ends. A file with a process id would outlive its process, and the id would then
 * name another one; a socket's name would outlive it too.
 *
 *     write ─▶ BEGIN EXCLUSIVE     read ─▶ a read transaction     in the file `lock`, always empty
 *
 * These are POSIX locks: they also end when the process closes any other handle of the file `lock`,
 * so nothing else opens it. On a file that it may not write, SQLite takes only a reader's lock.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncFolder } from './disk.ts';

const LOCK_FILE = 'lock';
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
/**
 * SQLite refuses this if the file may not be written. The change would reach the disk with a
 * commit, which never comes.
 */
const WRITE = 'PRAGMA user_version = 1';

/**
 * Creates the folder and its missing parents, and makes their names durable. Not `mkdir`'s own
 * `recursive`: it never returns where the system denies that a folder exists and also refuses to
 * create it, as in /proc.
 */
export async function makeFolder(
  folder: string,
  { fsync }: { readonly fsync: boolean },
): Promise<void> {
  const missing: string[] = [];
  let found = resolve(folder);
  for (; !existsSync(found); found = dirname(found)) missing.push(found);
  for (const next of missing.toReversed()) {
    await mkdir(next, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // Another process was faster.
    });
    if (fsync) await syncFolder(dirname(next));
  }
  // The process that made the folder that was found may have died before it synced.
  if (fsync) await syncFolder(dirname(found));
}

/**
 * @returns a function that ends the ownership; undefined if another process owns the folder. A
 * reader that finds no file to lock, as in a copy, owns nothing.
 * @throws if a writer may not write the file: its lock would exclude no reader, and no other such
 * writer
 */
export function lockFolder(
  folder: string,
  { readOnly }: { readonly readOnly: boolean },
): (() => void) | undefined {
  const path = join(folder, LOCK_FILE);
  if (readOnly && !existsSync(path)) return () => undefined;
  const database = new DatabaseSync(path, { readOnly });
  try {
    const transaction = readOnly
      ? 'BEGIN; SELECT 1 FROM sqlite_schema'
      : `PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; ${WRITE}`;
    database.exec(transaction);
    return () => database.close();
  } catch (error) {
    database.close();
    const { errcode } = error as { readonly errcode?: number };
    if (errcode === SQLITE_BUSY) return undefined;
    if (errcode === SQLITE_READONLY) {
      throw new Error(`the file ${path} cannot be written`, { cause: error });
    }
    throw error;
  }
}
