/**
 * Random numbers by address: the draw at (seed, lane, index), without the draws before it. And a
 * random order.
 *
 * A stream of random numbers must be read in order, but a loader, its clients and a checker in
 * different processes want document 734,112 alone. So each draw is a hash of its address.
 *
 * A draw is made of two words of 32 bits. The high one is the exclusive-or of two different
 * permutations of the index: one permutation would draw *without* replacement, which would make too
 * few duplicates among a thousand million documents. The low one is a hash of the high one and the
 * index.
 */
import type { Random } from '#engine';

/** A number in [0, 1), with 53 random bits, decided by the three numbers alone. */
export function fractionAt(seed: number, lane: number, index: number): number {
  const start = mix(seed ^ mix(lane + 1));
  const high = mix(index ^ start) ^ mix(index + mix(start));
  const low = mix(high + index);
  return ((high >>> 0) * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}

/** A whole number in [0, size), each equally likely. */
export function integerAt(seed: number, lane: number, index: number, size: number): number {
  return Math.floor(fractionAt(seed, lane, index) * size);
}

/** A permutation of the 32-bit numbers with nearly no bias: Christopher Wellons's `triple32`. */
function mix(number: number): number {
  let x = number | 0;
  x = Math.imul(x ^ (x >>> 17), 0xed5ad4bb);
  x = Math.imul(x ^ (x >>> 11), 0xac4c1b51);
  x = Math.imul(x ^ (x >>> 15), 0x31848bab);
  return x ^ (x >>> 14);
}

/** The items in random order, each order equally likely (the Fisher-Yates shuffle). */
export function shuffled<T>(random: Random, items: Iterable<T>): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = random.integer(0, last);
    [order[last], order[chosen]] = [order[chosen] as T, order[last] as T];
  }
  return order;
}
