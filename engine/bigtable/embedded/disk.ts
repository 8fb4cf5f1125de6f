/**
 * What the store needs of a disk: a folder of files. The log and the hint are read and written only
 * through this, so that tests can run the store on a simulated disk that loses, tears and refuses
 * (testing/simulated-disk.ts).
 *
 * A file is written once, from its start to its end. What was written survives a power failure
 * once the file, and the folder that holds its name, were synced.
 *
 * Names are changed only where this process is the owner (folder.ts): each path goes through the
 * name that the owner has given to the folder. Who wants what is left of a damaged store reads
 * through `lenientDisk`.
 */
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { type ErrorCode, PercolatorError } from '../../base/index.ts';

export interface DiskFile {
  size(): number;
  /** Fills `target` from `position`; returns how many bytes there were. */
  read(target: Uint8Array, position: number): number;
  /** Writes all of the bytes, or fails; after a failure at least one of them is missing. */
  write(bytes: Uint8Array, position: number): Promise<void> | void;
  sync(): Promise<void>;
  truncate(size: number): void;
  close(): void;
}

export interface Disk {
  names(): readonly string[];
  open(name: string): DiskFile;
  /** A new file, to be written. */
  create(name: string): DiskFile;
  rename(from: string, to: string): void;
  remove(name: string): void;
  /** Makes the names durable. */
  sync(): Promise<void>;
  /**
   * Why this process does not own the folder any more: it has another name, or is gone, or one of
   * the files is not what its name leads to. Undefined if all is in place.
   */
  lost(files: readonly (readonly [name: string, file: DiskFile])[]): PercolatorError | undefined;
  /** Ends its use, after the files were closed. */
  close(): void;
}

/**
 * @param fsync false: nothing waits for the disk, and what was written survives the end of the
 *   process, but not a power failure
 */
export function folderDisk(folder: string, { fsync }: { readonly fsync: boolean }): Disk {
  return new FolderDisk(folder, fsync);
}

/**
 * Where the system shows what a process has open: a path through there leads to the folder itself,
 * whatever it is called by now.
 */
const OPEN_FILES = '/proc/self/fd';

class FolderDisk implements Disk {
  readonly #folder: string;
  readonly #fsync: boolean;
  /** Open, so that no other folder gets its inode number. Undefined if it cannot be opened. */
  readonly #opened: number | undefined;
  readonly #identity: fs.Stats;

  constructor(folder: string, fsync: boolean) {
    this.#folder = folder;
    this.#fsync = fsync;
    this.#opened = openedFolder(folder);
    this.#identity = this.#opened === undefined ? fs.statSync(folder) : fs.fstatSync(this.#opened);
  }

  names(): readonly string[] {
    return fs.readdirSync(this.#folder);
  }

  /** Looks first: opening what is no file may wait forever, and reading it names no file. */
  open(name: string): DiskFile {
    const path = join(this.#folder, name);
    if (fs.statSync(path).isFile()) return this.#file(name, 'r');
    throw refused(`${path} is no file: move it elsewhere`);
  }

  /** Looks again afterwards: the process may have been stopped in between. */
  create(name: string): DiskFile {
    this.#assertOwned();
    try {
      const file = this.#file(name, 'wx+');
      this.#assertOwned(file);
      return file;
    } catch (error) {
      throw this.lost([]) ?? error;
    }
  }

  rename(from: string, to: string): void {
    this.#assertOwned();
    fs.renameSync(join(this.#folder, from), join(this.#folder, to));
  }

  /**
   * In the folder itself, where the system can name it: a process that is stopped before the call
   * must not remove a file of a copy that has taken the folder's place. In the folder itself no
   * removal comes too late, because the next owner needs no file either that this one removes.
   */
  remove(name: string): void {
    this.#assertOwned();
    const itself = `${OPEN_FILES}/${this.#opened}`;
    fs.rmSync(join(fs.existsSync(itself) ? itself : this.#folder, name));
  }

  sync(): Promise<void> {
    return this.#fsync ? syncFolder(this.#folder) : Promise.resolve();
  }

  lost(files: readonly (readonly [name: string, file: DiskFile])[]): PercolatorError | undefined {
    if (!isSame(this.#folder, this.#identity)) return closedBecause(whatBecameOf(this.#folder));
    const gone = files.find(
      ([name, file]) => !(file as UnsyncedFile).isAt(join(this.#folder, name)),
    );
    if (gone === undefined) return undefined;
    return closedBecause(`another program removed or replaced ${join(this.#folder, gone[0])}`);
  }

  close(): void {
    if (this.#opened !== undefined) fs.closeSync(this.#opened);
  }

  #file(name: string, flags: string): DiskFile {
    const file = fs.openSync(join(this.#folder, name), flags);
    return this.#fsync ? new SyncedFile(file) : new UnsyncedFile(file);
  }

  #assertOwned(opened?: DiskFile): void {
    const error = this.lost([]);
    if (error === undefined) return;
    opened?.close();
    throw error;
  }
}

function openedFolder(folder: string): number | undefined {
  try {
    return fs.openSync(folder, 'r');
  } catch {
    return undefined; // Not every system opens folders, or lets this process read this one.
  }
}

function isSame(path: string, { ino, dev }: fs.Stats): boolean {
  try {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found?.ino === ino && found.dev === dev;
  } catch {
    return false; // It cannot be looked at any more: it may be another one.
  }
}

function whatBecameOf(folder: string): string {
  const parent = dirname(folder);
  return namesIn(parent).some(isStoreName)
    ? `another process has taken over the store in ${parent}, or another program has replaced it`
    : `${parent} was removed, moved or emptied`;
}

/** None if the folder cannot be looked at: that must not hide that the store is lost. */
function namesIn(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/** The one sentence of an owner that is none any more. */
export function closedBecause(why: string): PercolatorError {
  const message = `the embedded store was closed, because ${why}; open it again to go on with what is there now`;
  return new PercolatorError('STORE_CLOSED', message);
}

/** The name of a folder that holds a store: without an owner, or with one. */
export function isStoreName(name: string): boolean {
  return /^store(\.[\da-z]+)?$/.test(name);
}

/** Tolerates a folder that this process may not read, and a system that does not sync folders. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await fs.promises.open(folder, 'r');
    await handle.sync();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
  }
}

/**
 * Bytes that are written without a thread: to copy as many takes about as long as to wake one.
 * Larger: a large group keeps readers waiting. Smaller: a small one costs several times as much.
 */
const COPIED_AT_ONCE = 2 ** 16;

class UnsyncedFile implements DiskFile {
  protected readonly file: number;

  constructor(file: number) {
    this.file = file;
  }

  size(): number {
    return fs.fstatSync(this.file).size;
  }

  /** Whether the path leads to this file. */
  isAt(path: string): boolean {
    return isSame(path, fs.fstatSync(this.file));
  }

  /**
   * Synchronous: a record is mostly in the system's cache, and a thread would cost ten times as
   * much.
   */
  read(target: Uint8Array, position: number): number {
    let read = 0;
    while (read < target.length) {
      const more = fs.readSync(this.file, target, read, target.length - read, position + read);
      if (more === 0) break;
      read += more;
    }
    return read;
  }

  /**
   * Few bytes at once: the system only copies them into its cache, and a thread would cost ten
   * times as much. Many in another thread, or the copying would keep other callers from running.
   */
  write(bytes: Uint8Array, position: number): Promise<void> | void {
    if (bytes.length > COPIED_AT_ONCE) return this.#writeElsewhere(bytes, position);
    this.writeHere(bytes, position);
  }

  protected writeHere(bytes: Uint8Array, position: number): void {
    for (let written = 0; written < bytes.length;) {
      const rest = bytes.length - written;
      written += fs.writeSync(this.file, bytes, written, rest, position + written);
    }
  }

  async #writeElsewhere(bytes: Uint8Array, position: number): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      written += await new Promise<number>((resolve, reject) => {
        const rest = bytes.length - written;
        fs.write(this.file, bytes, written, rest, position + written, (error, more) => {
          if (error === null) resolve(more);
          else reject(error);
        });
      });
    }
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.file, size);
  }

  close(): void {
    fs.closeSync(this.file);
  }
}

class SyncedFile extends UnsyncedFile {
  /** However many they are: the sync that follows takes longer. */
  override write(bytes: Uint8Array, position: number): void {
    this.writeHere(bytes, position);
  }

  override sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.file, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }
}

/* What an error of the disk means for its caller: whether to try again, and if not, why. */

/** Until there is room: on the file system, or in the user's quota. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** Until an operator changes a path or its permissions. */
const REFUSED: ReadonlySet<string> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
]);
const STAYING: ReadonlySet<ErrorCode> = new Set([
  'STORE_DAMAGED',
  'STORE_REFUSED',
  'STORE_FULL',
  'WRONG_DATABASE',
]);

/** The code for a failure that stays until its cause is fixed; otherwise STORE_UNAVAILABLE. */
export function codeOf(cause: unknown): ErrorCode {
  if (cause instanceof PercolatorError) {
    return STAYING.has(cause.code) ? cause.code : 'STORE_UNAVAILABLE';
  }
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  if (FULL.has(code)) return 'STORE_FULL';
  return REFUSED.has(code) ? 'STORE_REFUSED' : 'STORE_UNAVAILABLE';
}

export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'for a reason that is no error';
  const isFull = codeOf(cause) === 'STORE_FULL' && !(cause instanceof PercolatorError);
  return isFull ? `the disk is full: ${cause.message}` : cause.message;
}

/** Until what the sentence says is changed. */
export function refused(what: string, cause?: unknown): PercolatorError {
  return new PercolatorError('STORE_REFUSED', what, { cause });
}

/** For a process that had one store open, and finds another one in its place (P74). */
export function anotherStore(): PercolatorError {
  const what =
    'another store is in its place than the one that this process had open: put that one back, or open again';
  return new PercolatorError('WRONG_DATABASE', what);
}

/*
 * Where a file cannot be read, its bytes are zeroes, a block at a time. The checksums then say what
 * is lost, as they do for other damage.
 */

/** A bad sector costs no more than this. */
const BLOCK_BYTES = 4_096;

export function lenientDisk(disk: Disk): Disk {
  return {
    names: () => disk.names(),
    open: (name) => new LenientFile(disk.open(name)),
    create: (name) => disk.create(name),
    rename: (from, to) => disk.rename(from, to),
    remove: (name) => disk.remove(name),
    sync: () => disk.sync(),
    lost: (files) => disk.lost(files.map(([name, file]) => [name, unwrapped(file)])),
    close: () => disk.close(),
  };
}

class LenientFile implements DiskFile {
  readonly file: DiskFile;

  constructor(file: DiskFile) {
    this.file = file;
  }

  size(): number {
    return this.file.size();
  }

  read(target: Uint8Array, position: number): number {
    try {
      return this.file.read(target, position);
    } catch {
      for (let at = 0; at < target.length; at += BLOCK_BYTES) {
        this.#readBlock(target.subarray(at, at + BLOCK_BYTES), position + at);
      }
      return Math.max(0, Math.min(target.length, this.size() - position));
    }
  }

  write(bytes: Uint8Array, position: number): Promise<void> | void {
    return this.file.write(bytes, position);
  }

  sync(): Promise<void> {
    return this.file.sync();
  }

  truncate(size: number): void {
    this.file.truncate(size);
  }

  close(): void {
    this.file.close();
  }

  #readBlock(block: Uint8Array, position: number): void {
    try {
      this.file.read(block, position);
    } catch {
      block.fill(0);
    }
  }
}

function unwrapped(file: DiskFile): DiskFile {
  return file instanceof LenientFile ? file.file : file;
}
