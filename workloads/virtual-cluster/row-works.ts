/**
 * What each kind of operation asks of one row, or of one tablet: what it weighs on its way, what
 * the server does, and what the caller hears.
 */
import type {
  CellFilter,
  ConditionalRowMutation,
  Mutation,
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
  /**
   * Where the next tablet begins, even if the range ends before it; undefined after the table's
   * last tablet.
   */
  readonly next: string | undefined;
}

export interface TabletScan {
  readonly table: string;
  readonly range: RowRange & { readonly limit: number };
  readonly filters: readonly CellFilter[];
}

export class ScanWork extends RowWork {
  readonly #range: RowRange & { readonly limit: number };
  readonly #filters: readonly CellFilter[];
  readonly #settlers: Settlers<Scanned>;
  #scanned: Scanned = { rows: [], next: undefined };

  constructor({ table, range, filters }: TabletScan, settlers: Settlers<Scanned>) {
    // Start and end, taken to be equally long.
    const bytes = 2 * (range.start?.length ?? 0) + FILTER_BYTES * filters.length;
    super(table, range.start ?? '', { cells: 0, bytes });
    this.#range = range;
    this.#filters = filters;
    this.#settlers = settlers;
  }

  serve(storage: Storage, tablet: Tablet): void {
    const data = storage.table(this.table);
    const next = storage.tablets.endOf(tablet);
    const { end = next, limit, start } = this.#range;
    const until =
      next !== undefined && end !== undefined && compareKeys(next, end) < 0 ? next : end;
    const rows = data.readRange({ start, end: until, limit }, this.#filters);
    for (const row of rows) countCells(this, row);
    this.rows = rows.length;
    this.#scanned = { rows, next };
  }

  settle(): void {
    this.#settlers.resolve(this.#scanned);
  }

  fail(error: unknown): void {
    this.#settlers.reject(error);
  }
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
