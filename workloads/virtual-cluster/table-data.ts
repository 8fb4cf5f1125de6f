/**
 * The data of one table: rows in a map, each a short list of cells; their keys in order.
 *
 * Memory is bounded by the rows that a run touches: a table may have a background, a function that
 * makes the cells of a row that has not been touched. The background stands for a repository that
 * is too large to be kept; a row of it is kept from its first mutation on. Ranges do not see the
 * background.
 */
import sortedBTree from 'sorted-btree';
import { PercolatorError } from '#engine/base';
import {
  type Cell,
  type CellFilter,
  type ConditionalRowMutation,
  type Mutation,
  type Row,
  type RowRange,
  type TableSchema,
  TIMESTAMP_MAX,
} from '../../engine/bigtable/index.ts';
import { compareKeys } from './key-order.ts';

const { default: BTree } = sortedBTree;

/** Values are copied into slabs: one small buffer for each takes more memory than its bytes. */
const SLAB_BYTES = 2 ** 16;
let slab = new ArrayBuffer(SLAB_BYTES);
let slabUsed = 0;

/** The cells of a row before it is touched, by family, qualifier, then newest first. */
export type Background = (row: string) => Cell[] | undefined;

export class TableData {
  readonly schema: TableSchema;
  background: Background | undefined;
  /** Bytes of the rows that the background makes, before any of them is touched. */
  backgroundBytes = 0;
  /** Bytes of values and names that were set, less those erased. */
  bytes = 0;
  readonly #families: ReadonlySet<string>;
  readonly #rows = new Map<string, Cell[]>();
  /** In order, without `#newKeys`. */
  readonly #keys = new BTree<string, undefined>(undefined, compareKeys);
  /** Keys that have come since the last read of a range: many tables are never read by range. */
  readonly #newKeys = new Set<string>();

  constructor(schema: TableSchema) {
    this.schema = schema;
    this.#families = new Set(schema.families);
  }

  get rows(): number {
    return this.#rows.size;
  }

  /** Whether the row has been written, so that it is in memory. */
  isTouched(key: string): boolean {
    return this.#rows.has(key);
  }

  /** @throws FAMILY_NOT_FOUND */
  requireFamily(family: string): void {
    if (this.#families.has(family)) return;
    throw new PercolatorError('FAMILY_NOT_FOUND', `the table has no family ${family}`);
  }

  readRow(key: string, filters: readonly CellFilter[]): Row | undefined {
    const row = this.#rows.get(key) ?? this.background?.(key);
    if (row === undefined) return undefined;
    const cells: Cell[] = [];
    for (const filter of filters) collect(row, filter, cells);
    return cells.length === 0 ? undefined : { key, cells };
  }

  readRange(
    { start = '', end, limit }: RowRange & { readonly limit: number },
    filters: readonly CellFilter[],
  ): Row[] {
    for (const key of this.#newKeys) this.#keys.set(key, undefined);
    this.#newKeys.clear();
    const rows: Row[] = [];
    for (const [key] of this.#keys.entries(start, [])) {
      if (rows.length >= limit || (end !== undefined && compareKeys(key, end) >= 0)) break;
      const row = this.readRow(key, filters);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  checkAndMutateRow({
    row,
    anyOf,
    ifFound = [],
    ifNotFound = [],
  }: ConditionalRowMutation): boolean {
    const cells = this.#rows.get(row) ?? this.background?.(row);
    const found = cells !== undefined && anyOf.some((filter) => hasAny(cells, filter));
    this.mutateRow(row, found ? ifFound : ifNotFound);
    return found;
  }

  mutateRow(key: string, mutations: readonly Mutation[]): void {
    if (mutations.length === 0) return;
    let cells = this.#rows.get(key);
    if (cells === undefined) {
      cells = this.background?.(key) ?? [];
      this.#rows.set(key, cells);
      this.#newKeys.add(key);
    }
    for (const mutation of mutations) {
      if (mutation.kind === 'set') this.bytes += put(cells, mutation);
      else this.bytes -= erase(cells, mutation);
    }
    // Without cells, a row of the background stays: it would otherwise have its old cells again.
    if (cells.length > 0 || this.background?.(key) !== undefined) return;
    this.#rows.delete(key);
    if (!this.#newKeys.delete(key)) this.#keys.delete(key);
  }
}

/** The index of the first key that is not before `key`. */
export function positionOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] ?? '', key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function passes(cell: Cell, filter: CellFilter): boolean {
  const { family, qualifier, suffix, from = 0, to = TIMESTAMP_MAX } = filter;
  if (qualifier !== undefined && cell.qualifier !== qualifier) return false;
  if (cell.family !== family || cell.timestamp < from || cell.timestamp > to) return false;
  return suffix === undefined || cell.qualifier.endsWith(suffix);
}

function collect(row: readonly Cell[], filter: CellFilter, to: Cell[]): void {
  const { versions } = filter;
  let column: string | undefined;
  let taken = 0;
  for (const cell of row) {
    if (!passes(cell, filter)) continue;
    if (cell.qualifier !== column) {
      column = cell.qualifier;
      taken = 0;
    }
    if (versions === undefined || taken < versions) to.push(cell);
    taken++;
  }
}

function hasAny(row: readonly Cell[], filter: CellFilter): boolean {
  for (const cell of row) if (passes(cell, filter)) return true;
  return false;
}

/** Returns by how many bytes the row grows. */
function put(cells: Cell[], mutation: Mutation & { readonly kind: 'set' }): number {
  const { family, qualifier, timestamp, value } = mutation;
  const cell: Cell = { family, qualifier, timestamp, value: ownCopy(value) };
  let i = 0;
  while (i < cells.length && isBefore(cells[i], cell)) i++;
  const old = cells[i];
  const replaces =
    old?.timestamp === timestamp && old.qualifier === qualifier && old.family === family;
  cells.splice(i, replaces ? 1 : 0, cell);
  return bytesOf(cell) - (replaces ? bytesOf(old) : 0);
}

/**
 * A copy of the value, unless it is large. Without it, a value of a few bytes might keep in memory
 * the whole message that brought it, or the eight kilobytes into which its client encoded it.
 */
function ownCopy(value: Uint8Array): Uint8Array {
  const { length } = value;
  if (length > SLAB_BYTES / 8) return value;
  if (slabUsed + length > SLAB_BYTES) {
    slab = new ArrayBuffer(SLAB_BYTES);
    slabUsed = 0;
  }
  const copy = new Uint8Array(slab, slabUsed, length);
  copy.set(value);
  slabUsed += length;
  return copy;
}

/** Returns by how many bytes the row shrinks. */
function erase(cells: Cell[], mutation: Mutation & { readonly kind: 'erase' }): number {
  let bytes = 0;
  for (let i = cells.length - 1; i >= 0; i--) {
    const cell = cells[i];
    if (cell === undefined || !passes(cell, mutation)) continue;
    bytes += bytesOf(cell);
    cells.splice(i, 1);
  }
  return bytes;
}

function isBefore(a: Cell | undefined, b: Cell): boolean {
  if (a === undefined) return false;
  if (a.family !== b.family) return a.family < b.family;
  if (a.qualifier === b.qualifier) return a.timestamp > b.timestamp;
  return compareKeys(a.qualifier, b.qualifier) < 0;
}

/**
 * A name, a timestamp and a length for each cell, as in a file of Bigtable's before compression.
 */
const BYTES_PER_CELL = 24;

export function bytesOf({ value }: { readonly value: Uint8Array }): number {
  return BYTES_PER_CELL + value.length;
}
