/**
 * Assembles rows from the chunks of a ReadRows answer.
 *
 *     chunk   = part of a cell, or a whole one; a row key, family or qualifier that it does not
 *               name is that of the previous chunk; `valueSize` above 0 says that the value goes on
 *     commit  = the row is complete: its chunks so far are valid
 *     reset   = the server begins the row again: discard its chunks
 *
 * Real servers leave out what repeats, split large values and reset rows; the emulator does none of
 * these. A violation of these rules is a mistake of the server or of this code, and no row is built
 * from it: a wrong row would be worse than none. Timestamps are converted here, too (`toMicros`).
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import type { Cell, Timestamp } from '../bigtable.ts';

type CellChunk = protos.google.bigtable.v2.ReadRowsResponse.ICellChunk;

export interface AssembledRow {
  readonly key: string;
  readonly cells: readonly Cell[];
}

interface AssembledColumn {
  readonly family: string;
  readonly qualifier: string;
}

/** A cell whose value is incomplete. */
interface PartialCell {
  readonly column: AssembledColumn;
  readonly timestamp: number;
  readonly parts: Uint8Array[];
}

export class RowAssembly {
  readonly #isReversed: boolean;
  readonly #rows: AssembledRow[] = [];
  /** The uncommitted row; its key as bytes, because keys are compared as bytes. */
  #key: Uint8Array | undefined;
  #cells: Cell[] = [];
  #column: AssembledColumn | undefined;
  #partial: PartialCell | undefined;
  /** Key of the last row that was committed. Rows come in order, or in its reverse. */
  #lastKey: Uint8Array | undefined;

  constructor({ isReversed = false }: { readonly isReversed?: boolean } = {}) {
    this.#isReversed = isReversed;
  }

  /** Takes the next chunks of the answer, in the order in which they come. */
  add(chunks: readonly CellChunk[]): void {
    for (const chunk of chunks) this.#add(chunk);
  }

  /** The committed rows. Call it when the answer has ended. */
  finish(): readonly AssembledRow[] {
    if (this.#key !== undefined) throw invalid('the answer ended in the middle of a row');
    return this.#rows;
  }

  #add(chunk: CellChunk): void {
    if (chunk.resetRow === true) {
      this.#reset(chunk);
      return;
    }
    if (this.#partial === undefined) this.#beginCell(chunk);
    else this.#continueCell(chunk, this.#partial);
    if (chunk.commitRow === true) this.#commit();
  }

  #beginCell(chunk: CellChunk): void {
    this.#enterRow(chunk);
    const column = this.#columnOf(chunk);
    const timestamp = fromMicros(chunk.timestampMicros ?? 0);
    const value = bytesOf(chunk.value);
    if (isSplit(chunk)) this.#partial = { column, timestamp, parts: [value] };
    else this.#cells.push({ ...column, timestamp, value });
  }

  #continueCell(chunk: CellChunk, partial: PartialCell): void {
    const { rowKey, familyName, qualifier, timestampMicros } = chunk;
    if (hasBytes(rowKey) || familyName != null || qualifier != null || !isZero(timestampMicros)) {
      throw invalid('a cell began before the value of the last one was complete');
    }
    partial.parts.push(bytesOf(chunk.value));
    if (isSplit(chunk)) return;
    const { column, timestamp, parts } = partial;
    this.#cells.push({ ...column, timestamp, value: Buffer.concat(parts) });
    this.#partial = undefined;
  }

  #enterRow({ rowKey }: CellChunk): void {
    if (this.#key === undefined) {
      if (!hasBytes(rowKey)) throw invalid('a row began without a key');
      const key = bytesOf(rowKey);
      this.#assertAfterLast(key);
      this.#key = key;
      this.#column = undefined;
      return;
    }
    if (hasBytes(rowKey) && Buffer.compare(bytesOf(rowKey), this.#key) !== 0) {
      throw invalid('a row began before the last one was complete');
    }
  }

  #assertAfterLast(key: Uint8Array): void {
    if (this.#lastKey === undefined) return;
    const order = Buffer.compare(key, this.#lastKey);
    if (this.#isReversed ? order < 0 : order > 0) return;
    const place = this.#isReversed ? 'before' : 'after';
    throw invalid(`a row came that is not ${place} the last one`);
  }

  #columnOf({ familyName, qualifier }: CellChunk): AssembledColumn {
    if (familyName == null && qualifier == null) {
      if (this.#column === undefined) throw invalid('a row began without a column');
      return this.#column;
    }
    const family = familyName?.value ?? this.#column?.family;
    if (family === undefined) throw invalid('a qualifier came without a family');
    if (qualifier == null) throw invalid('a family came without a qualifier');
    this.#column = { family, qualifier: textOf(bytesOf(qualifier.value)) };
    return this.#column;
  }

  #commit(): void {
    if (this.#partial !== undefined) throw invalid('a row ended in the middle of a value');
    const key = this.#key;
    if (key === undefined) throw invalid('a row was complete that had not begun');
    this.#rows.push({ key: textOf(key), cells: this.#cells });
    this.#lastKey = key;
    this.#forgetRow();
  }

  #reset(chunk: CellChunk): void {
    const { rowKey, familyName, qualifier, timestampMicros, value } = chunk;
    if (this.#key === undefined) throw invalid('a row was reset that had not begun');
    const isMore = familyName != null || qualifier != null || !isZero(timestampMicros);
    if (isMore || hasBytes(rowKey) || hasBytes(value) || isSplit(chunk)) {
      throw invalid('a reset came with a cell');
    }
    this.#forgetRow();
  }

  #forgetRow(): void {
    this.#key = undefined;
    this.#cells = [];
    this.#column = undefined;
    this.#partial = undefined;
  }
}

function isSplit({ valueSize }: CellChunk): boolean {
  return valueSize != null && valueSize > 0;
}

function isZero(micros: CellChunk['timestampMicros']): boolean {
  if (micros == null || typeof micros === 'number') return !micros;
  const { high, low } = micros as Long;
  return high === 0 && low === 0;
}

function hasBytes(bytes: CellChunk['rowKey']): boolean {
  return bytes != null && bytes.length > 0;
}

/** Never text here: protobufjs decodes bytes to bytes. */
function bytesOf(bytes: CellChunk['rowKey']): Uint8Array {
  return (bytes ?? EMPTY) as Uint8Array;
}

const EMPTY = new Uint8Array(0);

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

function invalid(what: string): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', `the storage's answer makes no sense: ${what}`);
}

/*
 * Converts timestamps to Bigtable's: microseconds in steps of a thousand.
 *
 * Bigtable keeps whole milliseconds and refuses any microsecond between them, in cells, ranges and
 * filters alike. So the oracle's timestamp `t` is the cell timestamp `1000 t` (P38). For the
 * largest timestamps, a number cannot hold that exactly, so those travel as decimal text.
 */

/** The largest timestamp for which 1000 times it is an exact number. */
const EXACT_MAX = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** From 2^53 microseconds on, the upper half of a Long is at least this. */
const EXACT_HIGH_MAX = 2 ** 21;
const HIGH = 2 ** 32;

/** An int64 as decoded by protobufjs. */
interface Long {
  readonly high: number;
  readonly low: number;
}

export function toMicros(timestamp: Timestamp): number | string {
  return timestamp <= EXACT_MAX ? timestamp * 1000 : `${timestamp}000`;
}

function fromMicros(micros: Long | number | string): Timestamp {
  if (typeof micros === 'number') return Math.floor(micros / 1000);
  if (typeof micros === 'string') return Number(BigInt(micros) / 1000n);
  const { high, low } = micros;
  if (high >= 0 && high < EXACT_HIGH_MAX) return Math.floor((high * HIGH + (low >>> 0)) / 1000);
  return Number(((BigInt(high) << 32n) | BigInt(low >>> 0)) / 1000n);
}
