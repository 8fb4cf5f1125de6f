/**
 * Room that is kept for a full disk (P78): a file that holds nothing, and is removed when what
 * readers wait for cannot be written without it.
 *
 *     an essential mutation fails, the disk is full ─▶ remove the file ─▶ try again ─▶ make the file
 *     meanwhile, other mutations are refused                                           as it fits
 *
 * Which mutations are essential, their callers say (bigtable.ts). They are small, so some hundreds
 * of them fit. The file is made again when there is room: at the next opening, or once the log has
 * grown by as much. A file system that compresses keeps less, and another program may take what
 * was freed; then an essential mutation fails as others do, and nothing is lost.
 */
import { hasCode, PercolatorError } from '../../base/index.ts';
import type { Disk, DiskFile } from './disk.ts';

const RESERVE_FILE = 'reserve';
/** What is written at a time if not all of it fits. */
const PIECE_BYTES = 2 ** 12;

export class Reserve {
  readonly #disk: Disk;
  readonly #bytes: number;
  /** What the file holds. */
  #held = 0;
  /** Attempts in progress that may use the room; the last one makes the file again. */
  #users = 0;
  #filling: Promise<void> | undefined;
  #isClosed = false;
  /** Bytes by which the log has grown since the file was last made. */
  #grown = 0;

  /** @param bytes 0: nothing is kept */
  constructor(disk: Disk, bytes: number) {
    this.#disk = disk;
    this.#bytes = bytes;
  }

  /** Whether the room is in use, so that other mutations would take it away. */
  get isInUse(): boolean {
    return this.#users > 0;
  }

  /** Makes the file, if it is not as large as it should be. */
  async fill(): Promise<void> {
    this.#filling ??= this.#fill().finally(() => (this.#filling = undefined));
    await this.#filling;
  }

  /** Called when the log has grown. */
  added(bytes: number): void {
    this.#grown += bytes;
    if (this.#held < this.#bytes && this.#grown >= this.#bytes) void this.fill();
  }

  /** Tries, and again with the reserved room if the disk is full. */
  async use<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!isFull(error)) throw error;
      return await this.#useAfter(error, attempt);
    }
  }

  async #useAfter<T>(error: unknown, attempt: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      await this.#filling;
      const isFreed = this.#release();
      if (!isFreed && this.#users === 1) throw error;
      return await attempt();
    } finally {
      if (this.#users === 1) await this.fill();
      this.#users--;
    }
  }

  /** Resolves when nothing is being written, and nothing will be. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling;
  }

  #release(): boolean {
    this.#held = 0;
    if (!this.#disk.names().includes(RESERVE_FILE)) return false;
    this.#disk.remove(RESERVE_FILE);
    return true;
  }

  async #fill(): Promise<void> {
    this.#grown = 0;
    if (this.#bytes === 0 || this.#isClosed) return;
    let file: DiskFile | undefined;
    try {
      if (this.#sizeFound() === this.#bytes) {
        this.#held = this.#bytes;
        return;
      }
      this.#release();
      file = this.#disk.create(RESERVE_FILE);
      await this.#write(file);
    } catch {
      // There is no room for more; or this process is no owner any more, which the log notices.
    } finally {
      file?.close();
    }
  }

  #sizeFound(): number {
    if (!this.#disk.names().includes(RESERVE_FILE)) return 0;
    const file = this.#disk.open(RESERVE_FILE);
    try {
      return file.size();
    } finally {
      file.close();
    }
  }

  async #write(file: DiskFile): Promise<void> {
    try {
      await file.write(Buffer.alloc(this.#bytes), 0);
      this.#held = this.#bytes;
    } catch {
      file.truncate(0);
      const piece = Buffer.alloc(PIECE_BYTES);
      for (; this.#held < this.#bytes; this.#held += piece.length) {
        await file.write(piece, this.#held);
      }
    }
  }
}

/** Whether the mutation was refused because the disk is full, or because one before it was. */
export function isFull(error: unknown): boolean {
  return hasCode(error, 'STORE_FULL') || hasCode((error as Error | undefined)?.cause, 'STORE_FULL');
}

export function full(): PercolatorError {
  const message = 'the disk of the embedded store is full; nothing was applied: make room';
  return new PercolatorError('STORE_FULL', message);
}
