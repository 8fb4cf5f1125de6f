/** What runs on this machine measured: the newest ones, or else those of the reference. */
import { median } from 'simple-statistics';
import type { DatabaseOptions } from '../cluster.ts';
import type { Scale } from '../../brokerage/model/scale.ts';
import {
  findRuns,
  numberIn,
  type Point,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
} from '#results';

/** Of `./run.sh bench:crawl-rate`, with one process. */
export interface MeasuredCrawl {
  readonly runId: string;
  readonly repository: number;
  readonly documentBytes: number;
  readonly concurrency: number;
  /** Of Percolator, and of the batch. */
  readonly points: readonly Point[];
  readonly batch: readonly Point[];
}

/** Of `./run.sh bench:brokerage`, on the embedded store. */
export interface MeasuredBrokerage {
  readonly runId: string;
  readonly users: number;
  readonly scale: Scale;
  readonly batching: DatabaseOptions['batching'];
  /** At full speed. */
  readonly full: { readonly tradesPerSecond: number; readonly cpuMs: number };
  /** Paced loads that the store kept up with each time. */
  readonly paced: readonly PacedLoad[];
}

/** Medians of the runs of a load. */
export interface PacedLoad {
  readonly tradesPerSecond: number;
  readonly cpuMs: number;
  /** Half of the Trade-Results took no longer; null if they were too few. */
  readonly medianMs: number | null;
}

const EMBEDDED = 'Percolator, embedded';

export function measuredCrawl(on: 'embedded' | 'hbase'): MeasuredCrawl | null {
  const record = newest('crawl-rate', ({ points, parameters }) => {
    const { store = 'embedded', processes } = parameters;
    const isHere = store === on && processes === undefined;
    return isHere && points.some(({ system, latency }) => system === 'percolator' && latency);
  });
  if (record === null) return null;
  const { parameters, runId } = record;
  return {
    runId,
    repository: Number(parameters['repository']),
    documentBytes: Number(parameters['documentBytes']),
    concurrency: Number(parameters['concurrency']),
    points: record.points.filter(({ system }) => system === 'percolator'),
    batch: record.points.filter(({ system }) => system === 'mapreduce'),
  };
}

export function measuredBrokerage(): MeasuredBrokerage | null {
  const record = newest('brokerage', (one) => {
    const { processes } = one.parameters;
    return processes === undefined && numberIn(one, 'unpaced', 'TR/s', EMBEDDED) !== null;
  });
  if (record === null) return null;
  return {
    runId: record.runId,
    users: Number(record.parameters['users']),
    scale: scaleOf(record),
    batching: batchingOf(record),
    full: {
      tradesPerSecond: numberIn(record, 'unpaced', 'TR/s', EMBEDDED) ?? Number.NaN,
      cpuMs: numberIn(record, 'cost', 'CPU ms per TR, full load', EMBEDDED) ?? Number.NaN,
    },
    paced: pacedLoads(record),
  };
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

function pacedLoads({ findings }: RunRecord): readonly PacedLoad[] {
  const table = findings?.tables.find(({ name }) => name === 'ladder');
  if (table === undefined) return [];
  const { columns, rows } = table;
  const of = (cells: (typeof rows)[number], column: string): unknown =>
    cells[columns.indexOf(column)];
  const ours = rows.filter((cells) => of(cells, 'system') === EMBEDDED);
  const byLoad = Map.groupBy(ours, (cells) => of(cells, 'TR/s offered'));
  return [...byLoad.values()].flatMap((runs) => {
    if (runs.some((cells) => of(cells, 'kept up') !== 'yes')) return [];
    const numbers = (column: string): readonly number[] =>
      runs.map((cells) => of(cells, column)).filter((value) => typeof value === 'number');
    const medians = numbers('TR, 50 % within ms');
    return [
      {
        tradesPerSecond: median([...numbers('TR/s')]),
        cpuMs: median([...numbers('CPU ms per TR')]),
        medianMs: medians.length === runs.length ? median([...medians]) : null,
      },
    ];
  });
}

function newest(experiment: string, isUsable: (record: RunRecord) => boolean): RunRecord | null {
  const records = [RUNS_FOLDER, REFERENCE_FOLDER]
    .flatMap((folder) => findRuns(folder))
    .flatMap(({ record }) => record ?? []);
  const found = records.find(
    (record) =>
      record.experiment === experiment &&
      record.state === 'finished' &&
      record.profile !== 'smoke' &&
      isUsable(record),
  );
  return found ?? null;
}
