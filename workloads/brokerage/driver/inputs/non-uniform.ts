/**
 * The benchmark's non-uniform draw, which prefers some ids and times: OR-ing two uniform numbers
 * sets bits more often than not.
 *
 *     ((uniform(min, max) OR uniform(0, bits) << shift) modulo the range) + min
 */
import type { Random } from '#engine';

export interface NonUniform {
  /** Greatest value of the second number. */
  readonly bits: number;
  readonly shift: number;
}

/** For trade ids. */
export const IDS: NonUniform = { bits: 65_535, shift: 7 };
/** For moments, in milliseconds of trading time. */
export const TIMES: NonUniform = { bits: 4_095, shift: 16 };

/** For weeks. */
export const WEEKS: NonUniform = { bits: 255, shift: 0 };

/** A whole number from `min` to `max`, both included. */
export function drawNonUniform(
  random: Random,
  { min, max }: { readonly min: number; readonly max: number },
  { bits, shift }: NonUniform,
): number {
  const uniform = BigInt(random.integer(min, max));
  const more = BigInt(random.integer(0, bits)) << BigInt(shift);
  return Number((uniform | more) % BigInt(max - min + 1)) + min;
}
