/** A number of a calibration that is made from records: where it goes, and what it is. */
import { type RunRecord, UsageError } from '#results';
import type { Entry } from './calibration.ts';

export type Change = readonly [place: string, entry: Omit<Entry, 'unit'>];

export function assumed(value: number, source: string): Omit<Entry, 'unit'> {
  return { value, source, assumed: true };
}

/** @throws UsageError if the record does not have the number */
export function must(record: RunRecord, value: number | null, what: string): number {
  if (value !== null) return value;
  throw new UsageError(
    `The record ${record.runId} lacks a number that a calibration needs: ${what}.`,
  );
}
