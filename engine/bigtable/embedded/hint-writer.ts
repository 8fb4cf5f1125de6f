/** Decides when the hint and the end (hint.ts) are written; the hint in the background. */
import type { Disk } from './disk.ts';
import { writeEnd, writeHint } from './hint.ts';
import type { Stored } from './row-pages.ts';

/**
 * A store that is closed writes a hint if the log has grown by more than this part of the hint's
 * size.
 */
const PART_AT_CLOSE = 1 / 8;
/** About what a key takes in a hint. */
const KEY_BYTES = 80;

interface HintedStore extends Stored {
  /** Makes durable what is visible, and returns the number of the last group. */
  readonly flush: () => Promise<number>;
}

export class HintWriter {
  readonly #disk: Disk;
  readonly #stored: HintedStore;
  /** Bytes by which the log has grown since the writing of a hint last began. */
  #grown: number;
  /**
   * Bytes by which the log had grown since the last hint that was written, when the writing of a
   * hint last began; 0 once that hint is written. If it cannot be written, only closing counts
   * these bytes: an attempt after each group would take the space that groups need.
   */
  #missed = 0;
  #writing: Promise<void> | undefined;

  constructor(disk: Disk, stored: HintedStore, grown: number) {
    this.#disk = disk;
    this.#stored = stored;
    this.#grown = grown;
  }

  /** Called when the log has grown. */
  added(bytes: number): void {
    this.#grown += bytes;
    const { hintBytes } = this.#stored.log.sizes;
    if (this.#writing !== undefined || this.#grown <= Math.max(hintBytes, this.#size())) return;
    this.#writing = this.#write();
  }

  /** Resolves when no hint is being written. */
  async idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#missed + this.#grown > this.#size() * PART_AT_CLOSE) {
      this.#writing = this.#write();
      await this.#writing;
    }
    // A hint that was written says it, too.
    if (this.#missed + this.#grown > 0) await this.#writeEnd();
  }

  async #writeEnd(): Promise<void> {
    const { log } = this.#stored;
    if (log.written === 0) return; // The one that is there says it.
    try {
      await writeEnd(this.#disk, log.hint());
    } catch {
      // For example, the disk is full: a loss of the last groups will not be noticed.
    }
  }

  async #write(): Promise<void> {
    this.#missed += this.#grown;
    this.#grown = 0;
    try {
      const { index, log, flush } = this.#stored;
      const leaves = log.sizes.hintLeaves;
      await writeHint(this.#disk, index, { header: log.hint(), leaves, flush });
      this.#missed = 0;
    } catch {
      // For example, the disk is full: the next opening reads the log from the previous hint on, or
      // all of it if there is none.
    }
    this.#writing = undefined;
  }

  #size(): number {
    return this.#stored.index.keys * KEY_BYTES;
  }
}
