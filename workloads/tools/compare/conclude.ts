/** The end of a comparison: what is printed, and the exit code. */
import { UsageError } from '#harness';
import { type Comparison, countOf } from './compare-runs.ts';
import { comparisonJson, comparisonLines } from './lines.ts';

export interface Printing {
  readonly json: boolean;
  /** What to do if no metric has an interval, in words: `give more runs`. */
  readonly more: string;
}

/**
 * Prints the comparison. Sets exit code 1 if a metric is worse.
 * @throws UsageError if no metric has a verdict
 */
export function conclude(comparison: Comparison, { json, more }: Printing): void {
  const { differences } = comparison;
  const lines = json ? [comparisonJson(comparison)] : comparisonLines(comparison);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (countOf(differences, 'worse') > 0) process.exitCode = 1;
  if (countOf(differences, 'no verdict') === differences.length) {
    throw new UsageError(whyNoVerdict(comparison, more));
  }
}

function whyNoVerdict({ differences, threshold }: Comparison, more: string): string {
  const what = 'No metric has a verdict, because ';
  return differences.every(({ interval }) => interval === null)
    ? `${what}none has an interval: ${more}.`
    : `${what}no interval is within ${threshold} % or, beyond chance, outside of it: give more runs of each side, or longer ones.`;
}
