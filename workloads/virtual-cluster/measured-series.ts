/**
 * What this machine measured, as series for the charts of the virtual cluster: one store and a few
 * processes on one machine next to hundreds of machines. Empty where nothing has been measured.
 */
import type { ResultMark, ResultSeries, RunRecord } from '#results';
import { measuredBrokerage, measuredCrawl, newest, rowsOf, runsHere } from './measured.ts';

type Runs = readonly RunRecord[];

const HERE = 'this machine';

/** Medians in seconds by crawl rate (figure 7). */
export function measuredLatencies(runs: Runs = runsHere()): readonly ResultSeries[] {
  const measured = measuredCrawl('embedded', runs);
  if (measured === null) return [];
  return [
    series('Percolator', latencyMarks(measured.points)),
    series('MapReduce', latencyMarks(measured.batch)),
  ];
}

/** Seconds of one batch over the whole repository here; null if that is not known. */
export function measuredBatchSeconds(runs: Runs = runsHere()): number | null {
  return measuredCrawl('embedded', runs)?.batchRunSeconds ?? null;
}

/**
 * Percolator relative to the raw store, at the place of each operation (figure 8): a series for
 * each store. Measured with the settings that are simulated: one process, no batches, on the disk.
 */
export function measuredRatios(
  places: ReadonlyMap<string, number>,
  runs: Runs = runsHere(),
): readonly ResultSeries[] {
  const record = newest(runs, 'micro', ({ parameters }) => {
    const { store, processes = 0, batching = 'off', prefetch = 'off', noFsync } = parameters;
    const isPlain = processes === 0 && batching === 'off' && prefetch === 'off';
    return String(store).includes('embedded') && isPlain && noFsync !== true;
  });
  const rows = record === null ? [] : rowsOf(record, 'figure-8');
  const byStore = Map.groupBy(rows, ({ store }) => String(store));
  byStore.delete('paper');
  return [...byStore].map(([store, ofStore], i) => {
    const marks = ofStore.flatMap(({ operation, relative, low, high }) => {
      const place = places.get(String(operation));
      if (place === undefined || typeof relative !== 'number') return [];
      return [mark(place + 0.1 * i, relative, { low, high })];
    });
    return series(store, marks, false);
  });
}

/**
 * Cores by Trade-Results per second (figure 9), of loads that the store kept up with. Empty where
 * the system does not tell the processor time of a process.
 */
export function measuredCores(runs: Runs = runsHere()): readonly ResultSeries[] {
  const paced = measuredBrokerage(runs)?.paced ?? [];
  const marks = paced.flatMap(({ tradesPerSecond, cpuMs }) =>
    cpuMs === null ? [] : [mark(tradesPerSecond, (cpuMs / 1000) * tradesPerSecond)],
  );
  return marks.length === 0 ? [] : [series('Percolator', marks)];
}

/** By second since the kill, transactions completed in % of those that arrived (figure 10). */
export function measuredRecovery(runs: Runs = runsHere()): readonly ResultSeries[] {
  const record = newest(
    runs,
    'failover',
    ({ parameters: { kill, pause } }) => kill === 'region-servers' && pause !== true,
  );
  if (record === null) return [];
  const killed = Number(record.parameters['before']);
  // A second in which none arrived says nothing.
  const seconds = rowsOf(record, 'seconds').filter(({ arrived }) => Number(arrived) > 0);
  const marks = seconds.map(({ second, arrived, completed }) =>
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
