/**
 * Money is a whole number of cents, with one rounding rule for every system: half a cent rounds
 * away from zero. Amounts that are rounded are never negative, so the rule in SQL is `(numerator +
 * denominator / 2) / denominator` on integers.
 */
import { assert } from '#engine';

/** The commission at a rate in hundredths of a percent. */
export function commissionOf(rate: number, quantity: number, price: number): number {
  return divideRounded(rate * quantity * price, 10_000);
}

/** The tax on a gain, at the sum of the customer's rates in hundred-thousandths. */
export function taxOf(gain: number, rates: number): number {
  return divideRounded(gain * rates, 100_000);
}

function divideRounded(numerator: number, denominator: number): number {
  assert(numerator >= 0, 'only amounts that are not negative are rounded');
  const sum = numerator + denominator / 2;
  assert(Number.isSafeInteger(sum), 'money is a safe integer');
  return Math.floor(sum / denominator);
}
