/**
 * Figure 8 with each assumed number of the calibration halved and doubled. A ratio needs no long
 * run: the server is busy all the time, and even a short run has thousands of operations.
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
  /** What is wrong with any of its cases; empty if nothing is. */
  readonly wrong: readonly string[];
}

/** What a tablet server's limit depends on; oracle and clients have time to spare at our costs. */
const PLACES = /^(storage|cluster\.tabletServerCores|log|network)\b/;
/**
 * What differs in the plan of a variation. At twice the costs, or with half of the cores, a write
 * with 1,024 callers takes 0.32 s. The first ones take less, and those after them begin in the
 * middle of such a round, so the warm-up is longer than two rounds.
 */
const SMALL = { rows: 4_000, warmUp: 0.8, seconds: 0.6 };
/** A ratio that changes by less is the same. Another seed changes it by a tenth of that. */
export const SAME = 0.005;

/**
 * First the ratios as they are, with which all others are compared; then of the variations those
 * that change a ratio, and those with which something is wrong.
 */
export async function varyFigure8(
  loaded: LoadedCalibration,
  plan: Figure8Plan,
  given: {
    /** Default: all assumed ones that match `PLACES`. */
    readonly places?: readonly string[];
    readonly signal: AbortSignal;
    /** Called before each variation, with the number of those before it, and of all. */
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<readonly Variation[]> {
  const { signal, onVariation } = given;
  const { places = assumedPlaces(loaded).filter((place) => PLACES.test(place)) } = given;
  const variations = places.flatMap((place) => [0.5, 2].map((factor) => ({ place, factor })));
  const measure = async (calibration: Calibration): Promise<Ratios> => {
    const cases: MeasuredCase[] = [];
    for (const name of CASES) {
      cases.push(await measureCase({ ...plan, ...SMALL, calibration }, name));
    }
    return ratiosOf(cases);
  };
  const base = await measure(loaded.calibration);
  const told: Variation[] = [{ place: '(as it is)', factor: 1, ...base }];
  for (const [done, { place, factor }] of variations.entries()) {
    signal.throwIfAborted();
    onVariation(done, variations.length);
    const ratios = await measure(varied(loaded, place, factor));
    const isSame = (of: 'read' | 'write'): boolean => Math.abs(ratios[of] / base[of] - 1) < SAME;
    if (isSame('read') && isSame('write') && ratios.wrong.length === 0) continue;
    told.push({ place, factor, ...ratios });
  }
  return told;
}

type Ratios = Pick<Variation, 'read' | 'write' | 'wrong'>;

function ratiosOf(cases: readonly MeasuredCase[]): Ratios {
  const rate = (name: string): number =>
    cases.find((one) => one.name === name)?.perSecond ?? Number.NaN;
  return {
    read: rate(NAMES.read) / rate(NAMES.rawRead),
    write: rate(NAMES.write) / rate(NAMES.rawWrite),
    wrong: cases.flatMap(({ name, wrong }) => wrong.map((one) => `${name}: ${one}`)),
  };
}
