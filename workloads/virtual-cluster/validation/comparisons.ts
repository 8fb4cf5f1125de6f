/**
 * The numbers of a measured point next to those of its simulation, and which of them have a limit.
 */
import { type Point, TARGETS } from '#results';
import type { CrawlResult } from '../figure-7/crawl.ts';
import type { MeasuredCrawl, PacedLoad } from '../measured.ts';
import type { Usage } from '../usage.ts';
import type { Compared } from './findings.ts';

const { latencyErrorMax: LATENCY_ERROR_MAX } = TARGETS.validation;

type PredictedCrawl = Pick<CrawlResult, 'latency' | 'completedPerSecond'> & {
  /** Cores that were busy, on average. */
  readonly cores: number;
};

/** The numbers of a crawl rate that is not saturated; nothing if either side has no latency. */
export function comparedPoint(
  crawl: MeasuredCrawl,
  point: Point,
  { latency, cores, completedPerSecond }: PredictedCrawl,
): readonly Compared[] {
  if (latency === null || point.latency === null) return [];
  const workload = workloadOf(crawl, point);
  const isHalf = point === halfLoad(crawl);
  const median: Compared = {
    workload,
    what: isHalf ? 'median latency at half load' : 'median latency',
    unit: 'ms',
    measured: point.latency.medianMs,
    predicted: latency.medianMs,
    errorMax: isHalf ? LATENCY_ERROR_MAX : null,
  };
  const { cpuSecondsPerDocument } = point;
  // An old record of HBase has the processor time of the client's process, without the servers'.
  if (cpuSecondsPerDocument === null || crawl.store === 'hbase') return [median];
  const what = 'processor time of a document';
  const measured = 1e6 * cpuSecondsPerDocument;
  const predicted = (1e6 * cores) / completedPerSecond;
  return [median, { workload, what, unit: 'µs', measured, predicted, errorMax: null }];
}

export function workloadOf({ store }: MeasuredCrawl, { ratePercentPerHour }: Point): string {
  return `crawl-rate${store === 'hbase' ? ' on HBase' : ''}, ${ratePercentPerHour} %/hour`;
}

/** The points to simulate: all; if tiny, only those with a limit, or the last one if none has. */
export function pointsOf(
  crawl: MeasuredCrawl,
  { isTiny }: { readonly isTiny: boolean },
): readonly Point[] {
  const isJudged = (point: Point): boolean =>
    point.verdict === 'saturated' || point === halfLoad(crawl);
  if (!isTiny) return crawl.points;
  const judged = crawl.points.filter(isJudged);
  return judged.length > 0 ? judged : crawl.points.slice(-1);
}

/**
 * The rate nearest to half of what was completed at saturation, among those with a latency;
 * undefined if no rate was saturated: then the throughput at saturation is not known.
 */
export function halfLoad({ points }: MeasuredCrawl): Point | undefined {
  const saturated = points.find(({ verdict }) => verdict === 'saturated');
  if (saturated === undefined) return undefined;
  const kept = points.filter(({ verdict, latency }) => verdict === 'sustained' && latency !== null);
  const half = saturated.documentsPerSecondCompleted / 2;
  return kept.toSorted(
    (a, b) =>
      Math.abs(a.documentsPerSecondCompleted - half) -
      Math.abs(b.documentsPerSecondCompleted - half),
  )[0];
}

/** The load nearest to what is wanted, among those with a median. */
export function nearest(loads: readonly PacedLoad[], wanted: number): PacedLoad | undefined {
  const distance = ({ tradesPerSecond }: PacedLoad): number => Math.abs(tradesPerSecond - wanted);
  return loads
    .filter(({ medianMs }) => medianMs !== null)
    .toSorted((a, b) => distance(a) - distance(b))[0];
}

/**
 * The median latency of a Trade-Result at half load; nothing if the measured load has no median.
 */
export function comparedTrade(
  workload: string,
  { medianMs }: PacedLoad,
  predicted: number,
): readonly Compared[] {
  if (medianMs === null) return [];
  const what = 'median latency at half load';
  const errorMax = LATENCY_ERROR_MAX;
  return [{ workload, what, unit: 'ms', measured: medianMs, predicted, errorMax }];
}

/**
 * Cores that the engine and the store kept busy: those of the tablet servers, and the work in the
 * background.
 */
export function busyCores(
  { kinds, maintenanceUs, seconds }: Pick<Usage, 'kinds' | 'maintenanceUs' | 'seconds'>,
  coresPerServer: number,
): number {
  const usage = kinds.find(({ kind }) => kind === 'tablet server');
  const share = (usage?.cores ?? 0) * (usage?.machines ?? 0);
  return share * coresPerServer + maintenanceUs / 1e6 / seconds;
}
