/**
 * The progress of a point: documents arrived and clustered, several times a second for Percolator,
 * and at the end of each run for MapReduce.
 */
import { readFileSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import { UsageError } from './usage-error.ts';
import { writeFileAtomically } from './write-file.ts';

export interface TimeSeriesRow {
  /** Since the point began, warm-up included. */
  readonly seconds: number;
  /** Documents so far, by their scheduled arrival. */
  readonly arrived: number;
  /** Documents clustered so far. `arrived - completed` is the backlog. */
  readonly completed: number;
}

const COLUMNS = ['seconds', 'arrived', 'completed'] as const;

export function writeTimeSeries(file: string, rows: readonly TimeSeriesRow[]): void {
  writeFileAtomically(file, stringify([...rows], { header: true, columns: [...COLUMNS] }));
}

/** Reads a file of `writeTimeSeries`: a header, then at least one line of three numbers. */
export function readTimeSeries(file: string): readonly TimeSeriesRow[] {
  const [header, ...lines] = readText(file).split('\n');
  if (header !== COLUMNS.join(',') || lines.pop() !== '' || lines.length === 0) {
    throw new UsageError(
      `The time series ${file} must have the header ${COLUMNS.join(',')} and complete lines, but ` +
        'is damaged.',
    );
  }
  return lines.map((line, index) => {
    const [seconds = Number.NaN, arrived = Number.NaN, completed = Number.NaN] =
      /^-?[\d.e-]+,\d+,\d+$/.test(line) ? line.split(',').map(Number) : [];
    if (Number.isFinite(seconds + arrived + completed)) return { seconds, arrived, completed };
    throw new UsageError(
      `The time series ${file} must have three numbers per line, but line ${index + 2} is ` +
        `${JSON.stringify(line)}.`,
    );
  });
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The time series ${file} is named in the record, but cannot be read.`, {
      cause: error,
    });
  }
}
