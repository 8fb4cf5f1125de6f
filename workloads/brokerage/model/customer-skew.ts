/**
 * Which customer acts, both in the initial trades and at run time. Load units of 1,000 customers
 * are equally likely. Within a unit, the busiest customer is 5.6 times as likely as the least busy
 * one, and the likelihood rises in one straight line per tier; there are no hot customers.
 *
 *     w uniform in (0, 2000]    rank (0 to 999)                  tier    activity
 *     w ≤  200                  ⌈√(22500 + 500 w) − 151⌉          1       10 %
 *     w ≤ 1400                  ⌈√(290000 + 1000 w) − 501⌉        2       60 %
 *     else                      ⌈149 + √(500 w − 277500)⌉         3       30 %
 *
 * A permutation spreads the ranks over the unit, so that neighbours have nothing in common. All
 * constants are those of EGen, the generator of the specification.
 */
import type { Random } from '#engine';

const UNIT = 1_000;
const FACTOR = 677;
/** FACTOR · INVERSE is 1 modulo the unit. */
const INVERSE = 613;
const SHIFT = 33;

/** Returns the index of a customer; in a last unit that is not full, only existing customers. */
export function drawCustomer(random: Random, customers: number): number {
  for (;;) {
    const unit = random.integer(0, Math.ceil(customers / UNIT) - 1);
    const index = unit * UNIT + ((FACTOR * drawRank(random) + SHIFT * (unit + 1)) % UNIT);
    if (index < customers) return index;
  }
}

/** Returns 1, 2 or 3: the 200 lowest ranks of each unit, the next 600, and the others. */
export function tierOf(customerIndex: number): 1 | 2 | 3 {
  const rank = rankOf(customerIndex);
  if (rank < 200) return 1;
  return rank < 800 ? 2 : 3;
}

/**
 * Returns how likely the customer is, relative to the mean of 1: from 0.30 to 1.70 along the ranks.
 */
export function activityOf(customerIndex: number): number {
  const rank = rankOf(customerIndex);
  if (rank < 200) return (rank + 150.5) / 500;
  return rank < 800 ? (rank + 500.5) / 1_000 : (rank - 149.5) / 500;
}

/**
 * Returns the rank within the unit, from 0 for the least busy customer. The ranks of a unit are a
 * permutation of its customers.
 */
export function rankOf(customerIndex: number): number {
  const unit = Math.floor(customerIndex / UNIT);
  const shifted = (customerIndex - unit * UNIT - SHIFT * (unit + 1)) % UNIT;
  return (((shifted * INVERSE) % UNIT) + UNIT) % UNIT;
}

function drawRank(random: Random): number {
  const w = 2_000 * (1 - random.fraction());
  if (w <= 200) return Math.ceil(Math.sqrt(22_500 + 500 * w) - 151);
  if (w <= 1_400) return Math.ceil(Math.sqrt(290_000 + 1_000 * w) - 501);
  return Math.ceil(149 + Math.sqrt(500 * w - 277_500));
}
