/**
 * Replaces timestamps by positions: the whole numbers 1, 2, ... in the order of the timestamps.
 *
 * The judge of snapshot isolation takes unique numbers as timestamps. Those of a foreign store may
 * be larger than 2^53, and may be shared: FoundationDB gives one read version to many transactions,
 * and one commit version to a batch. The order of equal timestamps is chosen so that no correct
 * history becomes a violation:
 *
 *   1. A commit comes before a start: a snapshot contains what is committed at its timestamp.
 *   2. Of two starts, that of the transaction that began first comes first, to respect real time.
 */
import type { RawTimestamp } from './transaction.ts';

export interface Positions {
  /** The position of the start of each transaction. */
  readonly starts: Float64Array;
  /** The position of its commit; 0 if it has no commit timestamp. */
  readonly commits: Float64Array;
  /** The largest position. */
  readonly last: number;
}

/** @param begins real times, which may be missing */
export function positionsOf(
  starts: readonly RawTimestamp[],
  commits: readonly (RawTimestamp | undefined)[],
  begins: (index: number) => number | undefined,
): Positions {
  const count = starts.length;
  // Event i is the commit of transaction i, and event count + i is its start.
  const times = asNumbers([...commits, ...starts]);
  const events = new Uint32Array(2 * count).map((_, event) => event);
  const order = events.filter((event) => event >= count || commits[event] !== undefined);
  const beginOf = (event: number): number =>
    event < count ? -Infinity : (begins(event - count) ?? 0);
  order.sort((a, b) => {
    const earlier = (times[a] ?? 0) - (times[b] ?? 0);
    if (earlier !== 0) return earlier;
    const [one, other] = [beginOf(a), beginOf(b)];
    return one < other ? -1 : Number(one > other);
  });
  const positions = new Float64Array(2 * count);
  order.forEach((event, i) => (positions[event] = i + 1));
  return {
    commits: positions.subarray(0, count),
    starts: positions.subarray(count),
    last: order.length,
  };
}

/**
 * Numbers in the same order: the distance from the smallest timestamp or, if that is too large for
 * a double, the rank.
 */
function asNumbers(timestamps: readonly (RawTimestamp | undefined)[]): Float64Array {
  let smallest: RawTimestamp = Infinity;
  let largest: RawTimestamp = 0;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (timestamp < smallest) smallest = timestamp;
    if (timestamp > largest) largest = timestamp;
  }
  if (largest <= Number.MAX_SAFE_INTEGER) return Float64Array.from(timestamps, Number);
  const base = BigInt(smallest);
  if (BigInt(largest) - base <= Number.MAX_SAFE_INTEGER) {
    return Float64Array.from(timestamps, (one = base) => Number(BigInt(one) - base));
  }
  const distinct = [...new Set(timestamps.filter((one) => one !== undefined))];
  distinct.sort((a, b) => (a < b ? -1 : 1));
  const ranks = new Map(distinct.map((timestamp, rank) => [timestamp, rank]));
  return Float64Array.from(timestamps, (one) => (one === undefined ? 0 : (ranks.get(one) ?? 0)));
}
