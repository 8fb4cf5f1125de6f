/**
 * The rows: readers see what is in the log, and changes are written in groups.
 *
 *     change ─▶ checked and applied to the pending rows ─▶ gathering group
 *                                                             │ when the group before it is there
 *                              index ◀─ synced ◀─ log ◀───────┘
 *     read ───▶ index ─▶ log
 *
 * While one group is synced, the next one gathers; there is no delay to tune, because the disk sets
 * the pace. A group is closed between two turns of the event loop, so changes of one turn have one
 * fate: a commit is never there without the marks that were sent just before it (P61).
 *
 * A change is checked when it is submitted, against everything submitted before it, so mutations
 * apply in the order submitted (manifest.ordered). It becomes visible, and is answered, when its
 * group is durable. A group of provisional changes alone is answered when it is written: the sync
 * of a later group makes both durable (P67).
 *
 * What if a group fails? Then the gathering group was checked against changes that will never be
 * applied, so it fails too, and every pending row is forgotten. If the failed group may be on the
 * disk, nothing is served until a new file of the log says that it does not count (P58). What
 * waited for the failed sync may be lost by the disk, so the next group writes it again.
 */
import { hasCode, PercolatorError, systemClock } from '../../base/index.ts';
import type { Mutation, RowMutation } from '../bigtable.ts';
import { Cleaner } from './cleaner.ts';
import { joined, rowKeyOf } from './keys.ts';
import type { Entry, Place } from './leaf.ts';
import { codeOf, reasonOf } from './disk.ts';
import type { Log } from './log.ts';
import { newestOf, NO_CELLS, withPlaces, withValues } from './page.ts';
import { isSet, type PendingPage, PendingRow } from './pending-row.ts';
import { footprintOf, GroupWriter, type Mark } from './record.ts';
import {
  rowFrom,
  type RowPages,
  type RowsRange,
  type Stored,
  storedRow,
  storedRows,
} from './row-pages.ts';
import type { Position, SortedIndex } from './sorted-index.ts';

/**
 * The changes of one group, and what waits for it.
 *
 * No row or page refers to its group, and no map of rows outlives a group. Otherwise references
 * would lead from each group to the next one. V8's quick collections take old objects for live
 * ones: once one group is old, they would keep all that follow.
 */
class Group {
  /** No other group has it. */
  readonly number: number;
  readonly pages: PendingPage[] = [];
  /** The rows that it changes, by the text of the key. */
  readonly rows = new Map<string, PendingRow>();
  /** The names of the tables in which it sets cells, except silently. */
  readonly tables = new Set<string>();
  readonly onDurable: (() => void)[] = [];
  /** Undefined while no caller waits. */
  answered: PromiseWithResolvers<void> | undefined;
  /** Why it must not be written. */
  error: unknown;
  /** Whether it is written even if it changes nothing. */
  isForced = false;
  /** Whether all of its changes may be lost in a power failure, until the next sync. */
  isProvisional = true;
  /** Whether it holds what the index does not know yet, so that the cleaner would be mistaken. */
  isRestored = false;

  constructor(number: number) {
    this.number = number;
  }
}

/** A group as it is written. */
interface WrittenGroup {
  readonly bytes: Buffer;
  readonly at: Mark;
  readonly updates: readonly (readonly [key: Buffer, entry: Entry | undefined])[];
}

export interface RowStoreEvents {
  /** A group of that many bytes, which sets cells in these tables, is written and visible. */
  readonly onVisible: (bytes: number, tables: ReadonlySet<string>) => void;
  /** What is pending will not be applied. */
  readonly onFailed: () => void;
}

/** What happens to a row. */
export type RowChange = Pick<RowMutation, 'mutations' | 'silent'>;

export class RowStore implements Stored {
  readonly index: SortedIndex;
  readonly log: Log;
  readonly #events: RowStoreEvents;
  readonly #cleaner: Cleaner;
  readonly #writer = new GroupWriter();
  /** The keys of pages that were written since the last sync. */
  readonly #unsynced = new Map<string, Buffer>();
  #gathering = new Group(0);
  /** Its rows are pending until they are in the index. */
  #writing: Group | undefined;
  #committing: Promise<void> | undefined;
  #isInDoubt = false;

  constructor({ index, log }: Stored, events: RowStoreEvents) {
    this.index = index;
    this.log = log;
    this.#events = events;
    this.#cleaner = new Cleaner(this);
  }

  /** The row as it is visible; undefined if it has no cells. */
  row(key: Buffer): RowPages | undefined {
    return storedRow(this, key);
  }

  /** The visible rows in the range, or the first of them: see `storedRows`. */
  rows(range: RowsRange): ReturnType<typeof storedRows> {
    return storedRows(this, range);
  }

  /** A row of `rows`, before the index is changed. */
  rowAt(key: Buffer, first: Position): RowPages {
    return rowFrom(this, key, first);
  }

  /** The row as it will be when everything submitted is visible. */
  pendingRow(key: Buffer): PendingRow {
    const name = key.toString('latin1');
    return (
      this.#gathering.rows.get(name) ??
      this.#writing?.rows.get(name) ??
      new PendingRow(this, key, name)
    );
  }

  /**
   * Applies changes to pending rows. If that fails, because a page cannot be read, the whole
   * gathering group fails: a part of the changes may have been applied, and no commit may be there
   * without the marks that were sent before it (P61). Callers who did not ask for that page may try
   * again.
   * @returns why the page cannot be read, for the caller who asked for it, once `durable` or
   *   `visible` has rejected
   */
  change(apply: () => void): Error | undefined {
    try {
      apply();
      return undefined;
    } catch (error) {
      if (hasCode(error, 'STORE_CLOSED')) return (this.#gathering.error = error);
      const message = `a change of the same moment failed (${reasonOf(error)}); nothing was applied`;
      const failure = new PercolatorError('STORE_UNAVAILABLE', message, { cause: error });
      this.#gathering.error = failure;
      return error instanceof Error ? error : failure;
    }
  }

  /** Changes a row of `pendingRow`, in the table of this name: all of the mutations, or none. */
  mutate(
    row: PendingRow,
    table: string,
    { mutations, silent = false }: RowChange,
    columnOf: (mutation: Mutation) => Buffer,
  ): void {
    if (!silent && mutations.some(isSet)) this.#gathering.tables.add(table);
    for (const page of row.mutate(mutations, columnOf)) this.rewrite(page, row);
  }

  /** Writes a page of the row with the gathering group. False if the group has it already. */
  rewrite(page: PendingPage, row: PendingRow): boolean {
    const group = this.#gathering;
    const isAdded = page.group !== group.number;
    this.#writeWith(group, page);
    group.rows.set(row.name, row);
    return isAdded;
  }

  /**
   * Writes a group of these pages, whatever is stored, before anything else is done with the store.
   * The group is written even without pages: it says which files are no longer needed, and these
   * are removed.
   */
  restore(pages: Iterable<PendingPage>): Promise<void> {
    const group = this.#gathering;
    for (const page of pages) this.#writeWith(group, page);
    group.isRestored = true;
    return this.writeEmptyGroup();
  }

  /**
   * Resolves when all that was changed so far is durable.
   * @param onDurable called at the moment when the changes become visible
   * @throws STORE_UNAVAILABLE if nothing of the group was applied, STORE_IN_DOUBT if it may be
   */
  durable(onDurable?: () => void): Promise<void> {
    const group = this.#gathering;
    group.isProvisional = false;
    if (onDurable !== undefined) group.onDurable.push(onDurable);
    return this.visible();
  }

  /**
   * Resolves when all that was changed so far is visible. A power failure may undo it, until a
   * later call of `durable` has resolved.
   * @throws what `durable` throws
   */
  visible(): Promise<void> {
    const group = this.#gathering;
    group.answered ??= Promise.withResolvers();
    this.#committing ??= this.#commitGroups();
    return group.answered.promise;
  }

  /** Makes durable what is visible, and makes sure that what is in doubt does not count. */
  async flush(): Promise<void> {
    const isDurable = this.log.isSynced && this.#unsynced.size === 0;
    if (!isDurable || this.#isInDoubt) await this.writeEmptyGroup();
  }

  /** Whether a group that was not acknowledged may be on the disk, so that nothing is served. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /**
   * Resolves when a new file of the log says that the group in doubt does not count.
   * @throws STORE_UNAVAILABLE if that file cannot be written; STORE_CLOSED from who is no owner
   */
  async settle(): Promise<void> {
    try {
      await this.writeEmptyGroup();
    } catch (cause) {
      if (hasCode(cause, 'STORE_CLOSED')) throw cause;
      const message = `the disk of the embedded store failed in a commit, and nothing is served until a new file of the log can be written: ${reasonOf(cause)}`;
      throw new PercolatorError(codeOf(cause), message, { cause });
    }
  }

  /** Writes the gathering group even if it changes nothing. */
  writeEmptyGroup(): Promise<void> {
    this.#gathering.isForced = true;
    return this.durable();
  }

  /** Resolves when everything submitted so far is answered. */
  async idle(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  #writeWith(group: Group, page: PendingPage): void {
    if (page.group === group.number) return;
    page.group = group.number;
    group.pages.push(page);
  }

  async #commitGroups(): Promise<void> {
    while (this.#gathering.answered !== undefined) {
      await systemClock.yield();
      await this.#commitGroup();
    }
    this.#committing = undefined;
  }

  async #commitGroup(): Promise<void> {
    const group = this.#gathering;
    try {
      if (group.error !== undefined) throw group.error;
      const isWritten = group.pages.length > 0 || group.isForced || this.#mustSync(group);
      if (isWritten && !group.isRestored) this.#cleaner.clean();
      this.#gathering = new Group(group.number + 1);
      if (isWritten) await this.#write(group);
      for (const tell of group.onDurable) tell();
      group.answered?.resolve();
    } catch (error) {
      this.#fail(group, error);
    }
  }

  /** A durable group is written even without changes: what it found may not have been synced. */
  #mustSync({ isProvisional }: Group): boolean {
    return !isProvisional && !this.log.isSynced;
  }

  async #write(group: Group): Promise<void> {
    this.#writing = group;
    const { oldest } = this.#cleaner;
    const { bytes, at, updates } = this.#encode(group, oldest);
    await this.log.append(bytes, at, {
      mayWait: group.isProvisional,
      isCopy: group.isRestored,
    });
    this.#isInDoubt = false;
    for (const [key, entry] of updates) {
      if (entry === undefined) this.index.delete(key);
      else this.index.set(key, entry);
    }
    this.#writing = undefined;
    if (this.log.isSynced) this.#removeBefore(oldest);
    else for (const [key] of updates) this.#unsynced.set(key.toString('latin1'), key);
    this.#events.onVisible(bytes.length, group.tables);
  }

  #removeBefore(oldest: number): void {
    this.#unsynced.clear();
    this.log.removeBefore(oldest);
  }

  #encode({ pages }: Group, oldest: number): WrittenGroup {
    const at = this.log.next(this.index.footprint);
    const writer = this.#writer;
    writer.begin(at);
    const updates = pages.map((page) => [page.key, this.#encodePage(page)] as const);
    return { bytes: writer.finish(this.log.header(at, oldest)), at, updates };
  }

  /** Also changes the page to what is in the log, where long values have records of their own. */
  #encodePage(page: PendingPage): Entry | undefined {
    const writer = this.#writer;
    if (page.page.length === 0) {
      writer.add('page', page.key, NO_CELLS, 0);
      return undefined;
    }
    const written = withPlaces(page.page, (cell, value) => {
      return writer.add('value', joined(rowKeyOf(page.key), cell), value, 0);
    });
    page.page = written.page;
    const { file, offset, length } = writer.add('page', page.key, page.page, written.valueBytes);
    const newest = newestOf(page.page);
    return { file, offset, length, footprint: footprintOf(length, written.valueBytes), newest };
  }

  /** The gathering group fails too: it was checked against changes that will not be applied. */
  #fail(group: Group, error: unknown): void {
    const gathered = this.#gathering;
    this.#gathering = new Group(gathered.number + 1);
    this.#writing = undefined;
    this.#cleaner.restart();
    this.#isInDoubt ||= hasCode(error, 'STORE_IN_DOUBT');
    this.#events.onFailed();
    this.#writeUnsyncedAgain();
    group.answered?.reject(error);
    if (gathered === group) return;
    if (hasCode(error, 'STORE_CLOSED')) {
      gathered.answered?.reject(error);
      return;
    }
    const message = `the commit before this one failed (${reasonOf(error)}); nothing was applied`;
    const refusal = new PercolatorError('STORE_UNAVAILABLE', message, { cause: error });
    gathered.answered?.reject(refusal);
  }

  /** Adds them to the gathering group: a sync that has failed may have lost what waited for it. */
  #writeUnsyncedAgain(): void {
    try {
      for (const key of this.#unsynced.values()) this.#writeAgain(key);
    } catch (error) {
      this.#gathering.error = error;
    }
  }

  #writeAgain(key: Buffer): void {
    const group = this.#gathering;
    group.isProvisional = false;
    if (this.index.get(key) === undefined) {
      this.#writeWith(group, { key, page: NO_CELLS });
      return;
    }
    const row = this.pendingRow(rowKeyOf(key));
    const page = row.pageOf(key);
    if (page === undefined) return;
    page.page = withValues(page.page, this.#unsyncedValue);
    this.rewrite(page, row);
  }

  readonly #unsyncedValue = (place: Place): Buffer | undefined =>
    this.log.isUnsynced(place) ? Buffer.from(this.log.readBody(place)) : undefined;
}
