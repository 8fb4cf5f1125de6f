/**
 * Values that name the transaction that wrote them. A number alone would repeat, and a stale read
 * of an equal value would look right; with the writer's start timestamp no two values of one cell
 * are equal.
 */
import type { Work } from './workload.ts';

/** `998 @1234`: the number 998, written by the transaction of 1234. */
export function signed(number: number, work: Work): string {
  return `${number} @${work.startTimestamp}`;
}

/** The number of a signed value; 0 if there is no value. */
export function numberOf(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number.parseInt(Buffer.from(value).toString(), 10);
}
