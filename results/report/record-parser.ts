/**
 * Converts JSON to a `RunRecord`: each type of the record with its shape, in the record's order.
 */
import {
  aBoolean,
  aFileName,
  addedLater,
  anAmount,
  aNumber,
  aString,
  either,
  list,
  nullable,
  object,
  oneOf,
  table,
} from './shape.ts';
import type { Shape } from './shape.ts';
import { FORMAT_VERSION, pointLatencyAllowed } from './run-record.ts';
import type * as record from './run-record.ts';

/** @throws an error that names the first place where `value` is not a run record of this format */
export function parseRunRecord(value: unknown): record.RunRecord {
  refuseNewerFormat(value);
  const parsed = runRecord(value, '');
  for (const [index, point] of parsed.points.entries()) {
    if (point.latency === null || pointLatencyAllowed(point)) continue;
    throw new Error(
      `points[${index}] has a latency although it is ${point.verdict} or failed its check`,
    );
  }
  const { findings } = parsed;
  const isWrong = findings?.check.passed === false && findings.kind !== 'proof';
  if (isWrong && findings.tables.length > 0) {
    throw new Error('findings have tables although their check failed');
  }
  for (const one of findings?.tables ?? []) checkMetrics(one);
  return parsed;
}

/** Called before the other fields are checked, so that the error names why they do not fit. */
function refuseNewerFormat(value: unknown): void {
  const { formatVersion } = (value ?? {}) as { readonly formatVersion?: unknown };
  if (typeof formatVersion !== 'number' || formatVersion <= FORMAT_VERSION) return;
  throw new Error(
    `a newer version of this project wrote it in format ${formatVersion}, and this version reads ${FORMAT_VERSION}`,
  );
}

function checkMetrics({ name, columns, rows, metrics: given }: record.ResultTable): void {
  if (given === null || given === undefined) return;
  const { rowNames } = given;
  if (!Number.isInteger(rowNames) || rowNames < 1 || rowNames > columns.length) {
    throw new Error(
      `the metrics of table ${name} name rows by ${rowNames} columns, not by 1 to ${columns.length}`,
    );
  }
  for (const { column, intervalColumns, intervals } of given.columns) {
    const missing = [column, ...(intervalColumns ?? [])].find((one) => !columns.includes(one));
    if (missing !== undefined) throw new Error(`table ${name} has no column ${missing}`);
    if (
      (intervalColumns?.length ?? 2) !== 2 ||
      (intervals?.length ?? rows.length) !== rows.length
    ) {
      throw new Error(`the intervals of ${column} do not fit table ${name}`);
    }
  }
}

const check: Shape<record.Check> = object<record.Check>({ passed: aBoolean, detail: aString });

const environment: Shape<record.Environment> = object<record.Environment>({
  commit: nullable(object<{ hash: string; dirty: boolean }>({ hash: aString, dirty: aBoolean })),
  nodeVersion: aString,
  cpuModel: aString,
  cores: anAmount,
  memoryBytes: anAmount,
  operatingSystem: aString,
  kernel: aString,
  fileSystem: nullable(aString),
});

const repository: Shape<record.RepositoryDescription> = object<record.RepositoryDescription>({
  documents: anAmount,
  keysPerTable: anAmount,
  documentBytes: anAmount,
  clusters: anAmount,
  meanClusterSize: anAmount,
  nonSingletonShare: anAmount,
});

const crawl: Shape<record.CrawlResult> = object<record.CrawlResult>({
  file: aString,
  pages: anAmount,
  distinctContents: anAmount,
  clusters: anAmount,
  meanClusterSize: anAmount,
  nonSingletonShare: anAmount,
  crossHostDuplicateGroups: anAmount,
  crossHostDuplicates: list(
    object<record.CrossHostDuplicate>({ urls: list(aString), shares: aString }),
  ),
  counts: table(anAmount),
  check,
});

const capacity: Shape<record.Capacity> = object<record.Capacity>({
  percolatorDocumentsPerSecond: nullable(anAmount),
  mapreduceDocumentsPerSecond: nullable(anAmount),
  costRatio: nullable(anAmount),
});

const latency: Shape<record.Latency> = object<record.Latency>({
  minMs: anAmount,
  meanMs: anAmount,
  medianMs: anAmount,
  p90Ms: anAmount,
  p99Ms: anAmount,
  maxMs: anAmount,
  count: anAmount,
  histogramFile: aFileName,
});

const point: Shape<record.Point> = object<record.Point>({
  system: oneOf('percolator', 'mapreduce'),
  ratePercentPerHour: anAmount,
  documentsPerSecondOffered: anAmount,
  documentsPerSecondCompleted: anAmount,
  documents: anAmount,
  seconds: anAmount,
  verdict: oneOf('sustained', 'saturated', 'invalid'),
  verdictReason: aString,
  backlogGrowthPerSecond: aNumber,
  check,
  latency: nullable(latency),
  repeatMediansMs: list(anAmount),
  generatorLagP99Ms: nullable(anAmount),
  cpuSecondsPerDocument: nullable(anAmount),
  cyclesMeasured: nullable(anAmount),
  timeSeriesFile: nullable(aFileName),
  notes: list(aString),
});

const axis: Shape<record.ResultAxis> = object<record.ResultAxis>({
  title: aString,
  scale: oneOf('linear', 'logarithmic'),
  ticks: list(object<record.ResultAxis['ticks'][number]>({ at: aNumber, label: aString })),
});

const marks: Shape<readonly record.ResultMark[]> = list(
  object<record.ResultMark>({
    x: aNumber,
    y: aNumber,
    low: nullable(aNumber),
    high: nullable(aNumber),
    samples: addedLater(aNumber),
  }),
);

const series: Shape<record.ResultSeries> = object<record.ResultSeries>({
  name: aString,
  look: oneOf('percolator', 'other', 'paper'),
  isLine: aBoolean,
  points: marks,
  fit: addedLater(marks),
});

const metrics: Shape<record.TableMetrics> = object<record.TableMetrics>({
  rowNames: aNumber,
  columns: list(
    object<record.ResultMetric>({
      column: aString,
      unit: aString,
      better: oneOf('higher', 'lower'),
      intervalColumns: addedLater(list(aString)),
      intervals: addedLater(
        list(nullable(object<record.Interval>({ low: aNumber, high: aNumber }))),
      ),
    }),
  ),
});

const findings: Shape<record.Findings> = object<record.Findings>({
  kind: addedLater(oneOf('measurement', 'proof')),
  kicker: aString,
  title: aString,
  headline: aString,
  check,
  tables: list(
    object<record.ResultTable>({
      name: aFileName,
      title: aString,
      caption: aString,
      columns: list(aString),
      rows: list(list(nullable(either(aString, aNumber)))),
      metrics: addedLater(metrics),
    }),
  ),
  charts: list(
    object<record.ResultChart>({
      name: aFileName,
      title: aString,
      caption: aString,
      x: axis,
      y: axis,
      series: list(series),
    }),
  ),
});

const runRecord: Shape<record.RunRecord> = object<record.RunRecord>({
  formatVersion: oneOf(FORMAT_VERSION),
  experiment: aString,
  runId: aString,
  state: oneOf('running', 'finished', 'interrupted', 'failed'),
  process: addedLater(
    object<record.RunProcess>({
      host: aString,
      namespace: addedLater(aNumber),
      pid: aNumber,
      started: nullable(aString),
    }),
  ),
  startedAt: aString,
  finishedAt: nullable(aString),
  profile: oneOf('smoke', 'quick', 'standard', 'full', 'custom'),
  commandLine: aString,
  parameters: table(nullable(either(list(aNumber), either(aString, either(aNumber, aBoolean))))),
  seed: aNumber,
  repeats: anAmount,
  label: nullable(oneOf('exploratory')),
  environment,
  store: object<record.StoreDescription>({ name: aString, durability: aString }),
  repository: nullable(repository),
  crawl: nullable(crawl),
  capacity: nullable(capacity),
  mapreduceModel: nullable(
    object<record.MapreduceModel>({ fixedSeconds: aNumber, perRepositorySeconds: aNumber }),
  ),
  points: list(point),
  findings: addedLater(findings),
  targets: list(
    object<record.Target>({
      name: aString,
      target: aString,
      measured: aString,
      met: nullable(aBoolean),
      reason: addedLater(aString),
      samples: addedLater(aNumber),
    }),
  ),
  limitations: list(aString),
});
