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
