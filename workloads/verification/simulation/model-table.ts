/**
 * One table of the simulator's Bigtable: the same answers as memory-table.ts, which is obviously
 * correct, from a structure that is fast. A test compares the two on random operations.
 *
 *     rows ─▶ family ─▶ qualifier ─▶ cells, newest first
 *
 * Cells are shared with their readers, not copied: the engine changes no value that it has sent or
 * read.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import { TIMESTAMP_MAX } from '../../../engine/bigtable/index.ts';
import type {
  Cell,
  CellFilter,
  ConditionalRowMutation,
  Mutation,
  Row,
  RowRange,
} from '../../../engine/bigtable/index.ts';
import { validateTombstone } from '../../../engine/bigtable/validate.ts';
import { compareUtf8 } from '../../../engine/testing/memory-table.ts';

/** The erases of one column: of all timestamps up to `upTo`, and of the single ones in `at`. */
interface Tombstones {
  upTo: number;
  readonly at: Set<number>;
}

type Columns = Map<string, Cell[]>;
type Families = Map<string, Columns>;

export class ModelTable {
  readonly splits: readonly string[];
  /** Undefined: any family is allowed. */
  readonly #families: ReadonlySet<string> | undefined;
  readonly #rows = new Map<string, Families>();
  /** All erases, by row and column; undefined unless they also hide what is set later. */
  readonly #tombstones: Map<string, Tombstones> | undefined;
  /** The keys of `#rows` in order; undefined when a row was added or removed since. */
  #keys: readonly string[] | undefined;

  /** @param tombstones erases also hide what is set later, as in HBase */
  constructor(splits: readonly string[] = [], families?: readonly string[], tombstones = false) {
    this.splits = splits;
    this.#tombstones = tombstones ? new Map<string, Tombstones>() : undefined;
    this.#families = families && new Set(families);
  }

  /** Whether this table could have been created with these families and splits. */
  isLike(families: readonly string[], splits: readonly string[]): boolean {
    const own = this.#families ?? new Set(families);
    return (
      own.size === families.length &&
      families.every((family) => own.has(family)) &&
      splits.toSorted(compareUtf8).join() === this.splits.toSorted(compareUtf8).join()
    );
  }

  /** A table like this one, without rows. */
  emptied(): ModelTable {
    const families = this.#families && [...this.#families];
    return new ModelTable(this.splits, families, this.#tombstones !== undefined);
  }

  readRow(key: string, filters: readonly CellFilter[]): Row | undefined {
    this.#checkFamilies(filters);
    const families = this.#rows.get(key);
    if (families === undefined) return undefined;
    const cells: Cell[] = [];
    for (const filter of filters) collect(families, filter, cells);
    return cells.length === 0 ? undefined : { key, cells };
  }

  readRange(
    { start = '', end, limit }: RowRange & { readonly limit: number },
    filters: readonly CellFilter[],
  ): Row[] {
    this.#checkFamilies(filters);
    this.#keys ??= [...this.#rows.keys()].toSorted(compareUtf8);
    const rows: Row[] = [];
    for (const key of this.#keys) {
      if (rows.length >= limit) break;
      if (compareUtf8(key, start) < 0) continue;
      if (end !== undefined && compareUtf8(key, end) >= 0) break;
      const row = this.readRow(key, filters);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  checkAndMutateRow({ row, anyOf, ifFound, ifNotFound }: ConditionalRowMutation): boolean {
    this.#checkFamilies(anyOf);
    const families = this.#rows.get(row);
    const found = families !== undefined && anyOf.some((filter) => hasAny(families, filter));
    this.mutateRow(row, (found ? ifFound : ifNotFound) ?? []);
    return found;
  }

  mutateRow(key: string, mutations: readonly Mutation[]): void {
    if (mutations.length === 0) return;
    this.#checkFamilies(mutations);
    const before = this.#rows.get(key);
    const families = before ?? new Map<string, Columns>();
    for (const mutation of mutations) {
      if (this.#isHidden(key, mutation)) continue;
      if (mutation.kind === 'set') put(families, mutation);
      else erase(families, mutation);
    }
    const isThere = families.size > 0;
    if (isThere === (before !== undefined)) return;
    this.#keys = undefined;
    if (families.size > 0) this.#rows.set(key, families);
    else this.#rows.delete(key);
  }

  /** Whether an earlier erase hides this set; remembers an erase. */
  #isHidden(row: string, mutation: Mutation): boolean {
    if (this.#tombstones === undefined) return false;
    const name = JSON.stringify([row, mutation.family, mutation.qualifier]);
    const tombstones = this.#tombstones.get(name) ?? { upTo: -1, at: new Set() };
    if (mutation.kind === 'set') {
      return mutation.timestamp <= tombstones.upTo || tombstones.at.has(mutation.timestamp);
    }
    validateTombstone(mutation);
    if (mutation.from === mutation.to) tombstones.at.add(mutation.to);
    else tombstones.upTo = Math.max(tombstones.upTo, mutation.to);
    this.#tombstones.set(name, tombstones);
    return false;
  }

  #checkFamilies(named: readonly { readonly family: string }[]): void {
    const families = this.#families;
    if (families === undefined) return;
    for (const { family } of named) {
      if (families.has(family)) continue;
      throw new PercolatorError('FAMILY_NOT_FOUND', `there is no family ${family}`);
    }
  }
}

function collect(families: Families, filter: CellFilter, cells: Cell[]): void {
  const columns = families.get(filter.family);
  if (columns === undefined) return;
  if (filter.qualifier !== undefined) {
    collectColumn(columns.get(filter.qualifier), filter, cells);
    return;
  }
  const { suffix = '' } = filter;
  for (const qualifier of [...columns.keys()].toSorted(compareUtf8)) {
    if (qualifier.endsWith(suffix)) collectColumn(columns.get(qualifier), filter, cells);
  }
}

function collectColumn(column: readonly Cell[] | undefined, filter: CellFilter, to: Cell[]): void {
  if (column === undefined) return;
  const { from = 0, to: newest = TIMESTAMP_MAX, versions = Infinity } = filter;
  let taken = 0;
  for (const cell of column) {
    if (cell.timestamp > newest) continue;
    if (cell.timestamp < from || taken >= versions) return;
    to.push(cell);
    taken++;
  }
}

function hasAny(families: Families, filter: CellFilter): boolean {
  const columns = families.get(filter.family);
  if (columns === undefined) return false;
  if (filter.qualifier !== undefined) return columnHasAny(columns.get(filter.qualifier), filter);
  const { suffix = '' } = filter;
  return columns
    .entries()
    .some(([qualifier, column]) => qualifier.endsWith(suffix) && columnHasAny(column, filter));
}

function columnHasAny(column: readonly Cell[] | undefined, filter: CellFilter): boolean {
  if (column === undefined || filter.versions === 0) return false;
  const { from = 0, to = TIMESTAMP_MAX } = filter;
  return column.some(({ timestamp }) => timestamp >= from && timestamp <= to);
}

function put(
  families: Families,
  { family, qualifier, timestamp, value }: Mutation & { kind: 'set' },
): void {
  let columns = families.get(family);
  if (columns === undefined) families.set(family, (columns = new Map<string, Cell[]>()));
  let cells = columns.get(qualifier);
  if (cells === undefined) columns.set(qualifier, (cells = []));
  const cell: Cell = { family, qualifier, timestamp, value };
  let i = 0;
  while (i < cells.length && (cells[i] as Cell).timestamp > timestamp) i++;
  cells.splice(i, cells[i]?.timestamp === timestamp ? 1 : 0, cell);
}

function erase(
  families: Families,
  { family, qualifier, from, to }: Mutation & { kind: 'erase' },
): void {
  const columns = families.get(family);
  const cells = columns?.get(qualifier);
  if (columns === undefined || cells === undefined) return;
  const kept = cells.filter(({ timestamp }) => timestamp < from || timestamp > to);
  if (kept.length === cells.length) return;
  if (kept.length > 0) columns.set(qualifier, kept);
  else columns.delete(qualifier);
  if (columns.size === 0) families.delete(family);
}
