/** A part of a measurement that throws if its check fails. */
import { noNumbers } from '#results';
import type { Measuring } from './run-experiment.ts';

/**
 * Resolves with what the part measured. If it throws, and not because of an interrupt, the parts
 * before it no longer count either: the record then says why there are no numbers.
 */
export async function measureChecked<T>(
  { keep, signal }: Pick<Measuring, 'keep' | 'signal'>,
  measure: () => Promise<T>,
): Promise<T> {
  try {
    return await measure();
  } catch (error) {
    if (!signal.aborted) keep(noNumbers(error instanceof Error ? error.message : String(error)));
    throw error;
  }
}
