/**
 * Results derived from the points: the batch's model T = F + V·size, and the capacity of each
 * system.
 */
import { linearRegression, max, median, min, sum } from 'simple-statistics';
import type { Capacity, MapreduceModel } from '#results';
import type { MapReducePoint } from './batch/point.ts';
import type { PercolatorPoint } from './percolator/point.ts';
import type { Plan } from './plan.ts';

export interface MeasuredPoints {
  /** By rate, one entry for each repeat. */
  readonly percolator: Map<number, PercolatorPoint[]>;
  readonly mapreduce: Map<number, MapReducePoint[]>;
}

/** Sizes must differ by this share of the repository for a meaningful line through them. */
const SPREAD_MIN = 0.02;

/**
 * Least squares over the runs of all points that passed their check, with costs of at least 0. Null
 * for fewer than five runs, for runs of about the same size, and if larger runs took no longer.
 */
export function fitBatchModel(
  plan: Pick<Plan, 'repository'>,
  { mapreduce }: MeasuredPoints,
): MapreduceModel | null {
  const cycles = checked(mapreduce).flatMap((point) => point.cycles);
  const points = cycles.map(({ documents, seconds }) => [documents / plan.repository, seconds]);
  const sizes = points.map(([size = 0]) => size);
  if (points.length < 5 || max(sizes) - min(sizes) < SPREAD_MIN) return null;
  const { m, b } = linearRegression(points);
  if (m <= 0) return null;
  if (b >= 0) return { fixedSeconds: b, perRepositorySeconds: m };
  // The sizes differ by so little that chance can put the start of the line below 0.
  const products = sum(points.map(([size = 0, seconds = 0]) => size * seconds));
  return { fixedSeconds: 0, perRepositorySeconds: products / sum(sizes.map((size) => size ** 2)) };
}

/**
 * For Percolator, the highest completion rate of a point that passed its check; for the batch, the
 * median rate of the runs of such points.
 */
export function capacityOf({ percolator, mapreduce }: MeasuredPoints): Capacity {
  const completed = checked(percolator).map(({ completedPerSecond }) => completedPerSecond);
  const rates = checked(mapreduce)
    .flatMap(({ cycles }) => cycles)
    .map(({ documents, seconds }) => documents / seconds);
  const ours = completed.length === 0 ? null : Math.max(...completed);
  const batch = rates.length === 0 ? null : median(rates);
  const costRatio = ours !== null && ours > 0 && batch !== null ? batch / ours : null;
  return {
    percolatorDocumentsPerSecond: ours,
    mapreduceDocumentsPerSecond: batch,
    costRatio,
  };
}

/** The points whose result was right, of all rates and repeats. */
function checked<T extends { readonly check: { readonly passed: boolean } }>(
  points: ReadonlyMap<number, readonly T[]>,
): readonly T[] {
  return [...points.values()].flat().filter(({ check }) => check.passed);
}
