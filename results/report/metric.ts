/** Short ways for an experiment to declare the columns by which two runs are compared. */
import type { ResultMetric } from './run-record.ts';

type Intervals = Pick<ResultMetric, 'intervalColumns' | 'intervals'>;

export function higherIsBetter(
  column: string,
  unit: string,
  intervals: Intervals = {},
): ResultMetric {
  return { column, unit, better: 'higher', ...intervals };
}

export function lowerIsBetter(
  column: string,
  unit: string,
  intervals: Intervals = {},
): ResultMetric {
  return { column, unit, better: 'lower', ...intervals };
}
