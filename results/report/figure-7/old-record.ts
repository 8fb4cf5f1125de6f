/**
 * Records of figure 7 of before December 2026 have points, a real crawl and more in fields of their
 * own, and histograms and time series in files. This converter gives them the findings that a run
 * has now; no other part of the project knows the old form.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readHistogram } from '../histogram.ts';
import type { Check, Findings } from '../run-record.ts';
import {
  aBoolean,
  aFileName,
  anAmount,
  aNumber,
  aString,
  list,
  nullable,
  object,
  oneOf,
  type Shape,
  table,
} from '../shape.ts';
import { UsageError } from '../usage-error.ts';
import { figure7Findings, SUBJECT } from './findings.ts';
import {
  type Capacity,
  type CrawlResult,
  type Figure7,
  type MapreduceModel,
  type MeasuredPoint,
  measuredPoint,
  type Point,
  type ProgressRow,
  type RepositoryDescription,
} from './points.ts';

interface OldPoint extends Omit<Point, 'latency'> {
  readonly check: Check;
  readonly latency: { readonly histogramFile: string; readonly count: number } | null;
  readonly repeatMediansMs: readonly number[];
  readonly timeSeriesFile: string | null;
}

type OldRecord = Omit<Figure7, 'points' | 'check'> & { readonly points: readonly OldPoint[] };

const check: Shape<Check> = object<Check>({ passed: aBoolean, detail: aString });

const oldPoint: Shape<OldPoint> = object<OldPoint>({
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
  latency: nullable(
    object<NonNullable<OldPoint['latency']>>({ histogramFile: aFileName, count: anAmount }),
  ),
  repeatMediansMs: list(anAmount),
  generatorLagP99Ms: nullable(anAmount),
  cpuSecondsPerDocument: nullable(anAmount),
  cyclesMeasured: nullable(anAmount),
  timeSeriesFile: nullable(aFileName),
});

const oldRecord: Shape<OldRecord> = object<OldRecord>({
  points: list(oldPoint),
  repository: nullable(
    object<RepositoryDescription>({
      documents: anAmount,
      keysPerTable: anAmount,
      documentBytes: anAmount,
      clusters: anAmount,
      meanClusterSize: anAmount,
      nonSingletonShare: anAmount,
    }),
  ),
  crawl: nullable(
    object<CrawlResult>({
      file: aString,
      pages: anAmount,
      distinctContents: anAmount,
      clusters: anAmount,
      meanClusterSize: anAmount,
      nonSingletonShare: anAmount,
      crossHostDuplicateGroups: anAmount,
      crossHostDuplicates: list(
        object<CrawlResult['crossHostDuplicates'][number]>({
          urls: list(aString),
          shares: aString,
        }),
      ),
      counts: table(anAmount),
      check,
    }),
  ),
  capacity: nullable(
    object<Capacity>({
      percolatorDocumentsPerSecond: nullable(anAmount),
      mapreduceDocumentsPerSecond: nullable(anAmount),
      costRatio: nullable(anAmount),
    }),
  ),
  mapreduceModel: nullable(
    object<MapreduceModel>({ fixedSeconds: aNumber, perRepositorySeconds: aNumber }),
  ),
});

/** The findings of an old record of figure 7; undefined if the value is none. */
export function oldFindings(value: unknown, folder: string): Findings | undefined {
  const { experiment, findings } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (experiment !== 'crawl-rate' || (findings ?? null) !== null) return undefined;
  const old = oldRecord(value, '');
  const failed = old.points.find((point) => !point.check.passed)?.check;
  const points = old.points.map((point) => converted(point, folder));
  const found = figure7Findings({ ...old, points, check: failed ?? ALL_PASSED });
  return { ...SUBJECT, ...found };
}

const ALL_PASSED: Check = {
  passed: true,
  detail: 'at every point all documents are in the clusters that the reference clustering finds',
};

function converted({ latency, timeSeriesFile, ...point }: OldPoint, folder: string): MeasuredPoint {
  const histogram = latency && readHistogram(path.join(folder, latency.histogramFile));
  if (histogram !== null && histogram.totalCount !== latency?.count) {
    throw new UsageError(
      `The histogram ${latency?.histogramFile} must hold the ${latency?.count} documents of its record, but holds ${histogram.totalCount}.`,
    );
  }
  const progress = timeSeriesFile === null ? [] : readProgress(path.join(folder, timeSeriesFile));
  return measuredPoint({ ...point, progress }, histogram);
}

/** A header, then lines of three numbers. */
function readProgress(file: string): readonly ProgressRow[] {
  const [, ...lines] = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const isWhole = lines.pop() === '';
  const rows = lines.map((one) => one.split(',').map(Number));
  const isRow = (row: readonly number[]): boolean => row.length === 3 && row.every(Number.isFinite);
  if (!isWhole || rows.length === 0 || !rows.every(isRow)) {
    throw new UsageError(`The time series ${file} is missing or damaged.`);
  }
  return rows.map(([seconds = 0, arrived = 0, completed = 0]) => ({ seconds, arrived, completed }));
}
