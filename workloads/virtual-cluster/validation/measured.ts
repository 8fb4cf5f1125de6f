/** What runs on this machine measured: the newest ones, or else those of the reference. */
import {
  findRuns,
  numberIn,
  type Point,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
} from '#results';

/** Of `./run.sh bench:crawl-rate`, with the embedded store and one process. */
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
  /** At full speed. */
  readonly full: { readonly tradesPerSecond: number; readonly cpuMs: number };
  /** Paced loads that the store kept up with. */
  readonly paced: readonly PacedLoad[];
}

export interface PacedLoad {
  readonly tradesPerSecond: number;
  readonly cpuMs: number;
  /** 90 % of the Trade-Results took no longer; null if they were too few. */
  readonly p90Ms: number | null;
}

const EMBEDDED = 'Percolator, embedded';

export function measuredCrawl(): MeasuredCrawl | null {
  const record = newest('crawl-rate', ({ points, parameters }) => {
    const { store = 'embedded', processes } = parameters;
    const isHere = store === 'embedded' && processes === undefined;
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
    full: {
      tradesPerSecond: numberIn(record, 'unpaced', 'TR/s', EMBEDDED) ?? Number.NaN,
      cpuMs: numberIn(record, 'cost', 'CPU ms per TR, full load', EMBEDDED) ?? Number.NaN,
    },
    paced: pacedLoads(record),
  };
}

function pacedLoads({ findings }: RunRecord): readonly PacedLoad[] {
  const table = findings?.tables.find(({ name }) => name === 'ladder');
  if (table === undefined) return [];
  const { columns, rows } = table;
  return rows.flatMap((cells) => {
    const of = (column: string): unknown => cells[columns.indexOf(column)];
    if (of('system') !== EMBEDDED || of('kept up') !== 'yes') return [];
    const p90 = of('TR, 90 % within ms');
    return [
      {
        tradesPerSecond: Number(of('TR/s')),
        cpuMs: Number(of('CPU ms per TR')),
        p90Ms: typeof p90 === 'number' ? p90 : null,
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
