/**
 * Figure 8 with each assumed number of the calibration halved and doubled. A ratio needs no long
 * run: the server is busy all the time, and even a short run has thousands of operations.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { type VariedNumber, halvedAndDoubled, varied } from '../calibration/sensitivity.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { CASES, type Figure8Plan, measureCase, type MeasuredCase } from './measure.ts';

export interface Variation extends VariedNumber {
  /** Percolator over raw. */
  readonly read: number;
  readonly write: number;
  /** What is wrong with any of its cases; empty if nothing is. */
  readonly wrong: readonly string[];
}

/** What a tablet server's limit depends on; oracle and clients have time to spare at our costs. */
const PLACES = /^(storage|cluster\.tabletServerCores|log|network)\b/;
/**
 * Rows, and times with 1,024 callers, of a variation. At twice the costs, or with half of the
 * cores, a write then takes 0.32 s, and less in proportion with fewer callers. The first writes
 * take less, and the second ones begin in the middle of a round of writes, so the warm-up is longer
 * than two rounds.
 */
const SMALL = { rows: 4_000, warmUp: 0.8, seconds: 0.6, callers: 1_024 };
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
    /** Default: half and twice of all assumed numbers that match `PLACES`. */
    readonly changes?: readonly VariedNumber[];
    readonly signal: AbortSignal;
    /** Called before each variation, with the number of those before it, and of all. */
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<readonly Variation[]> {
  const { signal, onVariation } = given;
  const { changes = halvedAndDoubled(loaded, (place) => PLACES.test(place)) } = given;
  const measure = async (calibration: Calibration): Promise<Ratios> => {
    const cases: MeasuredCase[] = [];
    for (const name of CASES) {
      cases.push(await measureCase({ ...small(plan), calibration }, name));
    }
    return ratiosOf(cases);
  };
  const base = await measure(loaded.calibration);
  const told: Variation[] = [{ place: '(as it is)', factor: 1, ...base }];
  for (const [done, change] of changes.entries()) {
    signal.throwIfAborted();
    onVariation(done, changes.length);
    const ratios = await measure(varied(loaded, change));
    const isSame = (of: 'read' | 'write'): boolean => Math.abs(ratios[of] / base[of] - 1) < SAME;
    if (isSame('read') && isSame('write') && ratios.wrong.length === 0) continue;
    told.push({ ...change, ...ratios });
  }
  return told;
}

function small(plan: Figure8Plan): Figure8Plan {
  const share = (plan.clients * plan.callersPerClient) / SMALL.callers;
  const { rows, warmUp, seconds } = SMALL;
  return { ...plan, rows, warmUp: warmUp * share, seconds: seconds * share };
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
