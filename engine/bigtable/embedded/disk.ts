/**
 * What the store needs of a disk: a folder of files. The log and the hint are read and written only
 * through this, so that tests can run the store on a simulated disk that loses, tears and refuses
 * (testing/simulated-disk.ts).
 *
 * A file is written once, from its start to its end. What was written survives a power failure
 * once the file, and the folder that holds its name, were synced.
 *
 * Names are changed only where this process is the owner (ownership.ts): each path goes through the
 * name that the owner has given to the folder.
 */
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { PercolatorError } from '../../base/index.ts';
import { refused } from './disk-errors.ts';

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

  /** Looks first: opening what is no file may wait for ever, and reading it names no file. */
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

  /** In another thread: a writer that waits for no sync would keep other callers from running. */
  async write(bytes: Uint8Array, position: number): Promise<void> {
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
  /** Synchronous: the system only copies the bytes into its cache. */
  override write(bytes: Uint8Array, position: number): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const rest = bytes.length - written;
      written += fs.writeSync(this.file, bytes, written, rest, position + written);
    }
    return Promise.resolve();
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
