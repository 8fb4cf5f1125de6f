/**
 * A disk as one reads it who wants what is left: where a file cannot be read, its bytes are zeroes,
 * a block at a time. The checksums then say what is lost, as they do for other damage.
 */
import type { Disk, DiskFile } from './disk.ts';

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
