/**
 * The data of one table of a simulated Bigtable: rows in a map, each a short list of cells, by
 * column and then newest first; their keys in order. It gives the same answers as memory-table.ts,
 * which is obviously correct; a test compares the two on random operations.
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
  type RangeRead,
  type TableSchema,
  TIMESTAMP_MAX,
} from '../../../engine/bigtable/index.ts';
import { validateTombstone } from '../../../engine/bigtable/validate.ts';

const { default: BTree } = sortedBTree;

/** Values are copied into slabs: one small buffer for each takes more memory than its bytes. */
const SLAB_BYTES = 2 ** 16;
let slab = new ArrayBuffer(SLAB_BYTES);
let slabUsed = 0;

/** The cells of a row before it is touched, by family, qualifier, then newest first. */
export type Background = (row: string) => Cell[] | undefined;

export interface TableOptions {
  /** Whether erases also hide what is set later, as in HBase. Default: no. */
  readonly tombstones?: boolean | undefined;
}

export class TableData {
  readonly schema: TableSchema;
  background: Background | undefined;
  /** Bytes of the rows that the background makes, before any of them is touched. */
  backgroundBytes = 0;
  /** Bytes of values and names that were set, less those erased. */
  bytes = 0;
  readonly #rows = new Map<string, Cell[]>();
  /** In order, without `#newKeys`. Made by the first read of a range. */
  #keys: InstanceType<typeof BTree<string, undefined>> | undefined;
  /** Keys that have come since the last read of a range: many tables are never read by range. */
  readonly #newKeys = new Set<string>();
  /** Undefined unless erases also hide what is set later. */
  readonly #tombstones: Tombstones | undefined;

  constructor(schema: TableSchema, { tombstones = false }: TableOptions = {}) {
    this.schema = schema;
    this.#tombstones = tombstones ? new Tombstones() : undefined;
  }

  get rows(): number {
    return this.#rows.size;
  }

  /** A table like this one, without rows. */
  emptied(): TableData {
    return new TableData(this.schema, { tombstones: this.#tombstones !== undefined });
  }

  /** Whether the row has been written, so that it is in memory. */
  isTouched(key: string): boolean {
    return this.#rows.has(key);
  }

  #requireFamilies(named: readonly { readonly family: string }[]): void {
    const { families } = this.schema;
    for (const { family } of named) {
      if (families.includes(family)) continue;
      throw new PercolatorError('FAMILY_NOT_FOUND', `the table has no family ${family}`);
    }
  }

  /** @throws FAMILY_NOT_FOUND */
  readRow(key: string, filters: readonly CellFilter[]): Row | undefined {
    this.#requireFamilies(filters);
    return this.#read(key, filters);
  }

  /** @throws FAMILY_NOT_FOUND */
  readRange(
    { start = '', end, limit, reverse = false }: RangeRead,
    filters: readonly CellFilter[],
  ): Row[] {
    this.#requireFamilies(filters);
    const keys = (this.#keys ??= new BTree<string, undefined>(undefined, compareKeys));
    for (const key of this.#newKeys) keys.set(key, undefined);
    this.#newKeys.clear();
    const rows: Row[] = [];
    const entries = reverse ? keys.entriesReversed(end, [], true) : keys.entries(start, []);
    for (const [key] of entries) {
      const isOver = reverse
        ? compareKeys(key, start) < 0
        : end !== undefined && compareKeys(key, end) >= 0;
      if (isOver || rows.length >= limit) break;
      const row = this.#read(key, filters);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** @throws FAMILY_NOT_FOUND */
  checkAndMutateRow({
    row,
    anyOf,
    ifFound = [],
    ifNotFound = [],
  }: ConditionalRowMutation): boolean {
    for (const named of [anyOf, ifFound, ifNotFound]) this.#requireFamilies(named);
    const cells = this.#rows.get(row) ?? this.background?.(row);
    const found = cells !== undefined && anyOf.some((filter) => hasAny(cells, filter));
    this.#mutate(row, found ? ifFound : ifNotFound);
    return found;
  }

  /** @throws FAMILY_NOT_FOUND */
  mutateRow(key: string, mutations: readonly Mutation[]): void {
    this.#requireFamilies(mutations);
    this.#mutate(key, mutations);
  }

  #read(key: string, filters: readonly CellFilter[]): Row | undefined {
    const row = this.#rows.get(key) ?? this.background?.(key);
    if (row === undefined) return undefined;
    const cells: Cell[] = [];
    for (const filter of filters) collect(row, filter, cells);
    return cells.length === 0 ? undefined : { key, cells };
  }

  #mutate(key: string, mutations: readonly Mutation[]): void {
    if (mutations.length === 0) return;
    let cells = this.#rows.get(key);
    if (cells === undefined) {
      cells = this.background?.(key) ?? [];
      this.#rows.set(key, cells);
      this.#newKeys.add(key);
    }
    for (const mutation of mutations) {
      if (mutation.kind === 'erase') {
        this.#tombstones?.add(key, mutation);
        this.bytes -= erase(cells, mutation);
      } else if (this.#tombstones?.hides(key, mutation) !== true) {
        this.bytes += put(cells, mutation);
      }
    }
    // Without cells, a row of the background stays: it would otherwise have its old cells again.
    if (cells.length > 0 || this.background?.(key) !== undefined) return;
    this.#rows.delete(key);
    if (!this.#newKeys.delete(key)) this.#keys?.delete(key);
  }
}

/** The tables of one simulated Bigtable, by name. */
export class TableSet extends Map<string, TableData> {
  readonly #options: TableOptions;

  constructor(options: TableOptions = {}) {
    super();
    this.#options = options;
  }

  /**
   * Returns the table if it is new.
   * @throws TABLE_MISMATCH if it exists with other families or splits
   */
  create(name: string, schema: TableSchema): TableData | undefined {
    const wanted = normalized(schema);
    const existing = this.get(name);
    if (existing === undefined) {
      const made = new TableData(wanted, this.#options);
      this.set(name, made);
      return made;
    }
    if (JSON.stringify(existing.schema) === JSON.stringify(wanted)) return undefined;
    throw new PercolatorError('TABLE_MISMATCH', `table ${name} exists with another schema`);
  }

  /** @throws TABLE_NOT_FOUND */
  require(name: string): TableData {
    const table = this.get(name);
    if (table !== undefined) return table;
    throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${name}`);
  }
}

/** Schemas are compared as sets. */
function normalized({ families, splits = [] }: TableSchema): TableSchema {
  return {
    families: [...new Set(families)].toSorted(compareKeys),
    splits: [...new Set(splits)].toSorted(compareKeys),
  };
}

/** The erases of a table's rows, kept because they hide what is set later. */
class Tombstones {
  /** Of one column: the erases of all timestamps up to `upTo`, and of the single ones in `at`. */
  readonly #columns = new Map<string, { upTo: number; readonly at: Set<number> }>();

  add(row: string, mutation: Mutation & { readonly kind: 'erase' }): void {
    validateTombstone(mutation);
    const { from, to } = mutation;
    const name = columnName(row, mutation);
    const erased = this.#columns.get(name) ?? { upTo: -1, at: new Set() };
    this.#columns.set(name, erased);
    if (from === to) erased.at.add(to);
    else erased.upTo = Math.max(erased.upTo, to);
  }

  hides(row: string, mutation: Mutation & { readonly kind: 'set' }): boolean {
    const erased = this.#columns.get(columnName(row, mutation));
    if (erased === undefined) return false;
    return mutation.timestamp <= erased.upTo || erased.at.has(mutation.timestamp);
  }
}

function columnName(row: string, { family, qualifier }: Mutation): string {
  return JSON.stringify([row, family, qualifier]);
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

function collect(row: readonly Cell[], filter: CellFilter, found: Cell[]): void {
  const { family, qualifier, suffix = '', from = 0, to = TIMESTAMP_MAX, versions } = filter;
  let column = qualifier;
  let left = versions ?? Infinity;
  for (let i = placeIn(row, family, qualifier ?? '', to); i < row.length; i++) {
    const cell = row[i] as Cell;
    if (cell.family !== family) return;
    if (cell.qualifier !== column) {
      if (qualifier !== undefined) return;
      column = cell.qualifier;
      left = versions ?? Infinity;
    }
    const { timestamp } = cell;
    if (timestamp > to || timestamp < from || left === 0 || !column.endsWith(suffix)) continue;
    left--;
    found.push(cell);
  }
}

function hasAny(row: readonly Cell[], filter: CellFilter): boolean {
  const found: Cell[] = [];
  collect(row, filter, found);
  return found.length > 0;
}

/**
 * The index of the first cell that is not before this column and timestamp. A row has few cells, of
 * which each filter wants fewer.
 */
function placeIn(
  cells: readonly Cell[],
  family: string,
  qualifier: string,
  timestamp: number,
): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(cells[middle] as Cell, family, qualifier, timestamp)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(cell: Cell, family: string, qualifier: string, timestamp: number): boolean {
  if (cell.family !== family) return cell.family < family;
  if (cell.qualifier === qualifier) return cell.timestamp > timestamp;
  return compareKeys(cell.qualifier, qualifier) < 0;
}

/** Returns by how many bytes the row grows. */
function put(cells: Cell[], mutation: Mutation & { readonly kind: 'set' }): number {
  const { family, qualifier, timestamp, value } = mutation;
  const cell: Cell = { family, qualifier, timestamp, value: ownCopy(value) };
  const i = placeIn(cells, family, qualifier, timestamp);
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
  const { family, qualifier, from, to } = mutation;
  const first = placeIn(cells, family, qualifier, to);
  let end = first;
  for (let cell = cells[end]; cell !== undefined && cell.timestamp >= from; cell = cells[++end]) {
    if (cell.family !== family || cell.qualifier !== qualifier) break;
  }
  return cells.splice(first, end - first).reduce((bytes, cell) => bytes + bytesOf(cell), 0);
}

/**
 * A name, a timestamp and a length for each cell, as in a file of Bigtable's before compression.
 */
const BYTES_PER_CELL = 24;

export function bytesOf({ value }: { readonly value: Uint8Array }): number {
  return BYTES_PER_CELL + value.length;
}

/**
 * UTF-16 code units order as UTF-8 bytes do, except that surrogates are smaller than the units from
 * U+E000 on, but belong after them.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA === unitB) continue;
    const isPairA = unitA >= 0xd800 && unitA < 0xe000;
    const isPairB = unitB >= 0xd800 && unitB < 0xe000;
    if (isPairA !== isPairB) return isPairA ? 1 : -1;
    return unitA - unitB;
  }
  return a.length - b.length;
}
