/**
 * Prices as a triangle wave: up from $20 to $30 in half a period, down in the other half.
 * Securities start at different places of the wave. Prices are never stored, so the loader, the
 * driver and the exchange agree without communication.
 *
 *     $30      /\      /\
 *             /  \    /  \         phase(security, time) =
 *     $20 ___/    \__/    \__         (time + offset of the security) modulo the period
 */
import { assert } from '#engine';
import type { Market } from '../model/index.ts';

const LOW_CENTS = 2_000;
const HIGH_CENTS = 3_000;

export function createMarket(pricePeriodMs: number): Market {
  const half = pricePeriodMs / 2;
  const phase = (securityIndex: number, timeMs: number): number =>
    (timeMs + offsetMs(securityIndex)) % pricePeriodMs;
  /** Milliseconds from the bottom up to a price. */
  const msUpTo = (price: number): number => ((price - LOW_CENTS) * half) / (HIGH_CENTS - LOW_CENTS);
  const price = (securityIndex: number, timeMs: number): number => {
    const at = phase(securityIndex, timeMs);
    const up = at <= half ? at : pricePeriodMs - at;
    return LOW_CENTS + Math.floor((up * (HIGH_CENTS - LOW_CENTS)) / half);
  };
  return {
    pricePeriodMs,
    price,
    reaches: (securityIndex, { direction, price: limit }, fromMs) => {
      assert(limit >= LOW_CENTS, 'the limit is within the range of the wave');
      assert(limit <= HIGH_CENTS, 'the limit is within the range of the wave');
      const has = (timeMs: number): boolean => {
        const now = price(securityIndex, timeMs);
        return direction === 'at most' ? now <= limit : now >= limit;
      };
      if (has(fromMs)) return fromMs;
      const crossing =
        direction === 'at least'
          ? msUpTo(limit) // Going up, prices are rounded down: reached at this very moment.
          : pricePeriodMs - msUpTo(limit + 1); // Going down: when the next higher price is left.
      const awayMs = (crossing - phase(securityIndex, fromMs) + pricePeriodMs) % pricePeriodMs;
      const moment =
        fromMs + (direction === 'at least' ? Math.ceil(awayMs) : Math.floor(awayMs) + 1);
      assert(has(moment), 'the wave passes every price between its turning points');
      return moment;
    },
  };
}

/** The constants are those of EGen, the generator of the specification. */
function offsetMs(securityIndex: number): number {
  return securityIndex * 556_237 + 253_791;
}
