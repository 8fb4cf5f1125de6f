/** Draws from a `Duration`: log-normal, from its median and its 99th percentile. */
import { probit } from 'simple-statistics';
import type { Duration } from './calibration.ts';

const NORMAL_99 = probit(0.99);

/** @param uniform a random number from 0 to 1; the same one gives the same duration */
export function drawUs({ medianUs, p99Us }: Duration, uniform: number): number {
  if (p99Us === medianUs) return medianUs;
  const sigma = Math.log(p99Us / medianUs) / NORMAL_99;
  // This probit treats exactly 0 and 1 as 0.0001 and 0.9999, which are less extreme than the
  // numbers next to 0 and 1.
  return medianUs * Math.exp(sigma * probit(Math.min(Math.max(uniform, 1e-12), 1 - 1e-12)));
}
