/**
 * Which assumed number decides where the wall is: the capacity with each of them halved and doubled.
 *
 * A few machines that are offered more than they can do stand for the cluster: what a machine does
 * depends little on how many others there are, and a hundred simulations of the whole would take
 * hours.
 */
import type { LoadedCalibration } from '../calibration/load.ts';
import { assumedPlaces, varied } from '../calibration/sensitivity.ts';
import { performAll } from '../simulations.ts';
import type { CrawlResult } from './crawl.ts';
import { type Figure7Plan, simulationOf } from './measure.ts';

export interface CapacityVariation {
  readonly place: string;
  readonly factor: number;
  /** Percent of the repository per hour. */
  readonly capacity: number;
}

export interface CapacitySensitivity {
  readonly machines: number;
  /** With the numbers as they are. */
  readonly capacity: number;
  /** Those that move the capacity, the farthest first. */
  readonly variations: readonly CapacityVariation[];
}

/** The batch is another system, and nothing fails here. */
const OTHERS = /^(batch|failures|cluster\.(tabletServers|workerMachines)$)/;
const MACHINES = 8;
const REPOSITORY = 200_000;
/** In percent per hour: more than any variation can do. */
const OFFERED = 500;
const TIMES = { warmUp: 0.25, seconds: 0.5 };
/** A capacity that changes by less is the same. */
const SAME = 0.03;

export async function varyFigure7(
  loaded: LoadedCalibration,
  plan: Figure7Plan,
  given: {
    /** Default: all that are assumed. */
    readonly places?: readonly string[];
    readonly machines?: number;
    readonly signal: AbortSignal;
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<CapacitySensitivity> {
  const { signal, onVariation, machines = MACHINES } = given;
  const { places = assumedPlaces(loaded).filter((place) => !OTHERS.test(place)) } = given;
  const variations = places.flatMap((place) => [0.5, 2].map((factor) => ({ place, factor })));
  const small = { ...plan, ...TIMES, machines };
  const point = { rate: OFFERED, repository: REPOSITORY };
  const simulations = [
    simulationOf(small, point),
    ...variations.map(({ place, factor }) =>
      simulationOf({ ...small, calibration: varied(loaded, place, factor) }, point),
    ),
  ];
  const capacities: number[] = [];
  let done = 0;
  await performAll(simulations, { jobs: plan.jobs, signal }, (index, result) => {
    capacities[index] = capacityOf(OFFERED, result);
    onVariation(++done, simulations.length);
  });
  const [base = Number.NaN, ...others] = capacities;
  const far = (capacity: number): number => Math.abs(Math.log(capacity / base));
  return {
    machines,
    capacity: base,
    variations: variations
      .map(({ place, factor }, i) => ({ place, factor, capacity: others[i] ?? Number.NaN }))
      .filter(({ capacity }) => far(capacity) > SAME)
      .toSorted((a, b) => far(b.capacity) - far(a.capacity)),
  };
}

/** What a cluster completed while so much was offered, in percent of the repository per hour. */
export function capacityOf(rate: number, { completedPerSecond, perSecond }: CrawlResult): number {
  return (rate * completedPerSecond) / perSecond;
}
