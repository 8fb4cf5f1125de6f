/**
 * Figure 8 with each assumed number of the calibration halved and doubled. A ratio needs no long run:
 * service times are constant, and the rates of a run have thousands of operations.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { assumedPlaces, varied } from '../calibration/sensitivity.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { CASES, type Figure8Plan, measureCase, type MeasuredCase } from './measure.ts';

export interface Variation {
  readonly place: string;
  readonly factor: number;
  /** Percolator over raw. */
  readonly read: number;
  readonly write: number;
}

/** Only calls of the storage and the size of a server take part in this figure. */
const PLACES = /^(storage|cluster\.tabletServerCores|log|network)\b/;
/** Of a variation. */
const SMALL = { rows: 4_000, warmUp: 0.2, seconds: 0.4 };
/** A ratio that changes by less is the same. */
const SAME = 0.005;

/** @param onVariation called before each one, with its number and how many there are */
export async function varyFigure8(
  loaded: LoadedCalibration,
  plan: Figure8Plan,
  watching: {
    readonly signal: AbortSignal;
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<readonly Variation[]> {
  const places = assumedPlaces(loaded).filter((place) => PLACES.test(place));
  const variations = places.flatMap((place) => [0.5, 2].map((factor) => ({ place, factor })));
  const measure = async (calibration: Calibration): Promise<Ratios> => {
    const cases: MeasuredCase[] = [];
    for (const name of CASES) {
      cases.push(await measureCase({ ...plan, ...SMALL, calibration }, name));
    }
    return ratiosOf(cases);
  };
  const base = await measure(loaded.calibration);
  const changed: Variation[] = [];
  for (const [done, { place, factor }] of variations.entries()) {
    watching.signal.throwIfAborted();
    watching.onVariation(done, variations.length);
    const { read, write } = await measure(varied(loaded, place, factor));
    const isSame = (now: number, then: number): boolean => Math.abs(now / then - 1) < SAME;
    if (isSame(read, base.read) && isSame(write, base.write)) continue;
    changed.push({ place, factor, read, write });
  }
  return changed;
}

type Ratios = Pick<Variation, 'read' | 'write'>;

function ratiosOf(cases: readonly MeasuredCase[]): Ratios {
  const rate = (name: string): number =>
    cases.find((one) => one.name === name)?.perSecond ?? Number.NaN;
  return {
    read: rate(NAMES.read) / rate(NAMES.rawRead),
    write: rate(NAMES.write) / rate(NAMES.rawWrite),
  };
}
