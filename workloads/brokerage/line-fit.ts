/**
 * A straight line through points, how well it fits, and the band that contains the true line.
 *
 *     y = a + b x        least squares
 *     R²                 share of the variance of y that the line explains
 *     band at x          ŷ ± t · s · √(1/n + (x − x̄)² / Sxx), with s² = Σ(y − ŷ)² / (n − 2),
 *                        Sxx = Σ(x − x̄)²
 *
 * The band contains the mean of y at x with 95 % confidence; t is Student's, with n − 2 degrees of
 * freedom (the mean confidence limits of statistics packages; JMP, "Statistical Details for the Fit
 * Line Option").
 */
import { linearRegression, linearRegressionLine, mean, rSquared } from 'simple-statistics';
import { studentT } from '../harness/statistics/ratio.ts';

export interface XY {
  readonly x: number;
  readonly y: number;
}

export interface LineFit {
  readonly intercept: number;
  readonly slope: number;
  /** Half the width of the interval that holds the true slope with 95 % confidence. */
  readonly slopeError: number;
  readonly rSquared: number;
  readonly at: (x: number) => BandPoint;
}

export interface BandPoint {
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns null for fewer than three different values of x: then nothing can be said about the
 * error.
 */
export function fitLine(points: readonly XY[]): LineFit | null {
  if (new Set(points.map(({ x }) => x)).size < 3) return null;
  const pairs = points.map(({ x, y }) => [x, y]);
  const { m: slope, b: intercept } = linearRegression(pairs);
  const line = linearRegressionLine({ m: slope, b: intercept });
  const middle = mean(points.map(({ x }) => x));
  const sxx = points.reduce((sum, { x }) => sum + (x - middle) ** 2, 0);
  const residual = points.reduce((sum, { x, y }) => sum + (y - line(x)) ** 2, 0);
  const freedom = points.length - 2;
  const off = studentT(freedom) * Math.sqrt(residual / freedom);
  return {
    intercept,
    slope,
    slopeError: off / Math.sqrt(sxx),
    rSquared: rSquared(pairs, line),
    at: (x) => {
      const half = off * Math.sqrt(1 / points.length + (x - middle) ** 2 / sxx);
      return { y: line(x), low: line(x) - half, high: line(x) + half };
    },
  };
}
