/**
 * Timestamps as Bigtable wants them: microseconds in steps of a thousand.
 *
 * Bigtable keeps milliseconds and refuses every other microsecond, in cells, ranges and filters alike. So
 * the oracle's timestamp `t` is the cell timestamp `1000 t` (P38). That is beyond what a number holds
 * exactly for the largest, so those travel as decimal text.
 */
import type { Timestamp } from '../bigtable.ts';

/** 1000 times this is still an exact number. */
const EXACT_MAX = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** Long's halves: 2^53 microseconds and more have this or more in the upper one. */
const EXACT_HIGH_MAX = 2 ** 21;
const HIGH = 2 ** 32;

/** An int64 as protobufjs decodes it. */
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
