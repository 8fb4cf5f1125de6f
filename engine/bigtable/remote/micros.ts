/**
 * Converts timestamps to Bigtable's: microseconds in steps of a thousand.
 *
 * Bigtable keeps whole milliseconds and refuses any microsecond between them, in cells, ranges and
 * filters alike. So the oracle's timestamp `t` is the cell timestamp `1000 t` (P38). For the
 * largest timestamps, a number cannot hold that exactly, so those travel as decimal text.
 */
import type { Timestamp } from '../bigtable.ts';

/** The largest timestamp for which 1000 times it is an exact number. */
const EXACT_MAX = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** From 2^53 microseconds on, the upper half of a Long is at least this. */
const EXACT_HIGH_MAX = 2 ** 21;
const HIGH = 2 ** 32;

/** An int64 as decoded by protobufjs. */
export interface Long {
  readonly high: number;
  readonly low: number;
}

export function toMicros(timestamp: Timestamp): number | string {
  return timestamp <= EXACT_MAX ? timestamp * 1000 : `${timestamp}000`;
}

export function fromMicros(micros: Long | number | string): Timestamp {
  if (typeof micros === 'number') return Math.floor(micros / 1000);
  if (typeof micros === 'string') return Number(BigInt(micros) / 1000n);
  const { high, low } = micros;
  if (high >= 0 && high < EXACT_HIGH_MAX) return Math.floor((high * HIGH + (low >>> 0)) / 1000);
  return Number(((BigInt(high) << 32n) | BigInt(low >>> 0)) / 1000n);
}
