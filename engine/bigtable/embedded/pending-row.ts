/**
 * A row as it will be when all groups that change it are visible: the next mutations are checked
 * against this content. Readers do not see it.
 *
 *     stored pages    [a … f] [g … m] [n … z]
 *     known here              [g … j] [k … m]         the second was changed and split
 *
 * A page is taken over from the store when it is first needed, so a change to a large row costs
 * only the pages that the change needs.
 */
import type { Mutation } from '../bigtable.ts';
import { cellKey, joined } from './keys.ts';
import {
  cellAt,
  NO_CELLS,
  PAGE_BYTES_MAX,
  pageOf,
  splitOf,
  withCell,
  withoutCells,
} from './page.ts';
import { type CellRange, pageAt, type RowPages, type Stored } from './row-pages.ts';
import { NONE, type Position } from './sorted-index.ts';

export interface PendingPage {
  /** The row, and the first cell that the page is for; the row alone for the first page. */
  readonly key: Buffer;
  /** Without cells: the page is gone. */
  page: Buffer;
  /** The number of the newest group that writes it. */
  group?: number;
}

/** With more mutations of a row, they are applied in the order of their columns. */
const MANY = 64;

/** A changed page of at most a quarter of this is joined with the next one if both fit into it. */
const JOINED_BYTES_MAX = PAGE_BYTES_MAX / 2;

export class PendingRow implements RowPages {
  /** The row's key as a text. */
  readonly name: string;
  readonly #stored: Stored;
  readonly #row: Buffer;
  /** In key order, so that they are found by halves. Invariant: every change of the row is here. */
  readonly #pages: PendingPage[] = [];
  /** Whether all pages of the row are in `#pages`. */
  readonly #isWhole: boolean;

  /** @param name the row's key as a text */
  constructor(stored: Stored, row: Buffer, name: string) {
    const { index } = stored;
    this.#stored = stored;
    this.#row = row;
    this.name = name;
    const first = index.ceiling(row);
    const isOurs = index.startsWith(first, row);
    this.#isWhole = !isOurs || !index.startsWith(index.next(first), row);
    if (!isOurs || !this.#isWhole) return;
    const key = index.compare(first, row) === 0 ? row : index.key(first);
    this.#pages.push({ key, page: pageAt(stored, first) });
  }

  get onlyPage(): Buffer | undefined {
    if (!this.#isWhole || this.#pages.length > 1) return undefined;
    return this.#pages[0]?.page ?? NO_CELLS;
  }

  visit({ first, last }: CellRange, isEnough: (page: Buffer) => boolean): boolean {
    for (const { page } of this.#between(first, last)) if (isEnough(page)) return true;
    return false;
  }

  /** The page that is for the cell. */
  pageFor(cell: Buffer): PendingPage | undefined {
    return this.#atOrBefore(joined(this.#row, cell));
  }

  /** The page with this key. */
  pageOf(key: Buffer): PendingPage | undefined {
    const found = this.#atOrBefore(key);
    return found?.key.equals(key) === true ? found : undefined;
  }

  /**
   * Applies mutations in order, all or none. Returns the pages that are changed.
   * @param columnOf the beginning of the keys of a mutation's column
   */
  mutate(
    mutations: readonly Mutation[],
    columnOf: (mutation: Mutation) => Buffer,
  ): Iterable<PendingPage> {
    const small = this.#mutateSmall(mutations, columnOf);
    if (small !== undefined) return small;
    const changes = new Changes();
    try {
      for (const { mutation, column } of lastColumnFirst(mutations, columnOf)) {
        this.#apply(mutation, column, changes);
      }
      this.#joinSmall(changes);
      return changes.pages();
    } catch (error) {
      changes.undo(); // A page could not be read.
      throw error;
    }
  }

  /** The same for a row that has one page and keeps it, as nearly all do; otherwise undefined. */
  #mutateSmall(
    mutations: readonly Mutation[],
    columnOf: (mutation: Mutation) => Buffer,
  ): readonly PendingPage[] | undefined {
    const before = this.onlyPage;
    if (before === undefined || (before.length > 0 && mutations.length > MANY)) return undefined;
    const page = allMutated(before, mutations, columnOf);
    if (page === before) return [];
    if (splitOf(page) !== undefined) return undefined;
    const [only] = this.#pages;
    const first = only?.key === this.#row ? only : this.#known(this.#row);
    first.page = page;
    if (only === undefined || only === first) return [first];
    only.page = NO_CELLS; // It was for later cells only: the pages before it had gone.
    return [first, only];
  }

  #apply(mutation: Mutation, column: Buffer, changes: Changes): void {
    if (mutation.kind === 'set') {
      const cell = cellKey(column, mutation.timestamp);
      const page = this.#atOrBefore(joined(this.#row, cell)) ?? this.#known(this.#row);
      changes.change(page, mutated(page.page, mutation, column));
      this.#split(page, changes);
      return;
    }
    const [first, last] = [cellKey(column, mutation.to), cellKey(column, mutation.from)];
    for (const page of this.#between(first, last)) {
      changes.change(page, mutated(page.page, mutation, column));
    }
  }

  #split(page: PendingPage, changes: Changes): void {
    const half = splitOf(page.page);
    if (half === undefined) return;
    const { keyStart, keyEnd } = cellAt(page.page, half);
    const second = this.#known(joined(this.#row, page.page.subarray(keyStart, keyEnd)));
    changes.change(second, page.page.subarray(half));
    changes.change(page, page.page.subarray(0, half));
  }

  /** Joins pages, so that a row from which cells were erased has fewer pages again. */
  #joinSmall(changes: Changes): void {
    if (this.#isWhole && this.#pages.length === 1) return;
    for (const page of changes.pages()) {
      if (page.page.length === 0 || page.page.length > JOINED_BYTES_MAX / 4) continue;
      const next = this.#after(page.key);
      if (next === undefined || page.page.length + next.page.length > JOINED_BYTES_MAX) continue;
      changes.change(page, joined(page.page, next.page));
      changes.change(next, NO_CELLS);
    }
  }

  *#between(first: Buffer, last: Buffer): Generator<PendingPage> {
    const [start, end] = [joined(this.#row, first), joined(this.#row, last)];
    let page = this.#atOrBefore(start) ?? this.#after(start, end);
    while (page !== undefined && page.key.compare(end) <= 0) {
      yield page;
      page = this.#after(page.key, end);
    }
  }

  #atOrBefore(key: Buffer): PendingPage | undefined {
    const { index } = this.#stored;
    let at = this.#isWhole ? NONE : index.floor(key);
    while (this.#isGone(at)) at = index.previous(at);
    let i = this.#countUpTo(key) - 1;
    while (this.#pages[i]?.page.length === 0) i--;
    return this.#pages[i];
  }

  /** The next page. If it is past `last`, it may be any that is, even one without cells. */
  #after(key: Buffer, last?: Buffer): PendingPage | undefined {
    const { index } = this.#stored;
    let at = this.#isWhole ? NONE : index.ceiling(key);
    if (at !== NONE && index.compare(at, key) === 0) at = index.next(at);
    const isPast = (position: Position): boolean =>
      last !== undefined && position !== NONE && index.compare(position, last) > 0;
    while (!isPast(at) && this.#isGone(at)) at = index.next(at);
    let i = this.#countUpTo(key);
    while (this.#pages[i]?.page.length === 0) {
      if (last !== undefined && (this.#pages[i] as PendingPage).key.compare(last) > 0) break;
      i++;
    }
    return this.#pages[i];
  }

  /** Takes over a stored page of this row. Returns whether it is gone by now. */
  #isGone(at: Position): boolean {
    if (!this.#stored.index.startsWith(at, this.#row)) return false;
    return this.#takeOver(at).page.length === 0;
  }

  /** What is known of a stored page, which may be gone by now. */
  #takeOver(at: Position): PendingPage {
    const key = this.#stored.index.key(at);
    const known = this.#pages[this.#countUpTo(key) - 1];
    if (known?.key.equals(key) === true) return known;
    const page = pageAt(this.#stored, at); // First, because it throws if the page is damaged.
    return Object.assign(this.#known(key), { page });
  }

  /** The page with this key; a new one without cells if none is known. */
  #known(key: Buffer): PendingPage {
    const next = this.#countUpTo(key);
    const known = this.#pages[next - 1];
    if (known?.key.equals(key) === true) return known;
    const made: PendingPage = { key, page: NO_CELLS };
    this.#pages.splice(next, 0, made);
    return made;
  }

  /** How many known pages have keys up to this one. */
  #countUpTo(key: Buffer): number {
    let low = 0;
    let high = this.#pages.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pages[middle] as PendingPage).key.compare(key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface Placed {
  readonly mutation: Mutation;
  readonly column: Buffer;
}

/**
 * Many mutations from the last column to the first, those of one column in the order given. Then
 * the pages that erases leave empty are past the next mutation, which need not walk over them.
 */
function lastColumnFirst(
  mutations: readonly Mutation[],
  columnOf: (mutation: Mutation) => Buffer,
): readonly Placed[] {
  const placed = mutations.map((mutation) => ({ mutation, column: columnOf(mutation) }));
  if (mutations.length <= MANY) return placed;
  return placed.toSorted((a, b) => b.column.compare(a.column));
}

function allMutated(
  page: Buffer,
  mutations: readonly Mutation[],
  columnOf: (mutation: Mutation) => Buffer,
): Buffer {
  if (page.length === 0 && mutations.length > 0 && mutations.every(isSet)) {
    return pageOf(
      mutations.map((set) => ({
        column: columnOf(set),
        timestamp: set.timestamp,
        value: set.value,
      })),
    );
  }
  let changed = page;
  for (const mutation of mutations) changed = mutated(changed, mutation, columnOf(mutation));
  return changed;
}

export function isSet(mutation: Mutation): mutation is Extract<Mutation, { readonly kind: 'set' }> {
  return mutation.kind === 'set';
}

function mutated(page: Buffer, mutation: Mutation, column: Buffer): Buffer {
  if (mutation.kind === 'set') {
    return withCell(page, cellKey(column, mutation.timestamp), mutation.value);
  }
  const first = cellKey(column, mutation.to);
  const isOne = mutation.from === mutation.to;
  return withoutCells(page, first, isOne ? first : cellKey(column, mutation.from));
}

/** Changed pages, and what they were before. */
class Changes {
  readonly #before = new Map<PendingPage, Buffer>();

  change(page: PendingPage, content: Buffer): void {
    if (content === page.page) return;
    if (!this.#before.has(page)) this.#before.set(page, page.page);
    page.page = content;
  }

  pages(): Iterable<PendingPage> {
    return this.#before.keys();
  }

  undo(): void {
    for (const [page, content] of this.#before) page.page = content;
  }
}
