/**
 * What this machine measured, as series for the charts of the virtual cluster: one store and a few
 * processes on one machine next to hundreds of machines. Empty where nothing has been measured.
 */
import type { ResultMark, ResultSeries } from '#results';
import { measuredBrokerage, measuredCrawl, newest, rowsOf } from './measured.ts';

const HERE = 'this machine';

/** Medians in seconds by crawl rate (figure 7). */
export function measuredLatencies(): readonly ResultSeries[] {
  const measured = measuredCrawl('embedded');
  if (measured === null) return [];
  return [
    series('Percolator', latencyMarks(measured.points)),
    series('MapReduce', latencyMarks(measured.batch)),
  ];
}

/** Seconds of one batch over the whole repository here; null if that is not known. */
export function measuredBatchSeconds(): number | null {
  return measuredCrawl('embedded')?.batchRunSeconds ?? null;
}

/**
 * Percolator relative to the raw store, at the place of each operation (figure 8): a series for each
 * store.
 */
export function measuredRatios(places: ReadonlyMap<string, number>): readonly ResultSeries[] {
  const record = newest('micro', ({ parameters }) =>
    String(parameters['store']).includes('embedded'),
  );
  const rows = record === null ? [] : rowsOf(record, 'figure-8');
  const byStore = Map.groupBy(rows, ({ store }) => String(store));
  byStore.delete('paper');
  return [...byStore].map(([store, ofStore], i) => {
    const marks = ofStore.map(({ operation, relative, low, high }) =>
      mark((places.get(String(operation)) ?? Number.NaN) + 0.1 * i, Number(relative), {
        low,
        high,
      }),
    );
    return series(store, marks, false);
  });
}

/** Cores by Trade-Results per second (figure 9), of loads that the store kept up with. */
export function measuredCores(): readonly ResultSeries[] {
  const paced = measuredBrokerage()?.paced ?? [];
  if (paced.length === 0) return [];
  const marks = paced.map(({ tradesPerSecond, cpuMs }) =>
    mark(tradesPerSecond, (cpuMs / 1000) * tradesPerSecond),
  );
  return [series('Percolator', marks)];
}

/** Transactions by second since the kill, in % of the rate that was asked for (figure 10). */
export function measuredRecovery(): readonly ResultSeries[] {
  const record = newest('failover', ({ parameters }) => parameters['kill'] === 'region-servers');
  if (record === null) return [];
  const killed = Number(record.parameters['before']);
  const marks = rowsOf(record, 'seconds').map(({ second, arrived, completed }) =>
    mark(Number(second) - killed, (100 * Number(completed)) / Number(arrived)),
  );
  return [series('HBase', marks)];
}

function latencyMarks(
  points: readonly {
    readonly ratePercentPerHour: number;
    readonly latency: { readonly medianMs: number; readonly count: number } | null;
    readonly verdict: string;
  }[],
): readonly ResultMark[] {
  return points.flatMap(({ ratePercentPerHour: x, latency, verdict }) =>
    latency === null || verdict !== 'sustained'
      ? []
      : [{ ...mark(x, latency.medianMs / 1000), samples: latency.count }],
  );
}

function series(what: string, points: readonly ResultMark[], isLine = true): ResultSeries {
  return { name: `${HERE}, ${what}`, look: 'other', isLine, points };
}

function mark(
  x: number,
  y: number,
  { low = null, high = null }: { readonly low?: unknown; readonly high?: unknown } = {},
): ResultMark {
  const bound = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return { x, y, low: bound(low), high: bound(high) };
}
