/**
 * `run.json`: the record on disk. It is written whole and atomically. One parser reads it, and
 * either returns a `RunRecord` or says in one sentence which file is wrong and why.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { oldFindings } from './figure-7/old-record.ts';
import type * as record from './run-record.ts';
import { FORMAT_VERSION, type RunRecord } from './run-record.ts';
import {
  aBoolean,
  addedLater,
  aFileName,
  anAmount,
  aNumber,
  aString,
  either,
  type JsonSchema,
  list,
  nullable,
  object,
  oneOf,
  type Shape,
  table,
} from './shape.ts';
import { UsageError } from './usage-error.ts';

export const RECORD_FILE = 'run.json';

/**
 * The file's content. Refuses values that could not be read back, such as a NaN where a number must
 * be, while the stack still shows their origin. Where null is allowed, a NaN becomes null.
 */
export function recordText(record: RunRecord): string {
  const json = JSON.stringify(record, null, 2);
  parseRunRecord(JSON.parse(json), '');
  return `${json}\n`;
}

export function readRunRecord(folder: string): RunRecord {
  return readRecordFile(path.join(folder, RECORD_FILE));
}

/** @param file a record under any name */
export function readRecordFile(file: string): RunRecord {
  try {
    return parseRunRecord(JSON.parse(readText(file)), path.dirname(file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The run record ${file} cannot be used: ${reason}.`, {
      cause: error,
    });
  }
}

function readText(file: string): string {
  try {
    // To open a pipe may block for ever.
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT' ? 'there is none' : error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `The folder of a run must hold a ${RECORD_FILE}, but ${file} cannot be read: ${reason}.`,
      { cause: error },
    );
  }
}

/* The parser: each type of the record with its shape. */

/**
 * @param folder where the record is: an old one has files next to it
 * @throws an error that names the first place where `value` is not a run record of this format
 */
function parseRunRecord(value: unknown, folder: string): record.RunRecord {
  refuseNewerFormat(value);
  const old = oldFindings(value, folder);
  const parsed = runRecord(
    old === undefined ? value : Object.assign({}, value, { findings: old }),
    '',
  );
  const { findings } = parsed;
  const isWrong = !findings.check.passed && findings.kind !== 'proof';
  if (isWrong && findings.tables.length > 0) {
    throw new Error('findings have tables although their check failed');
  }
  for (const one of findings.tables) checkMetrics(one);
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

const axis: Shape<record.ResultAxis> = object<record.ResultAxis>({
  title: aString,
  scale: oneOf('linear', 'logarithmic'),
  ticks: list(object<record.ResultAxis['ticks'][number]>({ at: aNumber, label: aString })),
  max: addedLater(aNumber),
});

const marks: Shape<readonly record.ResultMark[]> = list(
  object<record.ResultMark>({
    x: aNumber,
    y: aNumber,
    low: nullable(aNumber),
    high: nullable(aNumber),
    samples: addedLater(aNumber),
    label: addedLater(aString),
  }),
);

const series: Shape<record.ResultSeries> = object<record.ResultSeries>({
  name: aString,
  look: oneOf('percolator', 'other', 'paper'),
  isLine: aBoolean,
  sameAs: addedLater(aString),
  isUnbounded: addedLater(aBoolean),
  isOff: addedLater(aBoolean),
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
      spans: addedLater(
        list(object<record.ResultSpan>({ from: aNumber, to: nullable(aNumber), label: aString })),
      ),
      gap: addedLater(object<{ upper: string; lower: string }>({ upper: aString, lower: aString })),
    }),
  ),
});

const timeline: Shape<record.Timeline> = object<record.Timeline>({
  panels: list(
    object<record.TimelinePanel>({
      name: aFileName,
      title: aString,
      unit: aString,
      series: list(
        object<record.TimelineSeries>({
          name: aString,
          isTarget: aBoolean,
          points: list(
            object<record.TimelinePoint>({ seconds: aNumber, value: nullable(aNumber) }),
          ),
        }),
      ),
    }),
  ),
  events: list(
    object<record.TimelineEvent>({ from: aNumber, to: nullable(aNumber), label: aString }),
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
  findings,
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
  doubts: addedLater(list(aString)),
  timeline: addedLater(timeline),
});

/** The shape of run.json for other programs, as a JSON Schema (docs/run.schema.json). */
export const RECORD_SCHEMA: JsonSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'The record of a run of percolator-bench',
  description:
    'results/report/run-record.ts says what each field means. Fields that are not required are missing in older records; the oldest of figure 7, whose findings are null, have another shape.',
  ...runRecord.schema,
};
