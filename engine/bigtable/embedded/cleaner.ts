/**
 * Gives disk space back: what is still needed of the oldest file is written again at the end of the
 * log, and then the file is removed.
 *
 *     oldest file   group │ group │ group      each record: does the index, or its page, name it?
 *                     │ yes: the page is rewritten with the gathering group      │ no: skip it
 *                     ▼
 *     newest file   ... │ group
 *
 * It works in small steps, before a group is written, and only while the log is several times as
 * large as what it holds, or has too many files (log.ts); each byte of a group pays for a few
 * bytes of cleaning. Bytes that the cleaner wrote itself do not count: otherwise, in a file that is
 * needed as a whole, each step would be four times as large as the one before it. So there is no
 * pause, and a log that does not grow is left alone.
 *
 * It always cleans the oldest file, never the emptiest one. So the record that a page is gone can
 * go with its file, because no older record of that page is left; and the log alone, read from its
 * oldest file on, gives the whole store.
 */
import {
  damaged,
  GROUP_BYTES,
  GroupReader,
  type LogRecord,
  nameOfLog,
  recordsOf,
} from './record.ts';
import { rowKeyOf } from './keys.ts';
import { cellAt, placeAt, seekCell, withCell } from './page.ts';
import type { PendingPage, PendingRow } from './pending-row.ts';
import type { Stored } from './row-pages.ts';

/** The log may be larger than what it holds by this factor, and by an addition (log.ts). */
const SIZE_FACTOR = 3;
/**
 * Bytes that are read for each byte that was written. Larger: more work at once. Smaller: the log
 * outgrows its limit before the work is done.
 */
const READ_PER_WRITTEN = 4;
const READ_BYTES_MIN = 4_096;

/** What a cleaner needs of the store, to move pages to the end of its log. */
interface CleanedStore extends Stored {
  pendingRow: (key: Buffer) => PendingRow;
  rewrite: (page: PendingPage, row: PendingRow) => boolean;
}

export class Cleaner {
  readonly #store: CleanedStore;
  /** The oldest file that has not been cleaned; `log.oldest` until the first file is done. */
  #file: number;
  /** What is left to do; yields the bytes that it has read. Undefined between two files. */
  #work: Generator<number> | undefined;
  /** `log.written` at the last call of `clean`. */
  #written: number;
  /** Bytes that the last step has added to its group. */
  #rewritten = 0;
  /** The damage that was found. */
  #error: Error | undefined;

  constructor(store: CleanedStore) {
    this.#store = store;
    this.#file = store.log.oldest;
    this.#written = store.log.written;
  }

  /** The oldest file that is needed once the gathering group is durable. */
  get oldest(): number {
    return this.#file;
  }

  /** Takes a step, if the log is too large. */
  clean(): void {
    const { log, index } = this.#store;
    const written = log.written - this.#written - this.#rewritten;
    this.#written = log.written;
    this.#rewritten = 0;
    const bytesMax = SIZE_FACTOR * index.footprint + log.sizes.garbageBytes;
    if (log.bytes <= bytesMax && log.files <= log.filesMax(index.footprint)) return;
    if (this.#error !== undefined) throw this.#error;
    try {
      this.#step(Math.max(READ_BYTES_MIN, READ_PER_WRITTEN * written));
    } catch (error) {
      // What is damaged must not be removed, not even later. An error with a cause is one of the
      // disk, and may pass.
      if ((error as Error).cause === undefined) this.#error = error as Error;
      throw error;
    } finally {
      log.held = undefined;
    }
  }

  /** Forgets what was rewritten, because its group failed. */
  restart(): void {
    this.#file = this.#store.log.oldest;
    this.#work = undefined;
    this.#rewritten = 0;
  }

  #step(bytes: number): void {
    for (let read = 0; read < bytes;) {
      if (this.#file >= this.#store.log.end.file) return; // It is still being written.
      const { done, value } = (this.#work ??= this.#cleanFile()).next();
      if (done === true) this.#work = undefined;
      else read += value;
    }
  }

  *#cleanFile(): Generator<number, void> {
    const { log } = this.#store;
    const file = this.#file;
    const range = { file, from: 0, end: log.size(file) };
    const reader = new GroupReader(range, (target, offset) =>
      log.readFile(target, { file, offset }),
    );
    for (let group = reader.next(); group !== undefined; group = reader.next()) {
      yield GROUP_BYTES;
      const first = { file, offset: group.offset + GROUP_BYTES };
      for (const record of recordsOf(group.records, first)) {
        log.held = { at: first, bytes: group.records };
        this.#rewrite(record);
        yield record.place.length;
      }
    }
    if (reader.offset < log.size(file)) {
      throw damaged(nameOfLog(file), reader.offset, 'a group has the wrong checksum');
    }
    this.#file = log.after(file);
  }

  #rewrite(record: LogRecord): void {
    if (record.kind === 'page') this.#rewritePage(record);
    else this.#rewriteValue(record);
  }

  #rewritePage({ key, body, place }: LogRecord): void {
    if (body.length === 0) return;
    const entry = this.#store.index.get(key);
    if (entry?.file !== place.file || entry.offset !== place.offset) return;
    const row = this.#store.pendingRow(rowKeyOf(key));
    const page = row.pageOf(key);
    if (page !== undefined && this.#store.rewrite(page, row)) this.#rewritten += place.length;
  }

  /** Puts the value back into its page: when the page is written, the value gets a new record. */
  #rewriteValue({ key, body, place }: LogRecord): void {
    const rowKey = rowKeyOf(key);
    const cell = key.subarray(rowKey.length);
    const row = this.#store.pendingRow(rowKey);
    const page = row.pageFor(cell);
    if (page === undefined) return;
    const at = seekCell(page.page, cell);
    if (at === page.page.length) return;
    const { keyStart, keyEnd, isPlace } = cellAt(page.page, at);
    if (!isPlace || !page.page.subarray(keyStart, keyEnd).equals(cell)) return;
    const known = placeAt(page.page, keyEnd);
    if (known.file !== place.file || known.offset !== place.offset) return;
    const pageBytes = page.key.length + page.page.length;
    page.page = withCell(page.page, cell, body);
    this.#rewritten += place.length + (this.#store.rewrite(page, row) ? pageBytes : 0);
  }
}
