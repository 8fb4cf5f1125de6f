/**
 * Figure 7 in virtual time: every crawl rate on a cluster of its own, and one rate once more with a
 * repository of another size, to show that its size does not matter.
 *
 * The paper's repository is too large for this machine's memory. A small one stands for it: rates
 * in documents a second, machines and tablets are those of the large one; the key space keeps its
 * proportion to the documents, and caches see the bytes of the large one.
 */
import type { SyntheticOptions } from '../../crawl-rate/documents/index.ts';
import { documentsPerSecond } from '../../harness/load/schedule.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { halvedAndDoubled, varied, type VariedNumber } from '../calibration/sensitivity.ts';
import { type CrawlSimulation, performAll } from '../simulations.ts';
import type { CrawlPlan, CrawlResult } from './crawl.ts';

/** Documents of the paper's repository, on its 240 machines. */
const PAPER_REPOSITORY = 1e9;
const PAPER_MACHINES = 240;
/** About how many documents of each point are in the history that is judged. */
const JUDGED_DOCUMENTS = 4_000;
export const DOCUMENT_BYTES = 1024;

export interface Figure7Plan {
  readonly calibration: Calibration;
  /** Tablet servers, each with a worker if the calibration has no machines for workers. */
  readonly machines: number;
  /** Documents in memory that stand for the repository; the second is for comparison. */
  readonly repositories: readonly [number, number];
  /** Crawl rates, in percent of the repository per hour. */
  readonly rates: readonly number[];
  /** Virtual seconds. */
  readonly warmUp: number;
  readonly seconds: number;
  /** Observer runs in flight on each worker, at most. */
  readonly concurrency: number;
  /** Milliseconds that a worker rests after a scan that found nothing new. */
  readonly scanRest: number;
  readonly seed: number;
  /** Simulations at a time. */
  readonly jobs: number;
}

export interface RatePoint {
  /** In percent of the repository per hour. */
  readonly rate: number;
  /** Documents in memory. */
  readonly repository: number;
  /** Documents that each one of the repository stands for. */
  readonly scale: number;
  readonly result: CrawlResult;
}

/** Documents in these machines' share of the paper's repository. */
export function repositoryOf(machines: number): number {
  return (PAPER_REPOSITORY * machines) / PAPER_MACHINES;
}

/** Documents that arrive in the measured interval, at a crawl rate in percent per hour. */
export function measuredDocuments(
  { machines, warmUp, seconds }: Pick<Figure7Plan, 'machines' | 'warmUp' | 'seconds'>,
  rate: number,
): number {
  const perSecond = documentsPerSecond(repositoryOf(machines), rate);
  return Math.floor(perSecond * (warmUp + seconds)) - Math.ceil(perSecond * warmUp);
}

/** @param onPoint called with each point as soon as it has been simulated */
export async function measureFigure7(
  plan: Figure7Plan,
  signal: AbortSignal,
  onPoint: (point: RatePoint) => void,
): Promise<void> {
  const [repository, other] = plan.repositories;
  const compared = comparedRate(plan.rates);
  const all = [
    ...plan.rates.map((rate) => ({ rate, repository })),
    { rate: compared, repository: other },
  ];
  // The longest first, so that no thread is left with it at the end.
  const points = all.toSorted((a, b) => b.rate - a.rate);
  const simulations = points.map((point) => simulationOf(plan, point));
  await performAll(simulations, { jobs: plan.jobs, signal }, (index, result) => {
    const point = points[index];
    if (point === undefined) return;
    onPoint({ ...point, scale: repositoryOf(plan.machines) / point.repository, result });
  });
}

/** The rate at which both sizes of the repository are compared: one in the middle. */
export function comparedRate(rates: readonly number[]): number {
  const sorted = rates.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 1;
}

/**
 * Machines for workers, in the calibration's proportion to the tablet servers; 0 if workers run on
 * those.
 */
export function workersOf({ calibration, machines }: Figure7Plan): number {
  const { workerMachines, tabletServers } = calibration.cluster;
  return Math.ceil((workerMachines * machines) / tabletServers);
}

/** One rate on a cluster of its own. */
export function simulationOf(
  plan: Figure7Plan,
  { rate, repository }: { readonly rate: number; readonly repository: number },
): CrawlSimulation {
  const { machines, warmUp, seconds, concurrency, scanRest, seed } = plan;
  const cluster = { ...plan.calibration.cluster, workerMachines: workersOf(plan) };
  const whole = repositoryOf(machines);
  const documents: SyntheticOptions = { repository, documentBytes: DOCUMENT_BYTES, seed };
  const perSecond = documentsPerSecond(whole, rate);
  const arriving = perSecond * (warmUp + seconds);
  const crawl: CrawlPlan = {
    calibration: { ...plan.calibration, cluster },
    tabletServers: machines,
    scale: whole / repository,
    perSecond,
    warmUp,
    seconds,
    concurrency,
    scanRest,
    historyShare: Math.max(1, Math.round(arriving / JUDGED_DOCUMENTS)),
    seed,
  };
  return { kind: 'crawl', documents, plan: crawl };
}

/*
 * Which assumed number decides where the wall is: the capacity with each one halved and doubled.
 *
 * A few machines that are offered more than they can do stand for the cluster: what a machine does
 * depends little on how many others there are, and a hundred simulations of the whole would take
 * hours.
 */

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
 * nothing, moves the capacity of a run by up to 12 %, and that of a longer run by as much.
 */
export const SAME = 0.15;

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
