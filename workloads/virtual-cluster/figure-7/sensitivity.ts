/**
 * Which assumed number decides where the wall is: the capacity with each one halved and doubled.
 *
 * A few machines that are offered more than they can do stand for the cluster: what a machine does
 * depends little on how many others there are, and a hundred simulations of the whole would take
 * hours.
 */
import type { LoadedCalibration } from '../calibration/load.ts';
import { type VariedNumber, halvedAndDoubled, varied } from '../calibration/sensitivity.ts';
import { performAll } from '../simulations.ts';
import type { CrawlResult } from './crawl.ts';
import { type Figure7Plan, simulationOf } from './measure.ts';

export interface CapacityVariation extends VariedNumber {
  /** Percent of the repository per hour. */
  readonly capacity: number;
}

export interface CapacitySensitivity {
  readonly machines: number;
  /** With the numbers as they are. */
  readonly capacity: number;
  /** Those that move the capacity, the farthest first. */
  readonly variations: readonly CapacityVariation[];
  /** What is wrong with any of the simulations; empty if nothing is. */
  readonly wrong: readonly string[];
}

/** The batch is another system, nothing fails here, and the numbers of machines are given. */
const OTHERS = /^(batch|failures|cluster\.(tabletServers|workerMachines)$)/;
const MACHINES = 8;
const REPOSITORY = 200_000;
/** In percent of the repository per hour: more than any variation of our calibrations can do. */
export const OFFERED = 500;
/**
 * So much is loaded at once in the beginning that a document takes a second: the warm-up is longer
 * than that.
 */
const TIMES = { warmUp: 1.25, seconds: 1.5 };
/**
 * A capacity that changes by less counts as the same: another seed, or a number that decides
 * nothing, moves the capacity of a run by up to 9 %, and that of a longer run by as much.
 */
export const SAME = 0.1;

export async function varyFigure7(
  loaded: LoadedCalibration,
  plan: Figure7Plan,
  given: {
    /** Default: half and twice of all assumed numbers that the capacity may depend on. */
    readonly changes?: readonly VariedNumber[];
    readonly machines?: number;
    readonly signal: AbortSignal;
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<CapacitySensitivity> {
  const { signal, onVariation, machines = MACHINES } = given;
  const { changes = halvedAndDoubled(loaded, (place) => !OTHERS.test(place)) } = given;
  const small = { ...plan, ...TIMES, machines };
  const point = { rate: OFFERED, repository: REPOSITORY };
  const simulations = [
    simulationOf(small, point),
    ...changes.map((change) =>
      simulationOf({ ...small, calibration: varied(loaded, change) }, point),
    ),
  ];
  const results: CrawlResult[] = [];
  let done = 0;
  await performAll(simulations, { jobs: plan.jobs, signal }, (index, result) => {
    results[index] = result;
    onVariation(++done, simulations.length);
  });
  return { machines, ...sensitivityOf(results, changes) };
}

/** @param results the one with the numbers as they are, and then one for each of `changes` */
export function sensitivityOf(
  [asTheyAre, ...others]: readonly CrawlResult[],
  changes: readonly VariedNumber[],
): Omit<CapacitySensitivity, 'machines'> {
  const capacityIn = (result: CrawlResult | undefined): number =>
    result === undefined ? Number.NaN : capacityOf(OFFERED, result);
  const capacity = capacityIn(asTheyAre);
  const far = (one: CapacityVariation): number => Math.abs(Math.log(one.capacity / capacity));
  return {
    capacity,
    variations: changes
      .map((one, i) => ({ ...one, capacity: capacityIn(others[i]) }))
      .filter((one) => far(one) > SAME)
      .toSorted((a, b) => far(b) - far(a)),
    wrong: [
      ...(asTheyAre?.wrong ?? []),
      ...changes.flatMap(({ place, factor }, i) =>
        (others[i]?.wrong ?? []).map((one) => `with ${place} times ${factor}: ${one}`),
      ),
    ],
  };
}

/**
 * What a cluster completed while `rate` was offered; both in percent of the repository per hour.
 */
export function capacityOf(rate: number, { completedPerSecond, perSecond }: CrawlResult): number {
  return (rate * completedPerSecond) / perSecond;
}
