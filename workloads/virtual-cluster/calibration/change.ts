/** A number of a calibration that is made from records: where it goes, and what it is. */
import type { Entry } from './calibration.ts';

export type Change = readonly [place: string, entry: Omit<Entry, 'unit'>];

export function assumed(value: number, source: string): Omit<Entry, 'unit'> {
  return { value, source, assumed: true };
}
