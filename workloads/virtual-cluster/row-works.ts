/**
 * What each kind of operation asks of one row, or of one tablet: what it weighs on its way, what
 * the server does, and what the caller hears.
 */
import type {
  CellFilter,
  ConditionalRowMutation,
  Mutation,
  RangeRead,
  Row,
  RowMutation,
  RowRange,
} from '../../engine/bigtable/index.ts';
import { RowWork } from './call.ts';
import { bytesOf, compareKeys } from '../verification/world/table.ts';
import type { Storage } from './storage.ts';
import type { Tablet } from './tablets.ts';

/** A filter on the wire. */
const FILTER_BYTES = 32;
/** A mutation without a value: an erase. */
const ERASE_BYTES = 32;

export interface Settlers<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export class ReadWork extends RowWork {
  readonly #filters: readonly CellFilter[];
  readonly #settlers: Settlers<Row | undefined>;
  #found: Row | undefined;

  constructor(
    {
      table,
      row,
      filters,
    }: Readonly<Record<'table' | 'row', string>> & {
      readonly filters: readonly CellFilter[];
    },
    settlers: Settlers<Row | undefined>,
  ) {
    super(table, row, { cells: 0, bytes: row.length + FILTER_BYTES * filters.length });
    this.#filters = filters;
    this.#settlers = settlers;
  }

  serve(storage: Storage): void {
    const data = storage.table(this.table);
    this.#found = data.readRow(this.row, this.#filters);
    countCells(this, this.#found);
  }

  settle(): void {
    this.#settlers.resolve(this.#found);
  }

  fail(error: unknown): void {
    this.#settlers.reject(error);
  }
}

export interface Scanned {
  readonly rows: readonly Row[];
  /** The part of the range in the tablets that the scan has yet to come to, if there are any. */
  readonly rest: RangeRead | undefined;
}

export interface TabletScan {
  readonly table: string;
  readonly range: RangeRead;
  readonly filters: readonly CellFilter[];
}

/** The part of a scan in one tablet: that of `row`, a row of the range. */
export class ScanWork extends RowWork {
  readonly #range: RangeRead;
  readonly #filters: readonly CellFilter[];
  readonly #settlers: Settlers<Scanned>;
  #scanned: Scanned = { rows: [], rest: undefined };

  constructor(
    { table, range, filters }: TabletScan,
    { row, ...settlers }: Settlers<Scanned> & { readonly row: string },
  ) {
    // Start and end, taken to be equally long.
    const bytes = 2 * (range.start?.length ?? 0) + FILTER_BYTES * filters.length;
    super(table, row, { cells: 0, bytes });
    this.#range = range;
    this.#filters = filters;
    this.#settlers = settlers;
  }

  serve(storage: Storage, tablet: Tablet): void {
    const data = storage.table(this.table);
    const after = storage.tablets.endOf(tablet);
    const { own, rest } = partsOf(this.#range, { start: tablet.start, end: after });
    const rows = own === undefined ? [] : data.readRange(own, this.#filters);
    for (const row of rows) countCells(this, row);
    this.rows = rows.length;
    this.#scanned = { rows, rest };
  }

  settle(): void {
    this.#settlers.resolve(this.#scanned);
  }

  fail(error: unknown): void {
    this.#settlers.reject(error);
  }
}

/** What a scan reads of one tablet, and what it then has yet to read. */
function partsOf(
  range: RangeRead,
  tablet: RowRange,
): { readonly own: RangeRead | undefined; readonly rest: RangeRead | undefined } {
  const { start = '', end, reverse = false } = range;
  const isCut = tablet.end !== undefined && (end === undefined || compareKeys(tablet.end, end) < 0);
  if (!reverse) {
    if (!isCut) return { own: range, rest: undefined };
    return { own: { ...range, end: tablet.end }, rest: { ...range, start: tablet.end } };
  }
  // The tablet was split while the call was on its way: the scan begins in the other part.
  if (isCut) return { own: undefined, rest: range };
  const first = tablet.start ?? '';
  if (compareKeys(first, start) <= 0) return { own: range, rest: undefined };
  return { own: { ...range, start: first }, rest: { ...range, end: first } };
}

export class ConditionalWork extends RowWork {
  readonly #conditional: ConditionalRowMutation;
  readonly #settlers: Settlers<boolean>;
  #found = false;

  constructor(conditional: ConditionalRowMutation, settlers: Settlers<boolean>) {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    const bytes =
      row.length + FILTER_BYTES * anyOf.length + sizeOf(ifFound).bytes + sizeOf(ifNotFound).bytes;
    const cells = sizeOf(ifFound).cells + sizeOf(ifNotFound).cells;
    super(table, row, { cells, bytes }, conditional.provisional);
    this.#conditional = conditional;
    this.#settlers = settlers;
  }

  serve(storage: Storage): void {
    const { ifFound = [], ifNotFound = [] } = this.#conditional;
    const data = storage.table(this.table);
    this.#found = data.checkAndMutateRow(this.#conditional);
    storage.observe?.(this.table, this.row, this.#found ? ifFound : ifNotFound);
  }

  settle(): void {
    this.#settlers.resolve(this.#found);
  }

  fail(error: unknown): void {
    this.#settlers.reject(error);
  }
}

export class MutateWork extends RowWork {
  readonly #mutations: readonly Mutation[];
  readonly #settlers: Settlers<void>;

  constructor({ table, row, mutations, provisional }: RowMutation, settlers: Settlers<void>) {
    const { cells, bytes } = sizeOf(mutations);
    super(table, row, { cells, bytes: row.length + bytes }, provisional);
    this.#mutations = mutations;
    this.#settlers = settlers;
  }

  serve(storage: Storage): void {
    const data = storage.table(this.table);
    data.mutateRow(this.row, this.#mutations);
    storage.observe?.(this.table, this.row, this.#mutations);
  }

  settle(): void {
    this.#settlers.resolve();
  }

  fail(error: unknown): void {
    this.#settlers.reject(error);
  }
}

function countCells(work: RowWork, row: Row | undefined): void {
  if (row === undefined) return;
  work.answerCells += row.cells.length;
  work.answerBytes += row.key.length;
  for (const cell of row.cells) work.answerBytes += bytesOf(cell);
}

function sizeOf(mutations: readonly Mutation[]): { cells: number; bytes: number } {
  let bytes = 0;
  for (const one of mutations) bytes += one.kind === 'set' ? bytesOf(one) : ERASE_BYTES;
  return { cells: mutations.length, bytes };
}
