/**
 * How sure a result is: the assumed numbers of a calibration, each to be halved and doubled.
 *
 * Durations and shares keep their meaning: a p99 moves with its median and is never below it, a
 * share stays at most 1, whole numbers stay whole, and all stay within their limits
 * (calibration.ts).
 */
import {
  type Calibration,
  type CalibrationEntry,
  type NumberLimits,
  LIMITS,
} from './calibration.ts';
import { isEntry, type LoadedCalibration, type Tree, valuesOf } from './load.ts';

/** A number of the calibration, and by what it is multiplied. */
export interface VariedNumber {
  readonly place: string;
  readonly factor: number;
}

/** Half and twice of each assumed number whose place passes. */
export function halvedAndDoubled(
  loaded: LoadedCalibration,
  passes: (place: string) => boolean,
): readonly VariedNumber[] {
  return assumedPlaces(loaded)
    .filter(passes)
    .flatMap((place) => [0.5, 2].map((factor) => ({ place, factor })));
}

/**
 * The places of all assumed numbers that are not 0, such as `oracle.perCallUs`. A p99 is left out
 * if its median is assumed too.
 */
export function assumedPlaces({ entries }: LoadedCalibration): readonly string[] {
  return placesIn(entries as unknown as Tree<CalibrationEntry>, '').filter(
    (place) => !(place.endsWith('.p99Us') && isAssumed(entries, place.replace('p99', 'median'))),
  );
}

function placesIn(tree: Tree<CalibrationEntry>, prefix: string): readonly string[] {
  return Object.entries(tree).flatMap(([key, node]) => {
    const place = `${prefix}${key}`;
    if (!isEntry(node)) return placesIn(node, `${place}.`);
    return node.assumed === true && node.value !== 0 ? [place] : [];
  });
}

function isAssumed(entries: LoadedCalibration['entries'], place: string): boolean {
  return (at(entries, place) as CalibrationEntry).assumed === true;
}

export function varied(
  { entries }: LoadedCalibration,
  { place, factor }: VariedNumber,
): Calibration {
  const values = structuredClone(valuesOf(entries as unknown as Tree<CalibrationEntry>));
  multiply(values, place, factor);
  if (place.endsWith('.p99Us')) keepAboveMedian(at(values, place.replace('.p99Us', '')));
  if (place.endsWith('.medianUs')) multiply(values, place.replace('median', 'p99'), factor);
  return values as unknown as Calibration;
}

function keepAboveMedian(duration: unknown): void {
  const values = duration as Record<'medianUs' | 'p99Us', number>;
  values.p99Us = Math.max(values.p99Us, values.medianUs);
}

function multiply(values: Tree<number>, place: string, factor: number): void {
  const keys = place.split('.');
  const last = keys.pop() ?? '';
  const parent = at(values, keys.join('.')) as Record<string, number>;
  const { min, max, isWhole } = at(LIMITS, place) as NumberLimits;
  const product = (parent[last] ?? Number.NaN) * factor;
  const value = isWhole === true ? Math.round(product) : product;
  parent[last] = Math.min(max, Math.max(min, value));
}

function at(tree: object, place: string): unknown {
  return place
    .split('.')
    .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], tree);
}
