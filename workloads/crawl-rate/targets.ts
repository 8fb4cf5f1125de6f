/**
 * The experiment's targets, chosen for a machine of 2 cores, next to its measurements. A target is
 * judged only if the run had the load that the target speaks of.
 */
import {
  formatCount,
  formatJudged,
  type Point,
  type RunRecord,
  type Target,
  TARGETS,
} from '#results';

const {
  documentsPerSecondMin: DOCUMENTS_PER_SECOND,
  latencyRatioMin: RATIO,
  lowRateMedianMsMax: LOW_RATE_MEDIAN_MS,
} = TARGETS.crawlRate;
const RATIO_REPOSITORY = 1_000_000;
const RATIO_RATE = 1;
/** At higher rates, in percent per hour, documents wait for one another. */
const LOW_RATE_MAX = 10;

export function targetsOf(record: RunRecord): readonly Target[] {
  return [capacityTarget(record), lowRateTarget(record), ratioTarget(record)];
}

/** Judged on the embedded store, if the load reached the target or saturated the engine. */
function capacityTarget({ capacity, points, store }: RunRecord): Target {
  const measured = capacity?.percolatorDocumentsPerSecond ?? 0;
  const ours = points.filter(({ system }) => system === 'percolator');
  const offered = Math.max(0, ...ours.map((point) => point.documentsPerSecondOffered));
  const isAsked =
    offered >= DOCUMENTS_PER_SECOND || ours.some(({ verdict }) => verdict === 'saturated');
  return {
    name: 'throughput of the engine',
    target: `at least ${formatCount(DOCUMENTS_PER_SECOND)} documents/s clustered, with durable commits`,
    measured: `${formatCount(measured)} documents/s`,
    ...(!store.name.startsWith('embedded')
      ? { met: null, reason: `the store is ${store.name}` }
      : isAsked
        ? { met: measured >= DOCUMENTS_PER_SECOND }
        : { met: null, reason: `only ${formatCount(offered)} documents/s were offered` }),
  };
}

function lowRateTarget(record: RunRecord): Target {
  const [point] = byRate(record, 'percolator');
  const medianMs = point?.latency?.medianMs;
  const rate = point?.ratePercentPerHour ?? Infinity;
  return {
    name: 'latency at the lowest rate',
    target: `milliseconds, not scan intervals: a median below ${LOW_RATE_MEDIAN_MS} ms`,
    measured:
      medianMs === undefined
        ? 'no latency'
        : `${formatJudged(medianMs, 2, isLow)} ms at ${rate} %/hour`,
    ...(rate > LOW_RATE_MAX
      ? { met: null, reason: `no rate was ${LOW_RATE_MAX} %/hour or lower` }
      : judged([point], medianMs !== undefined && isLow(medianMs))),
    samples: samplesOf(point),
  };
}

function isLow(medianMs: number): boolean {
  return medianMs < LOW_RATE_MEDIAN_MS;
}

/** The fewest documents of these points; null if one has no latency. */
function samplesOf(...points: readonly (Point | undefined)[]): number | null {
  const counts = points.map((point) => point?.latency?.count ?? null);
  return counts.includes(null) ? null : Math.min(...counts.map(Number));
}

function ratioTarget(record: RunRecord): Target {
  const { ours, batch } = lowestOfBoth(record);
  const rate = batch?.ratePercentPerHour ?? Infinity;
  const ratio =
    ours?.latency && batch?.latency ? batch.latency.medianMs / ours.latency.medianMs : undefined;
  const documents = record.repository?.documents ?? 0;
  const isAsked = documents >= RATIO_REPOSITORY && rate <= RATIO_RATE && ours !== undefined;
  return {
    name: 'latency compared with the batch',
    target: `at ${RATIO_RATE} %/hour of ${formatCount(RATIO_REPOSITORY)} documents, a median ${formatCount(RATIO)} times below the batch's`,
    measured:
      ratio === undefined
        ? 'no ratio'
        : `${formatCount(ratio)} times, with ${formatCount(documents)} documents at ${rate} %/hour`,
    ...(isAsked
      ? (withoutBatch(ours, batch) ?? judged([ours, batch], ratio !== undefined && ratio >= RATIO))
      : {
          met: null,
          reason: 'the repository was smaller, or no rate was that low on both systems',
        }),
    samples: samplesOf(ours, batch),
  };
}

/**
 * Why the ratio is not judged although the engine has a latency: the batch was wrong, or did not
 * keep up. Undefined otherwise; `judged` tells of a batch that was not measured.
 */
function withoutBatch(ours: Point, batch?: Point): Pick<Target, 'met' | 'reason'> | undefined {
  if (ours.latency === null || batch === undefined) return undefined;
  const { check, verdict, verdictReason } = batch;
  if (!check.passed) return { met: null, reason: `the batch failed its check: ${check.detail}` };
  if (verdict !== 'saturated') return undefined;
  return { met: null, reason: `the batch did not keep up: ${verdictReason}` };
}

/** The verdict, unless one of the points that it rests on was not measured. */
function judged(
  points: readonly (Point | undefined)[],
  met: boolean,
): Pick<Target, 'met' | 'reason'> {
  const [reason] = points.flatMap((point) => (point && whyNotMeasured(point)) ?? []);
  return reason === undefined ? { met } : { met: null, reason };
}

/** Undefined if the point says something about the system, even just that its answer was wrong. */
function whyNotMeasured({ check, verdict, verdictReason, latency }: Point): string | undefined {
  if (!check.passed || verdict === 'saturated') return undefined;
  if (verdict === 'invalid') return verdictReason;
  return latency === null ? 'no document was measured' : undefined;
}

/** At the lowest rate of both systems: an interrupted run measured some rates on one of them. */
function lowestOfBoth(record: RunRecord): { readonly ours?: Point; readonly batch?: Point } {
  const ours = byRate(record, 'percolator');
  const pairs = byRate(record, 'mapreduce').flatMap((batch) =>
    ours
      .filter(({ ratePercentPerHour: rate }) => rate === batch.ratePercentPerHour)
      .map((one) => ({ ours: one, batch })),
  );
  return pairs[0] ?? {};
}

function byRate({ points }: RunRecord, system: Point['system']): readonly Point[] {
  return points
    .filter((point) => point.system === system)
    .toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
}
