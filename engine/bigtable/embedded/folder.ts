/**
 * The folder of a store: making it, and owning it.
 *
 *     data/lock              empty: the system's lock on it keeps one writer, or several readers
 *     data/store             the store, while no process owns it
 *     data/store.k3x9        the store of a living owner, or of one that was killed
 *     data/store.k3x9/socket where the owner serves the others
 *
 * One process at a time writes a store, or several read it. Three things see to that:
 *
 *     1. The lock. Node has no file locks, but its SQLite has: a transaction on an empty database
 *        holds them. The system releases them when the process ends, however it ends. A file with a
 *        process id would outlive its process, and the id would then name another one.
 *     2. The socket. A lock of POSIX is easily lost: it ends when the process closes any other
 *        handle of the file, as a copy of the folder does, and a new file has a new lock. But the
 *        system answers at the socket for as long as its process lives, even if that is stopped.
 *     3. The name. Who has the lock, and gets no answer, gives the store's folder a name of its own:
 *        from then on an owner that lives in spite of all cannot do harm.
 *
 * On a file that it may not write, SQLite takes only a reader's lock.
 */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type Clock,
  entropySeed,
  hasCode,
  type PercolatorError,
  systemClock,
} from '../../base/index.ts';
import { type Disk, type DiskFile, isStoreName, refused, syncFolder } from './disk.ts';
import { isServed } from './sharing/socket-place.ts';

const LOCK_FILE = 'lock';
/** The name of a store that no process owns. */
const STORE = 'store';
/** What an earlier version kept next to the lock: the store, and what its owner left. */
const EARLIER_STORE = /^(\d{10}\.log|index|index\.new)$/;
const EARLIER_SOCKET = /^socket(-at)?$/;
/**
 * The beginnings of SQLite's messages. Node and Bun give its numbers, too, but Deno gives none.
 */
const BUSY = 'database is locked';
const CANNOT_OPEN = 'unable to open database file';
/** What others of its messages mean here. */
const REASONS: readonly (readonly [message: string, reason: string])[] = [
  ['attempt to write a readonly database', 'cannot be written'],
  [
    'file is not a database',
    'is not the empty file that it must be: remove it while no process has the store open',
  ],
];
/** What the system's codes mean here. */
const NOT_ALLOWED: Readonly<Record<string, string>> = {
  EACCES: 'has no permission',
  EPERM: 'has no permission',
  EROFS: 'the file system is read-only',
};
/** Not refused for good, because it passes: none of the reasons above was found. */
const NOT_OPENED = 'cannot be opened or made: perhaps the limit of open files was reached';
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
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly });
    const transaction = readOnly
      ? 'BEGIN; SELECT 1 FROM sqlite_schema'
      : `PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; ${WRITE}`;
    database.exec(transaction);
    return () => database?.close();
  } catch (error) {
    database?.close();
    const message = error instanceof Error ? error.message : '';
    if (message.startsWith(BUSY)) return undefined;
    if (message.startsWith(CANNOT_OPEN)) throw notOpened(path, error);
    const [, reason] = REASONS.find(([beginning]) => message.startsWith(beginning)) ?? [];
    throw reason === undefined ? error : refused(`the file ${path} ${reason}`, error);
  }
}

/**
 * Why SQLite could not open the file, as the system tells. The file itself is not opened: closing
 * it would end a lock that this process may have on it.
 */
function notOpened(path: string, cause: unknown): Error {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) {
      return refused(`${path} must be a file, but is a folder`, cause);
    }
    accessSync(found === undefined ? dirname(path) : path, constants.R_OK | constants.W_OK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = NOT_ALLOWED[code];
    if (reason !== undefined) {
      return refused(`this process must be able to read and write ${path}, but ${reason}`, cause);
    }
  }
  return new Error(`${path} ${NOT_OPENED}`, { cause });
}

/** A store in the hands of this process. */
export interface Claim {
  readonly path: string;
  /** Gives it up: another process may be the next owner. */
  readonly end: () => void;
}

/**
 * Undefined if another process owns the store. Otherwise a writer is the owner now, and a reader,
 * which leaves the folder as it is, keeps writers away.
 * @throws if there is no store, and one must exist; or the folder holds more than one
 */
export async function claimStore(
  folder: string,
  { readOnly, mustExist, fsync }: { readOnly: boolean; mustExist: boolean; fsync: boolean },
): Promise<Claim | undefined> {
  checkFolder(folder);
  const unlock = lockFolder(folder, { readOnly });
  if (unlock === undefined) return undefined;
  try {
    const found = storeIn(folder);
    if (found === undefined && mustExist) throw refused(noStoreIn(folder));
    if (found === undefined || !(await isServed(found))) {
      if (readOnly) return { path: found ?? folder, end: unlock };
      const path = await takeOver(folder, found, { fsync });
      if (path !== undefined) return { path, end: () => giveUp(path, unlock) };
    }
  } catch (error) {
    unlock();
    throw error;
  }
  unlock();
  return undefined;
}

/** SQLite would only say that it is unable to open a file. @throws STORE_REFUSED */
function checkFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) {
    const link = lstatSync(folder, { throwIfNoEntry: false });
    if (link === undefined) return;
    throw refused(`it is a link to ${readlinkSync(folder)}, which does not exist`);
  }
  if (!found.isDirectory()) throw refused('it is a file and no folder');
}

/** Where the store is: in a folder in `folder`, or, from an earlier version, in `folder` itself. */
export function storeIn(folder: string): string | undefined {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const [found, another] = names.filter(isStoreName);
  if (another !== undefined) {
    throw refused(`it holds two stores, ${found} and ${another}: move one of them elsewhere`);
  }
  if (found !== undefined) return join(folder, found);
  if (names.includes('data.mdb')) {
    throw refused('it is a store of an earlier version (data.mdb); load its data again');
  }
  return names.some((name) => EARLIER_STORE.test(name)) ? folder : undefined;
}

/** Programs keep their store in a folder of their own folder. */
function noStoreIn(folder: string): string {
  const within = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  const paths = within.filter((one) => one.isDirectory()).map(({ name }) => join(folder, name));
  const holder = paths.find((path) => {
    try {
      return storeIn(path) !== undefined;
    } catch {
      return false; // It cannot be looked at, or holds two stores: then nothing is said of it.
    }
  });
  return `there is no store in it${holder === undefined ? '' : `, but there is one in ${holder}`}`;
}

/** Undefined if another process was faster. */
async function takeOver(
  folder: string,
  found: string | undefined,
  { fsync }: { readonly fsync: boolean },
): Promise<string | undefined> {
  const token = (entropySeed() * 2 ** 20 + (entropySeed() % 2 ** 20)).toString(36);
  const path = join(folder, `${STORE}.${token}`);
  if (found === undefined || found === folder) mkdirSync(path, { mode: 0o700 });
  else if (!tryRename(found, path)) return undefined;
  moveEarlierStore(folder, path);
  if (fsync) await syncFolder(folder);
  const wasOwned = found !== undefined && basename(found) !== STORE;
  if (wasOwned) await systemClock.sleep(TAKE_OVER_MS);
  return path;
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Goes on where a process that was killed has stopped. */
function moveEarlierStore(folder: string, path: string): void {
  for (const name of readdirSync(folder)) {
    const [from, to] = [join(folder, name), join(path, name)];
    if (EARLIER_SOCKET.test(name)) rmSync(from, { recursive: true });
    if (!EARLIER_STORE.test(name)) continue;
    if (existsSync(to)) throw refused(`it holds two stores: ${from} and ${to}`);
    renameSync(from, to);
  }
}

/** The next owner does not have to wait for this one. */
function giveUp(path: string, unlock: () => void): void {
  try {
    renameSync(path, join(dirname(path), STORE));
  } catch {
    // Another process has taken the store over, or the folder is gone.
  } finally {
    unlock();
  }
}

/*
 * Whether this process still owns the store that it has open (P69).
 *
 * The system's lock on the folder (folder.ts) may be lost without a word: any close of that file in
 * the owner's process ends it, and a file or a folder can be removed, moved, copied or replaced
 * under a living owner. So ownership is a name: the store is in a folder that is named for its
 * owner, and a process that takes the store over gives that folder another name.
 *
 *     owner, whatever it does with names     by a path through its own name: refused by the system
 *                                            from the moment at which that name is gone
 *     owner, before it answers anything      looks whether its name still leads to its folder, and
 *                                            the log's file to its file; that counts for LOOK_MS
 *     next owner                             renames, waits for TAKE_OVER_MS, and only then reads
 *
 * What if the owner stops for an hour? In the middle of a write: the next owner's log says where
 * the owner's file ended, so what is written later does not count (P70). After the write, before
 * the answer: the look comes after the write, and fails. After the look: then the next owner, who
 * waits, reads what was written. Both measure time by the machine's monotonic clock.
 */

/** For how long a look counts. Longer: a take-over takes longer. Shorter: more calls of `stat`. */
const LOOK_MS = 10;
/** How long the next owner waits before it reads; twice as long as it must. */
export const TAKE_OVER_MS: number = 2 * LOOK_MS;

export class Ownership {
  /** Called once, when this process finds that it is not the owner any more. */
  onLost: ((error: PercolatorError) => void) | undefined;
  readonly #disk: Disk;
  readonly #clock: Clock;
  /** The files that must stay in place, by name. */
  readonly #files = new Map<string, DiskFile>();
  /** The one that groups are written to; the others are looked at by `lookAtAll` only. */
  #newest: string | undefined;
  /** When the last look began that found everything in place. */
  #lookedMs = -Infinity;
  #lost: PercolatorError | undefined;

  constructor(disk: Disk, clock: Clock) {
    this.#disk = disk;
    this.#clock = clock;
  }

  add(name: string, file: DiskFile): void {
    this.#files.set(name, file);
    this.#newest = name;
  }

  remove(name: string): void {
    this.#files.delete(name);
  }

  /** Does nothing if the last look still counts. @throws STORE_CLOSED */
  look(): void {
    if (this.#lost !== undefined) throw this.#lost;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookAt(this.#newest === undefined ? [] : [this.#newest]);
    this.#lookedMs = nowMs;
  }

  /** For once a second: notices also what no reader or writer asks for. @throws STORE_CLOSED */
  lookAtAll(): void {
    if (this.#lost !== undefined) throw this.#lost;
    this.#lookAt([...this.#files.keys()]);
  }

  /** Takes note of an error of the disk that says so (disk.ts). */
  notice(error: unknown): void {
    if (this.#lost !== undefined || !hasCode(error, 'STORE_CLOSED')) return;
    this.#lost = error;
    this.onLost?.(error);
  }

  #lookAt(names: readonly string[]): void {
    const error = this.#disk.lost(
      names.flatMap((name) => {
        const file = this.#files.get(name);
        return file === undefined ? [] : [[name, file] as const];
      }),
    );
    if (error === undefined) return;
    this.notice(error);
    throw error;
  }
}
