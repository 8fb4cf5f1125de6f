/**
 * What the store needs of a disk: a folder of files. The log and the hint are read and written only
 * through this, so that tests can run the store on a simulated disk that loses, tears and refuses
 * (testing/simulated-disk.ts).
 *
 * A file is written once, from its start to its end. What was written survives a power failure
 * once the file, and the folder that holds its name, were synced.
 */
import fs from 'node:fs';
import { join } from 'node:path';

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
}

/**
 * @param fsync false: nothing waits for the disk, and what was written survives the end of the
 *   process, but not a power failure
 */
export function folderDisk(folder: string, { fsync }: { readonly fsync: boolean }): Disk {
  const open = (name: string, flags: string): DiskFile => {
    const file = fs.openSync(join(folder, name), flags);
    return fsync ? new SyncedFile(file) : new UnsyncedFile(file);
  };
  return {
    names: () => fs.readdirSync(folder),
    open: (name) => open(name, 'r'),
    create: (name) => open(name, 'wx+'),
    rename: (from, to) => fs.renameSync(join(folder, from), join(folder, to)),
    remove: (name) => fs.rmSync(join(folder, name)),
    sync: () => (fsync ? syncFolder(folder) : Promise.resolve()),
  };
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
