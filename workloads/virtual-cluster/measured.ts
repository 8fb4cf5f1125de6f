/** What runs on this machine measured: the newest ones, or else those of the reference. */
import { median } from 'simple-statistics';
import {
  BATCH_RUN,
  dots,
  findRuns,
  line,
  numberIn,
  type Point,
  pointsOf,
  REFERENCE_FOLDER,
  type ResultSeries,
  type RunRecord,
  RUNS_FOLDER,
  series,
} from '#results';
import type { Scale } from '../brokerage/model/scale.ts';
import type { DatabaseOptions } from './cluster.ts';

/** A run of bench:crawl-rate with the settings that are simulated: one process, no batches. */
export interface MeasuredCrawl {
  readonly runId: string;
  readonly store: 'embedded' | 'hbase';
  readonly repository: number;
  readonly documentBytes: number;
  readonly concurrency: number;
  /** Of Percolator, and of the batch; none of the batch if another MapReduce than ours ran it. */
  readonly points: readonly Point[];
  readonly batch: readonly Point[];
  /** Seconds of one batch over the whole repository; null without a batch that fits its model. */
  readonly batchRunSeconds: number | null;
}

/** A run of bench:brokerage on the embedded store, with the settings that are simulated. */
export interface MeasuredBrokerage {
  readonly runId: string;
  readonly users: number;
  readonly scale: Scale;
  readonly batching: DatabaseOptions['batching'];
  /** At full speed. */
  readonly full: Pick<PacedLoad, 'tradesPerSecond' | 'cpuMs'>;
  /** Paced loads that the store kept up with in all their runs. */
  readonly paced: readonly PacedLoad[];
}

/** Medians of the runs of a load. */
export interface PacedLoad {
  readonly tradesPerSecond: number;
  /** Processor time of a Trade-Result; null where the system does not tell it. */
  readonly cpuMs: number | null;
  /** Half of the Trade-Results took no longer; null if they were too few. */
  readonly medianMs: number | null;
}

const EMBEDDED = 'Percolator, embedded';

export function measuredCrawl(
  on: 'embedded' | 'hbase',
  runs: readonly RunRecord[] = runsHere(),
): MeasuredCrawl | null {
  const record = newest(runs, 'crawl-rate', (one) => {
    const { parameters } = one;
    const { store = 'embedded', processes, scanners = 1 } = parameters;
    const { batching = 'off', prefetch = 'off' } = parameters;
    const isPlain = batching === 'off' && prefetch === 'off' && scanners === 1;
    const isHere = store === on && processes === undefined && isPlain;
    return (
      isHere && pointsOf(one).some(({ system, latency }) => system === 'percolator' && latency)
    );
  });
  if (record === null) return null;
  const { parameters, runId } = record;
  const isOurBatch = (parameters['batch'] ?? 'local') === 'local';
  return {
    runId,
    store: on,
    repository: Number(parameters['repository']),
    documentBytes: Number(parameters['documentBytes']),
    concurrency: Number(parameters['concurrency']),
    points: pointsOf(record).filter(({ system }) => system === 'percolator'),
    batch: pointsOf(record).filter(({ system }) => system === 'mapreduce' && isOurBatch),
    batchRunSeconds: isOurBatch ? numberIn(record, 'repository', 'value', BATCH_RUN) : null,
  };
}

/**
 * From a run of the embedded store alone, or else from a run with other systems, whose processes
 * share the machine's caches even when they wait: no cost was measured next to such processes.
 */
export function measuredBrokerage(
  runs: readonly RunRecord[] = runsHere(),
): MeasuredBrokerage | null {
  const record =
    newest(runs, 'brokerage', (one) => isOfOurs(one) && isAlone(one)) ??
    newest(runs, 'brokerage', isOfOurs);
  if (record === null) return null;
  return {
    runId: record.runId,
    users: Number(record.parameters['users']),
    scale: scaleOf(record),
    batching: batchingOf(record),
    full: {
      tradesPerSecond: numberIn(record, 'unpaced', 'TR/s', EMBEDDED) ?? Number.NaN,
      cpuMs: numberIn(record, 'cost', 'CPU ms per TR, full load', EMBEDDED),
    },
    paced: pacedLoads(record),
  };
}

/** Whether the run has numbers of the brokerage that is simulated. */
function isOfOurs(record: RunRecord): boolean {
  const { processes, broker = 'omit', prefetch = 'off' } = record.parameters;
  const isSimulated = processes === undefined && broker === 'omit' && prefetch === 'off';
  return isSimulated && numberIn(record, 'unpaced', 'TR/s', EMBEDDED) !== null;
}

function isAlone({ parameters: { system, store } }: RunRecord): boolean {
  return system === 'percolator' && store === 'embedded';
}

function scaleOf({ parameters }: RunRecord): Scale {
  const of = (name: string): number => Number(parameters[name]);
  return {
    customers: of('customers'),
    initialTradeDays: of('days'),
    dailyMarketDays: of('dailyMarketDays'),
    newsBytes: of('newsBytes'),
    zipCodes: of('zipCodes'),
    pricePeriodMs: 1000 * of('pricePeriod'),
    backOffMs: of('backOffMs'),
  };
}

function batchingOf({ parameters }: RunRecord): DatabaseOptions['batching'] {
  if (parameters['batching'] !== 'on') return 'off';
  const of = (name: string): number => Number(parameters[name]);
  return {
    delayMs: of('batchDelay'),
    rowsMax: of('batchRows'),
    inFlightMax: of('batchInFlight'),
  };
}

function pacedLoads(record: RunRecord): readonly PacedLoad[] {
  const ours = rowsOf(record, 'ladder').filter(({ system }) => system === EMBEDDED);
  const byLoad = Map.groupBy(ours, (row) => row['TR/s offered']);
  return [...byLoad.values()].flatMap((runs) => {
    if (runs.some((row) => row['kept up'] !== 'yes')) return [];
    const medianOf = (column: string): number | null => {
      const numbers = runs.map((row) => row[column]).filter((value) => typeof value === 'number');
      return numbers.length === runs.length ? median(numbers) : null;
    };
    const tradesPerSecond = medianOf('TR/s');
    if (tradesPerSecond === null) return [];
    const [cpuMs, medianMs] = [medianOf('CPU ms per TR'), medianOf('TR, 50 % within ms')];
    return [{ tradesPerSecond, cpuMs, medianMs }];
  });
}

/** The rows of a table by the names of its columns; none if there is no such table. */
function rowsOf(
  { findings }: RunRecord,
  tableName: string,
): readonly Readonly<Record<string, unknown>>[] {
  const table = findings.tables.find(({ name }) => name === tableName);
  if (table === undefined) return [];
  const { columns, rows } = table;
  return rows.map((cells) => Object.fromEntries(columns.map((column, i) => [column, cells[i]])));
}

let here: readonly RunRecord[] | undefined;

/** The user's runs, newest first, before those of the reference. */
function runsHere(): readonly RunRecord[] {
  // Read once: figures ask for them after each of their points.
  here ??= runsIn([RUNS_FOLDER, REFERENCE_FOLDER]);
  return here;
}

export function runsIn(folders: readonly string[]): readonly RunRecord[] {
  return folders.flatMap((folder) => findRuns(folder)).flatMap(({ record }) => record ?? []);
}

/**
 * The first finished run that is more than a smoke test and has passed its checks, or else null.
 */
export function newest(
  runs: readonly RunRecord[],
  experiment: string,
  isUsable: (record: RunRecord) => boolean,
): RunRecord | null {
  const found = runs.find(
    (record) =>
      record.experiment === experiment &&
      record.state === 'finished' &&
      record.profile !== 'smoke' &&
      record.findings.check.passed &&
      isUsable(record),
  );
  return found ?? null;
}

/*
 * What this machine measured, as series for the charts of the virtual cluster: one store and a few
 * processes on one machine next to hundreds of machines. Empty where nothing has been measured.
 */

type Runs = readonly RunRecord[];

/** Medians in seconds by crawl rate (figure 7). */
export function measuredLatencies(runs: Runs = runsHere()): readonly ResultSeries[] {
  const measured = measuredCrawl('embedded', runs);
  if (measured === null) return [];
  return [...latencies('Percolator', measured.points), ...latencies('MapReduce', measured.batch)];
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
  return [...byStore].flatMap(([store, ofStore], i) => {
    const compared = ofStore.flatMap((row) => {
      const place = places.get(String(row['operation']));
      return place === undefined ? [] : [{ row, place }];
    });
    return series(compared, ({ place }) => ({ x: place + 0.1 * i }), [
      dots(nameHere(store), 'other', ({ row: { relative, low, high } }) =>
        typeof relative === 'number' ? { y: relative, low: bound(low), high: bound(high) } : null,
      ),
    ]);
  });
}

function bound(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/**
 * Cores by Trade-Results per second (figure 9), of loads that the store kept up with. Empty where
 * the system does not tell the processor time of a process.
 */
export function measuredCores(runs: Runs = runsHere()): readonly ResultSeries[] {
  const paced = measuredBrokerage(runs)?.paced ?? [];
  return series(paced, ({ tradesPerSecond }) => ({ x: tradesPerSecond }), [
    line(nameHere('Percolator'), 'other', ({ tradesPerSecond, cpuMs }) =>
      cpuMs === null ? null : (cpuMs / 1000) * tradesPerSecond,
    ),
  ]).filter(({ points }) => points.length > 0);
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
  return series(seconds, ({ second }) => ({ x: Number(second) - killed }), [
    line(nameHere('HBase'), 'other', ({ arrived, completed }) => {
      return (100 * Number(completed)) / Number(arrived);
    }),
  ]);
}

type MeasuredRate = Pick<Point, 'ratePercentPerHour' | 'latency' | 'verdict'>;

function latencies(what: string, points: readonly MeasuredRate[]): readonly ResultSeries[] {
  const known = points.flatMap(({ ratePercentPerHour, latency, verdict }) =>
    latency === null || verdict !== 'sustained' ? [] : [{ ratePercentPerHour, ...latency }],
  );
  return series(known, ({ ratePercentPerHour: x, count: samples }) => ({ x, samples }), [
    line(nameHere(what), 'other', ({ medianMs }) => medianMs / 1000),
  ]);
}

/** The name of a series. */
function nameHere(what: string): string {
  return `this machine, ${what}`;
}
