/**
 * What a scan is asked for: which rows, what of them, and how they are read.
 *
 *     prefix ──▶ the range of the keys that begin with it ─┐
 *     start, end ──────────────────────────────────────────┴─▶ rows that are in both
 *     columns ──▶ filters for each of them; without columns, filters for all of the row's
 *
 * A scan of keys alone asks for locks and write records: they say which rows have a value, and no
 * value is sent.
 */
import { compareTexts, PercolatorError } from '../base/index.ts';
import {
  checkOptions,
  COUNT,
  FLAG,
  type OptionRules,
  SIGNAL,
  TEXT,
  TEXTS,
} from '../base/options.ts';
import type { CellFilter, Row, Timestamp } from '../bigtable/index.ts';
import { checkUserColumn, columnOf, DATA, everywhere, isOfEngine } from './columns.ts';
import { filtersFor, recordFilters } from './snapshot-read.ts';

export interface ScanRange {
  readonly table: string;
  /** First row, inclusive; default: the first row of the table. */
  readonly start?: string | undefined;
  /** Exclusive; default: the end of the table. */
  readonly end?: string | undefined;
  /** Only rows whose key begins with it; with `start` or `end`, of the rows in their range. */
  readonly prefix?: string | undefined;
  /**
   * The columns wanted; rows that have none of them are left out. Default: all, which reads all
   * that a row has. Name the columns where rows are wide.
   */
  readonly columns?: readonly string[] | undefined;
  /** The most rows; those that come first. Default: all. */
  readonly limit?: number | undefined;
  /** Whether the rows come in reverse key order: the last row first. Default false. */
  readonly reverse?: boolean | undefined;
  /**
   * Whether only the keys are wanted: of the rows with a value in one of the columns. `values` is
   * then empty, and no value is read. Default false.
   */
  readonly keysOnly?: boolean | undefined;
  /** Ends the scan, which then throws the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Rows per read of the storage. Default 128. Too small: a round trip for every few rows. Too
   * large: memory, and work thrown away when the caller stops early.
   */
  readonly batchRows?: number | undefined;
}

/** Of all but the table. */
export const ROWS_RULES: OptionRules<Omit<ScanRange, 'table'>> = {
  start: TEXT,
  end: TEXT,
  prefix: TEXT,
  columns: TEXTS,
  limit: COUNT,
  reverse: FLAG,
  keysOnly: FLAG,
  signal: SIGNAL,
  batchRows: COUNT,
};

const RULES: OptionRules<ScanRange> = { table: TEXT, ...ROWS_RULES };

const BATCH_ROWS = 128;

/** A checked copy: the caller may use its object again. */
export interface CheckedRange {
  readonly table: string;
  readonly start: string;
  readonly end: string | undefined;
  /** Undefined: all of the row's. */
  readonly columns: readonly string[] | undefined;
  readonly limit: number;
  readonly reverse: boolean;
  readonly keysOnly: boolean;
  readonly batchRows: number;
  readonly signal: AbortSignal | undefined;
}

/** @throws INVALID_ARGUMENT */
export function checkedRange(range: ScanRange): CheckedRange {
  checkOptions('scan', range, RULES, ['table']);
  const { table, columns, limit = Infinity, keysOnly = false, batchRows = BATCH_ROWS } = range;
  const { reverse = false, signal } = range;
  columns?.forEach(checkUserColumn);
  const { start, end } = boundsOf(range);
  return {
    table,
    start,
    end,
    columns: columns && [...columns],
    limit,
    reverse,
    keysOnly,
    batchRows,
    signal,
  };
}

function boundsOf({
  start = '',
  end,
  prefix = '',
}: ScanRange): Pick<CheckedRange, 'start' | 'end'> {
  if (!prefix.isWellFormed()) {
    const message = `prefix ${JSON.stringify(prefix)} is not well-formed Unicode`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const after = afterPrefix(prefix);
  const isEarlier = after !== undefined && (end === undefined || compareTexts(after, end) < 0);
  return {
    start: compareTexts(prefix, start) > 0 ? prefix : start,
    end: isEarlier ? after : end,
  };
}

const LAST_CODE_POINT = 0x10_ff_ff;
const SURROGATES = { first: 0xd8_00, after: 0xe0_00 };

/** The first key after all that begin with the prefix; undefined if none comes after them. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.after : last + 1;
  return String.fromCodePoint(...points, next);
}

/** What to read of each row. */
export function filtersOfRange(
  { columns, keysOnly }: CheckedRange,
  startTimestamp: Timestamp,
): CellFilter[] {
  if (columns !== undefined) {
    const filters = keysOnly ? recordFilters : filtersFor;
    return columns.flatMap((column) => filters(column, startTimestamp));
  }
  const to = startTimestamp;
  const records = recordFilters(undefined, to);
  return keysOnly ? records : [...records, { ...everywhere(DATA), to, versions: 2 }];
}

/** Whether the column is one of those, or, without a list, any column of users. */
export function isOfColumns({ columns }: Pick<CheckedRange, 'columns'>, column: string): boolean {
  return columns === undefined ? !isOfEngine(column) : columns.includes(column);
}

/**
 * The columns that a scan wants of a row that was read. All of its columns are in the read: a
 * column that is first locked later belongs to a transaction that commits above the snapshot.
 */
export function columnsOf(range: CheckedRange, row: Row): readonly string[] {
  if (range.columns !== undefined) return range.columns;
  return [...new Set(row.cells.map(columnOf))].filter((column) => isOfColumns(range, column));
}
