/** Small random draws that all inputs are built from. */
import type { Random } from '#engine';

/** Returns true with a probability of `percent` %. */
export function isPercent(random: Random, percent: number): boolean {
  return 100 * random.fraction() < percent;
}

/** Returns one of the keys; the probability of each is its share of the sum. */
export function pickByShare<K extends string>(
  random: Random,
  shares: Readonly<Record<K, number>>,
): K {
  const keys = Object.keys(shares) as K[];
  const sum = keys.reduce((all, key) => all + shares[key], 0);
  let left = sum * random.fraction();
  for (const key of keys) {
    left -= shares[key];
    if (left < 0) return key;
  }
  return keys.at(-1) as K;
}

/**
 * Returns `count` different whole numbers from 0 to `below` - 1, or all of them, in random order.
 */
export function pickDistinct(random: Random, count: number, below: number): readonly number[] {
  const left = Array.from({ length: below }, (_, i) => i);
  const take = (): number => left.splice(random.integer(0, left.length - 1), 1)[0] as number;
  return Array.from({ length: Math.min(count, below) }, take);
}
