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
 * so nothing else opens it.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncFolder } from './disk.ts';

const LOCK_FILE = 'lock';
const SQLITE_BUSY = 5;

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
 * @returns what ends the ownership; undefined if another process owns the folder. A reader that
 * finds no file to lock, as in a copy, owns nothing.
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
      : 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE';
    database.exec(transaction);
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}
