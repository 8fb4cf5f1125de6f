/**
 * One table of the memory store: rows in a Map, their keys in a sorted array, each row's columns in
 * a Map, with their cells in a list.
 *
 * It is correct by being obvious: a read examines every cell of a column and sorts those that pass.
 * Nothing here is shared with the embedded store, neither its key encoding nor its order of bytes,
 * so that the two agree only if both are right.
 */
import { compareTexts, PercolatorError, unreachable } from '../base/index.ts';
import {
  TIMESTAMP_MAX,
  type Cell,
  type CellFilter,
  type ConditionalRowMutation,
  type Mutation,
  type Row,
  type RangeRead,
  type TableSchema,
} from '../bigtable/index.ts';

/** The cells of each column of a row, by `nameOf`; no column without cells. */
type MemoryColumns = Map<string, readonly Cell[]>;

type Erase = Extract<Mutation, { readonly kind: 'erase' }>;

export class MemoryTable {
  readonly schema: TableSchema;
  readonly #rows = new Map<string, MemoryColumns>();
  /** In the order of their UTF-8 bytes. Invariant: the keys of `#rows`, each once. */
  readonly #keys: string[] = [];
  /** Each row's erases, if they also hide what is set later; otherwise undefined. */
  readonly #tombstones: Map<string, Erase[]> | undefined;

  constructor(
    schema: TableSchema,
    { tombstones = false }: { readonly tombstones?: boolean | undefined } = {},
  ) {
    this.schema = schema;
    this.#tombstones = tombstones ? new Map<string, Erase[]>() : undefined;
  }

  readRow(key: string, filters: readonly CellFilter[]): Row | undefined {
    const columns: MemoryColumns = this.#rows.get(key) ?? new Map();
    const cells = filters.flatMap((filter) => choose(columns, filter));
    return cells.length === 0 ? undefined : { key, cells: cells.map(copyOf) };
  }

  readRange(
    { start = '', end, limit, reverse = false }: RangeRead,
    filters: readonly CellFilter[],
  ): Row[] {
    const first = this.#position(start);
    const after = end === undefined ? this.#keys.length : this.#position(end);
    const rows: Row[] = [];
    for (let i = first; i < after && rows.length < limit; i++) {
      const key = this.#keys[reverse ? first + after - 1 - i : i] ?? '';
      const row = this.readRow(key, filters);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** Applies the mutations in the order given; a row without cells does not exist. */
  mutateRow(key: string, mutations: readonly Mutation[]): void {
    const columns: MemoryColumns = this.#rows.get(key) ?? new Map();
    for (const mutation of this.#unhidden(key, mutations)) apply(columns, mutation);
    const position = this.#position(key);
    const existed = this.#keys[position] === key;
    if (columns.size > 0 && !existed) this.#keys.splice(position, 0, key);
    if (columns.size === 0 && existed) this.#keys.splice(position, 1);
    if (columns.size > 0) this.#rows.set(key, columns);
    else this.#rows.delete(key);
  }

  /** Returns whether a cell passed: whether `ifFound` was applied. */
  checkAndMutateRow({
    row,
    anyOf,
    ifFound = [],
    ifNotFound = [],
  }: ConditionalRowMutation): boolean {
    const found = this.readRow(row, anyOf) !== undefined;
    this.mutateRow(row, found ? ifFound : ifNotFound);
    return found;
  }

  /** @throws FAMILY_NOT_FOUND */
  requireFamily(family: string): void {
    if (this.schema.families.includes(family)) return;
    throw new PercolatorError('FAMILY_NOT_FOUND', `the table has no family ${family}`);
  }

  /** The mutations without the sets that an erase hides. */
  #unhidden(key: string, mutations: readonly Mutation[]): readonly Mutation[] {
    const tombstones = this.#tombstones;
    if (tombstones === undefined) return mutations;
    const erases = tombstones.get(key) ?? [];
    tombstones.set(key, erases);
    return mutations.filter((mutation) => {
      if (mutation.kind === 'set') return !erases.some((erase) => passes(mutation, erase));
      erases.push(mutation);
      return true;
    });
  }

  /** The index of the first key that is not before `key`. */
  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareUtf8(this.#keys[middle] ?? '', key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Order of the UTF-8 bytes. JavaScript's own order of strings puts U+10000 before U+FFFF. */
export function compareUtf8(a: string, b: string): number {
  return compareTexts(a, b);
}

/** The cells that pass, by qualifier, then newest first, with at most `versions` of each column. */
function choose(columns: MemoryColumns, filter: CellFilter): readonly Cell[] {
  const { family, qualifier, versions = Infinity } = filter;
  const cells =
    qualifier === undefined
      ? [...columns.values()].flat()
      : (columns.get(nameOf({ family, qualifier })) ?? []);
  const passing = cells.filter((cell) => passes(cell, filter)).toSorted(byColumnThenNewest);
  return passing.filter((cell, i) => passing[i - versions]?.qualifier !== cell.qualifier);
}

/** A family has no colon. */
function nameOf({ family, qualifier }: Pick<Cell, 'family' | 'qualifier'>): string {
  return `${family}:${qualifier}`;
}

function passes(cell: Omit<Cell, 'value'>, filter: CellFilter): boolean {
  const { family, qualifier = cell.qualifier, suffix = '', from = 0, to = TIMESTAMP_MAX } = filter;
  return (
    cell.family === family &&
    cell.qualifier === qualifier &&
    cell.qualifier.endsWith(suffix) &&
    cell.timestamp >= from &&
    cell.timestamp <= to
  );
}

function byColumnThenNewest(a: Cell, b: Cell): number {
  return compareUtf8(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}

/** Changes the one column of the row that the mutation is about. */
function apply(columns: MemoryColumns, mutation: Mutation): void {
  const name = nameOf(mutation);
  const cells = applied(columns.get(name) ?? [], mutation);
  if (cells.length > 0) columns.set(name, cells);
  else columns.delete(name);
}

/** The column's cells after the mutation. */
function applied(cells: readonly Cell[], mutation: Mutation): readonly Cell[] {
  switch (mutation.kind) {
    case 'set': {
      const { family, qualifier, timestamp, value } = mutation;
      const others = cells.filter((cell) => cell.timestamp !== timestamp);
      return [...others, copyOf({ family, qualifier, timestamp, value })];
    }
    case 'erase':
      return cells.filter((cell) => !passes(cell, mutation));
    default:
      return unreachable(mutation);
  }
}

/** Neither a writer nor a reader can change what is stored by changing its array afterwards. */
function copyOf(cell: Cell): Cell {
  return { ...cell, value: Uint8Array.from(cell.value) };
}
