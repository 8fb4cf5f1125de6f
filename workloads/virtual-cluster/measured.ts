/** What runs on this machine measured: the newest ones, or else those of the reference. */
import { median } from 'simple-statistics';
import type { DatabaseOptions } from './cluster.ts';
import type { Scale } from '../brokerage/model/scale.ts';
import {
  findRuns,
  numberIn,
  type Point,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
} from '#results';

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
  const record = newest(runs, 'crawl-rate', ({ points, parameters }) => {
    const { store = 'embedded', processes, scanners = 1 } = parameters;
    const { batching = 'off', prefetch = 'off' } = parameters;
    const isPlain = batching === 'off' && prefetch === 'off' && scanners === 1;
    const isHere = store === on && processes === undefined && isPlain;
    return isHere && points.some(({ system, latency }) => system === 'percolator' && latency);
  });
  if (record === null) return null;
  const { parameters, runId, mapreduceModel } = record;
  const { batch = 'local' } = parameters;
  const model = batch === 'local' ? mapreduceModel : null;
  return {
    runId,
    store: on,
    repository: Number(parameters['repository']),
    documentBytes: Number(parameters['documentBytes']),
    concurrency: Number(parameters['concurrency']),
    points: record.points.filter(({ system }) => system === 'percolator'),
    batch: record.points.filter(({ system }) => system === 'mapreduce' && batch === 'local'),
    batchRunSeconds: model && model.fixedSeconds + model.perRepositorySeconds,
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
export function rowsOf(
  { findings }: RunRecord,
  tableName: string,
): readonly Readonly<Record<string, unknown>>[] {
  const table = findings?.tables.find(({ name }) => name === tableName);
  if (table === undefined) return [];
  const { columns, rows } = table;
  return rows.map((cells) => Object.fromEntries(columns.map((column, i) => [column, cells[i]])));
}

let here: readonly RunRecord[] | undefined;

/** The user's runs, newest first, before those of the reference. */
export function runsHere(): readonly RunRecord[] {
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
      hasPassed(record) &&
      isUsable(record),
  );
  return found ?? null;
}

/** A run of crawl rates has no findings, but a check for each of its points. */
function hasPassed({ findings, crawl, points }: RunRecord): boolean {
  return [findings, crawl, ...points].every((part) => part?.check.passed !== false);
}
