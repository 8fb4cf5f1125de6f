/**
 * The records between map and reduce: their layout in memory, which is also that of spill files.
 *
 *     ┌──────┬────────────┬──────────────┬─────┬───────┬─────────┐
 *     │ hash │ key length │ value length │ key │ value │ padding │     padded to whole 4-byte words
 *     └──────┴────────────┴──────────────┴─────┴───────┴─────────┘
 *
 * The lengths let a reducer step from record to record without looking for separators, and the
 * hash, computed once by the mapper, lets it group without hashing the key again. Words are in the
 * byte order of the machine, which a spill file never leaves. Positions are counted in words.
 */
import { assert } from '#engine/base';
import { copyBytes, type Slice } from './bytes.ts';

const WORD_BYTES = 4;
const HEADER_WORDS = 3;

/**
 * A buffer whose records are grouped may hold this much: the tables of a grouping hold positions as
 * signed 32-bit numbers.
 */
export const GROUPED_BYTES_MAX: number = 2 ** 31 * WORD_BYTES;

export class RecordBuffer {
  /** The same memory as `words`. */
  bytes: Buffer;
  words: Int32Array;
  /** Words in use; every record lies before it. */
  wordCount = 0;
  recordCount = 0;

  constructor(capacityBytes: number) {
    const memory = new ArrayBuffer(roundUp(capacityBytes) * WORD_BYTES);
    this.bytes = Buffer.from(memory);
    this.words = new Int32Array(memory);
  }

  get byteLength(): number {
    return this.wordCount * WORD_BYTES;
  }

  fits(key: Slice, value: Slice): boolean {
    return this.wordCount + recordWords(key.length + value.length) <= this.words.length;
  }

  /** Appends a record; the caller has made sure that it fits. */
  append(hash: number, key: Slice, value: Slice): void {
    const at = this.wordCount;
    const keyLength = key.end - key.start;
    const valueLength = value.end - value.start;
    const keyStart = this.keyStart(at);
    this.words[at] = hash;
    this.words[at + 1] = keyLength;
    this.words[at + 2] = valueLength;
    copyBytes(key, this.bytes, keyStart);
    copyBytes(value, this.bytes, keyStart + keyLength);
    this.wordCount = at + recordWords(keyLength + valueLength);
    this.recordCount++;
  }

  /** Copies the record at `at` of another buffer to the end of this one, if it fits. */
  appendFrom(other: RecordBuffer, at: number): boolean {
    const end = other.after(at);
    if (this.wordCount + end - at > this.words.length) return false;
    this.words.set(other.words.subarray(at, end), this.wordCount);
    this.wordCount += end - at;
    this.recordCount++;
    return true;
  }

  clear(): void {
    this.wordCount = 0;
    this.recordCount = 0;
  }

  hashAt(at: number): number {
    return this.words[at] as number;
  }

  /** The byte at which the key of the record at `at` begins. */
  keyStart(at: number): number {
    return (at + HEADER_WORDS) * WORD_BYTES;
  }

  /** Points `key` at the key of the record at `at`. */
  keyAt(at: number, key: Slice): void {
    const start = this.keyStart(at);
    key.point(this.bytes, start, start + (this.words[at + 1] as number));
  }

  /** Points `value` at the value of the record at `at`. */
  valueAt(at: number, value: Slice): void {
    const start = this.keyStart(at) + (this.words[at + 1] as number);
    value.point(this.bytes, start, start + (this.words[at + 2] as number));
  }

  /** The position after the record at `at`. */
  after(at: number): number {
    const keyLength = this.words[at + 1] as number;
    const valueLength = this.words[at + 2] as number;
    return at + recordWords(keyLength + valueLength);
  }

  /** Whether the record at `at` lies wholly before `wordCount`: a block of a run may cut one. */
  isWhole(at: number): boolean {
    return at + HEADER_WORDS <= this.wordCount && this.after(at) <= this.wordCount;
  }

  /** Size of the record at `at`, in bytes. */
  byteLengthAt(at: number): number {
    return (this.after(at) - at) * WORD_BYTES;
  }

  /** Drops the words before `at` and moves the rest to the front; leaves `recordCount` wrong. */
  dropBefore(at: number): void {
    this.words.copyWithin(0, at, this.wordCount);
    this.wordCount = Math.max(0, this.wordCount - at);
  }

  /** Reserves `bytes` at the end for the caller to read `records` into; returns their position. */
  reserve(bytes: number, records: number): number {
    assert(bytes % WORD_BYTES === 0, 'a file of records is read in whole words');
    const at = this.byteLength;
    assert(at + bytes <= this.bytes.length, 'what is reserved fits the buffer');
    this.wordCount += bytes / WORD_BYTES;
    this.recordCount += records;
    return at;
  }

  /** Makes room for at least this many bytes in all, and keeps the records. */
  grow(capacityBytes: number): void {
    assert(capacityBytes >= this.byteLength, 'a buffer grows, it does not shrink');
    const larger = new RecordBuffer(capacityBytes);
    larger.words.set(this.words.subarray(0, this.wordCount));
    this.bytes = larger.bytes;
    this.words = larger.words;
  }
}

/** Size of a record with this key and value, in bytes. */
export function recordBytes(key: Slice, value: Slice): number {
  return recordWords(key.length + value.length) * WORD_BYTES;
}

function recordWords(payloadBytes: number): number {
  return HEADER_WORDS + roundUp(payloadBytes);
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / WORD_BYTES);
}
