/**
 * The three kinds of RPC that several callers can share, and how each caller receives its own
 * outcome. Reads that differ in their newest timestamp are merged.
 */
import { assert, PercolatorError } from '../../base/index.ts';
import type {
  Bigtable,
  Cell,
  CellFilter,
  ConditionalRowMutation,
  Row,
  RowMutation,
  Timestamp,
} from '../bigtable.ts';
import { candidatesFor, columnName } from '../reading.ts';
import type { BatchingCounters, Kind, LaneCounters } from './scheduler.ts';

type RequestOutcome<T> = PromiseSettledResult<T>;
type FoundRows = readonly (Row | undefined)[];

export interface ReadRequest {
  readonly table: string;
  readonly rows: readonly string[];
  readonly filters: readonly CellFilter[];
}

/** Reads of one table and one shape. */
export class Reads implements Kind<ReadRequest, FoundRows> {
  readonly lane = 'reads';
  readonly #store: Bigtable;
  readonly #counters: BatchingCounters;

  constructor(store: Bigtable, counters: BatchingCounters) {
    this.#store = store;
    this.#counters = counters;
  }

  rowsOf({ rows }: ReadRequest): number {
    return rows.length;
  }

  async send(requests: readonly ReadRequest[]): Promise<readonly RequestOutcome<FoundRows>[]> {
    const [first] = requests;
    assert(first !== undefined, 'a batch has at least one request');
    if (requests.length === 1) return Promise.allSettled([this.#read(first)]);
    const { table } = first;
    const rows = [...new Set(requests.flatMap((request) => request.rows))];
    const asked = widest(requests.map(({ filters }) => filters));
    try {
      const answers = await this.#read({ table, rows, filters: asked });
      const found = new Map(rows.map((row, i) => [row, answers[i]]));
      const parts = requests.map((request) => this.#partOf(request, found, asked));
      return parts.every(isHere)
        ? parts.map((value) => ({ status: 'fulfilled', value }))
        : await Promise.allSettled(parts.map(async (part) => part));
    } catch (reason) {
      if (isAboutOne(reason)) {
        return Promise.allSettled(requests.map((request) => this.#read(request)));
      }
      return requests.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** A promise only if a row must be read again, which is rare. */
  #partOf(
    request: ReadRequest,
    found: ReadonlyMap<string, Row | undefined>,
    asked: readonly CellFilter[],
  ): FoundRows | Promise<FoundRows> {
    const { filters } = request;
    const parts = request.rows.map((row) => cutBack(found.get(row), filters, asked));
    return parts.every((part) => part !== null) ? parts : this.#completed(request, parts);
  }

  async #completed(
    request: ReadRequest,
    parts: readonly (Row | undefined | null)[],
  ): Promise<FoundRows> {
    const { table, filters } = request;
    const hidden = request.rows.filter((_, i) => parts[i] === null);
    this.#counters.readAgain += hidden.length;
    const again = await this.#read({ table, rows: hidden, filters });
    const byRow = new Map(hidden.map((row, i) => [row, again[i]]));
    return parts.map((part, i) => (part === null ? byRow.get(request.rows[i] ?? '') : part));
  }

  #read({ table, rows, filters }: ReadRequest): Promise<FoundRows> {
    count(this.#counters.reads, rows.length);
    return this.#store.readRows(table, rows, filters);
  }
}

function isHere(part: FoundRows | Promise<FoundRows>): part is FoundRows {
  return !(part instanceof Promise);
}

/** Conditional mutations of any tables, where the storage takes many in one RPC. */
export class Conditionals implements Kind<ConditionalRowMutation, boolean> {
  readonly lane = 'conditionals';
  readonly #store: Bigtable;
  readonly #counters: BatchingCounters;

  constructor(store: Bigtable, counters: BatchingCounters) {
    this.#store = store;
    this.#counters = counters;
  }

  rowsOf(): number {
    return 1;
  }

  async send(
    requests: readonly ConditionalRowMutation[],
  ): Promise<readonly RequestOutcome<boolean>[]> {
    count(this.#counters.conditionals, requests.length);
    try {
      const answers = await this.#store.checkAndMutateRows(requests);
      return requests.map((_, i) => asOutcome(answers[i]));
    } catch (reason) {
      return requests.map(() => ({ status: 'rejected', reason }));
    }
  }
}

/** Blind mutations of one table. The rows of one caller share one outcome. */
export class BlindMutations implements Kind<readonly RowMutation[], void> {
  readonly lane: 'urgent' | 'bulk';
  readonly #store: Bigtable;
  readonly #counters: LaneCounters;

  constructor(store: Bigtable, lane: 'urgent' | 'bulk', counters: BatchingCounters) {
    this.lane = lane;
    this.#store = store;
    this.#counters = counters[lane];
  }

  rowsOf(request: readonly RowMutation[]): number {
    return request.length;
  }

  async send(
    requests: readonly (readonly RowMutation[])[],
  ): Promise<readonly RequestOutcome<void>[]> {
    try {
      await this.#mutate(requests.flat());
      return requests.map(() => ({ status: 'fulfilled', value: undefined }));
    } catch (reason) {
      if (requests.length > 1 && isAboutOne(reason)) {
        return Promise.allSettled(requests.map((request) => this.#mutateAlone(request)));
      }
      const own = requests.length > 1 ? ofEach(reason) : reason;
      return requests.map(() => ({ status: 'rejected', reason: own }));
    }
  }

  /**
   * A refusal is about this request alone. After any other failure, the shared call that came
   * before may have applied some of its rows (`ofEach`).
   */
  async #mutateAlone(rows: readonly RowMutation[]): Promise<void> {
    try {
      await this.#mutate(rows);
    } catch (reason) {
      throw isAboutOne(reason) ? reason : ofEach(reason);
    }
  }

  #mutate(rows: readonly RowMutation[]): Promise<void> {
    count(this.#counters, rows.length);
    return this.#store.mutateRows(rows);
  }
}

function count(counters: LaneCounters, rows: number): void {
  counters.rpcs++;
  counters.rowsSent += rows;
}

function asOutcome(answer: boolean | Error | undefined): RequestOutcome<boolean> {
  if (typeof answer === 'boolean') return { status: 'fulfilled', value: answer };
  const reason = answer ?? new PercolatorError('STORE_IN_DOUBT', 'the storage gave no answer');
  return { status: 'rejected', reason };
}

const REFUSALS: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'FAMILY_NOT_FOUND',
  'STORE_REFUSED',
  'STORE_DAMAGED',
  'TABLE_MISMATCH',
]);

/**
 * Whether the storage may have refused one caller's request, which says nothing about the others.
 * Each request is then sent alone, and hears its own outcome.
 */
function isAboutOne(reason: unknown): boolean {
  return reason instanceof PercolatorError && REFUSALS.has(reason.code);
}

/**
 * The failure of a shared call, as each caller receives it. A failure of the whole table or store,
 * and an error that is no PercolatorError, reach each caller unchanged. Any other failure may come
 * from one row, while the mutations of other rows were applied.
 */
function ofEach(reason: unknown): unknown {
  const isAboutAll =
    !(reason instanceof PercolatorError) ||
    ['TABLE_NOT_FOUND', 'READ_ONLY', 'STORE_CLOSED'].includes(reason.code);
  if (isAboutAll) return reason;
  const message = 'a call that carried several mutations has failed; some may have been applied';
  return new PercolatorError('STORE_IN_DOUBT', message, { cause: reason });
}

/*
 * Merges reads that differ only in their newest timestamp.
 *
 * Two transactions read the same columns at different start timestamps. A multi-row read has one
 * list of filters for all its rows, so the merged read asks up to the later of the two timestamps,
 * and each caller's answer is cut back to what that caller wanted:
 *
 *     wanted   lock:c to 12, 1 version        lock:c to 15, 1 version
 *     asked              lock:c to 15, 1 version
 *     cut      versions newer than 12 are removed from the first one's answer
 *
 * A limit of versions may hide what a caller wanted: the one version that is returned may be from
 * 13, and the first caller wanted the older one from 11. The answer shows it: it has as many
 * versions as were asked for, and one of them is too new. Such a row is read again with the filters
 * of its caller. This is rare: the row was written between the start timestamps of two reads of one
 * batch.
 *
 * Only reads of one shape can be merged: the same families, qualifiers, suffixes, oldest timestamps
 * and numbers of versions, in the same order. The newest timestamps must be the same, too, if two
 * filters of the list may share a cell, and of each filter that sets no limit of versions.
 */

/**
 * The same string for all reads that can be merged. Every read builds one, and a list or JSON would
 * cost more.
 */
export function shapeOf(filters: readonly CellFilter[]): string {
  const isWidened = areSeparate(filters);
  let shape = '';
  for (const filter of filters) {
    const { family, qualifier, suffix, from, to, versions } = filter;
    const newest = isWidened && canWiden(filter) ? 'any' : to;
    shape += `${named(family)}${named(qualifier)}${named(suffix)}${from} ${versions} ${newest},`;
  }
  return shape;
}

/** A name may contain any character, so its length comes first (P60). */
function named(name: string | undefined): string {
  return name === undefined ? '-' : `${name.length}:${name}`;
}

/**
 * One list of filters for all of `lists`, which have one shape: each filter reaches as far as the
 * newest of theirs, and limits versions as they do.
 */
export function widest(lists: readonly (readonly CellFilter[])[]): readonly CellFilter[] {
  const [first = []] = lists;
  return first.map(({ family, qualifier, suffix, from, to, versions }, i) => {
    const newest = Math.max(...lists.map((list) => list[i]?.to ?? 0));
    const latest = to === undefined ? undefined : newest;
    return { family, qualifier, suffix, from, to: latest, versions };
  });
}

/**
 * The result of `filters`, cut out of the result of wider filters of the same shape. Null if it
 * cannot be known, because a version that is too new may have replaced a wanted one.
 */
export function cutBack(
  row: Row | undefined,
  filters: readonly CellFilter[],
  asked: readonly CellFilter[],
): Row | undefined | null {
  if (row === undefined || filters.every(({ to }, i) => to === asked[i]?.to)) return row;
  // Usually no cell is newer than the end of any filter. Then the row is the right answer, even
  // with a limit of versions.
  let earliestEnd = Infinity;
  for (const filter of filters) earliestEnd = Math.min(earliestEnd, newestWanted(filter));
  if (row.cells.every(({ timestamp }) => timestamp <= earliestEnd)) return row;
  const cells: Cell[] = [];
  const candidates = candidatesFor(row.cells, filters.length);
  for (const filter of filters) {
    const found = candidates(filter).filter((cell) => isOf(cell, filter));
    if (mayHide(found, filter)) return null;
    cells.push(...found.filter(({ timestamp }) => timestamp <= newestWanted(filter)));
  }
  return cells.length === 0 ? undefined : { key: row.key, cells };
}

/** Without a limit, a wider filter could bring any number of unwanted versions. */
function canWiden({ to, versions }: CellFilter): boolean {
  return to !== undefined && versions !== undefined;
}

/** Whether each cell belongs to at most one filter, so that an answer can be split by filter. */
function areSeparate(filters: readonly CellFilter[]): boolean {
  if (filters.length > FEW) return areNamedOnce(filters);
  // Each pair, because there are few filters: sets of names would cost more.
  return filters.every((one, i) => !filters.some((other, j) => j < i && mayShare(one, other)));
}

/** Up to so many filters, each is compared with each. */
const FEW = 16;

/** Whether each filter names a column, and none of them twice. */
function areNamedOnce(filters: readonly CellFilter[]): boolean {
  const names = new Set(filters.map(columnName));
  return names.size === filters.length && !names.has('');
}

function mayShare(one: CellFilter, other: CellFilter): boolean {
  if (one.family !== other.family) return false;
  if (one.qualifier === undefined || other.qualifier === undefined) return true;
  return one.qualifier === other.qualifier;
}

function isOf(
  cell: Cell,
  { family, qualifier = cell.qualifier, suffix = '' }: CellFilter,
): boolean {
  return cell.family === family && cell.qualifier === qualifier && cell.qualifier.endsWith(suffix);
}

/** Whether a column has as many versions as were asked for, one of them too new. */
function mayHide(found: readonly Cell[], filter: CellFilter): boolean {
  const { versions = Infinity } = filter;
  return found.some(
    ({ qualifier, timestamp }) =>
      timestamp > newestWanted(filter) &&
      found.filter((other) => other.qualifier === qualifier).length >= versions,
  );
}

function newestWanted({ to }: CellFilter): Timestamp {
  return to ?? Infinity;
}
