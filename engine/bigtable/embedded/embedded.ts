/**
 * A durable Bigtable in this process: nothing to install, nothing to start.
 *
 *     mutations ─▶ checked, and gathered in a group ─▶ one write and one sync of the log ─▶ answered
 *                                                      (no sync if all of them are provisional)
 *     reads ─▶ index in memory ─▶ log
 *
 * One process owns the folder (folder.ts). What it has acknowledged is in an append-only log with
 * checksums (log.ts); the index of the log's rows is in memory (sorted-index.ts), and now and then
 * on the disk, so that opening is fast (hint.ts).
 *
 * It has no tablets. Splits are kept and returned, for code that picks random tablets.
 */
import { PercolatorError, systemClock } from '../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ChangeListener,
  ConditionalRowMutation,
  Damage,
  Manifest,
  Mutation,
  Row,
  RowMutation,
  RangeRead,
  TableSchema,
} from '../bigtable.ts';
import {
  validateCases,
  validateFilter,
  validateMutation,
  validateRange,
  validateRowKey,
  validateSchema,
} from '../validate.ts';
import {
  type Catalog,
  familyId,
  findTable,
  type TableEntry,
  withoutTable,
  withTable,
} from './catalog.ts';
import { checkKeyLength, prefixEnd, rowKey, rowOf, rowStart, tablePrefix } from './keys.ts';
import type { Place } from './leaf.ts';
import { Listeners } from './listeners.ts';
import {
  anyCell,
  cellsOf,
  filterFor,
  restOfRows,
  type RowFilter,
  type RowPages,
  type RowsRange,
} from './row-pages.ts';
import { full, isFull, type Reserve } from './reserve.ts';
import { naming } from './record.ts';
import type { RowStore } from './row-store.ts';
import { EmbeddedTables, mutateRow, notFound } from './tables.ts';

/** What every embedded store can do. How durable it is depends on how it is opened. */
export const MANIFEST = {
  name: 'embedded',
  conditionalBatch: true,
  ordered: true,
  splits: true,
  skipsOldRows: true,
} as const;

export interface EmbeddedParts {
  readonly rows: RowStore;
  readonly reserve: Reserve;
  readonly manifest: Manifest;
  readonly readOnly: boolean;
  /** From now on, nothing is taken that a client sent before (sharing/service.ts). */
  readonly fenceClients: () => void;
  /** What salvage.ts has found; the catalog is used instead of the stored one. */
  readonly salvaged: {
    readonly damage?: readonly Damage[];
    readonly catalog?: Catalog | undefined;
  };
  /** Ends all that serves the store, once its last group is durable. */
  readonly end: () => Promise<void>;
}

interface Scan {
  readonly table: string;
  readonly wanted: readonly RowFilter[];
  readonly limit: number;
  readonly found: Row[];
}

export class Embedded implements Bigtable {
  readonly manifest: Manifest;
  readonly damage: readonly Damage[] | undefined;
  readonly #rows: RowStore;
  readonly #tables: EmbeddedTables;
  readonly #reserve: Reserve;
  readonly #readOnly: boolean;
  readonly #fenceClients: () => void;
  readonly #end: () => Promise<void>;
  readonly #listeners = new Listeners();
  /** Long scans that have not ended. */
  readonly #scans = new Set<Promise<void>>();
  /** A mutation that has waited while this has grown is refused. */
  #fences = 0;
  #closed: Promise<void> | undefined;
  /** Why it was closed by another hand than the caller's. */
  #lost: PercolatorError | undefined;

  constructor({ rows, reserve, manifest, readOnly, fenceClients, salvaged, end }: EmbeddedParts) {
    this.#rows = rows;
    this.#reserve = reserve;
    this.manifest = manifest;
    this.damage = salvaged.damage;
    this.#readOnly = readOnly;
    this.#fenceClients = fenceClients;
    this.#end = end;
    this.#tables = new EmbeddedTables(rows, salvaged.catalog);
  }

  async readRow(
    table: string,
    row: string,
    filters: readonly CellFilter[],
  ): Promise<Row | undefined> {
    this.#assertOpen();
    validateRowKey(row);
    filters.forEach(validateFilter);
    if (this.#rows.isInDoubt) await this.#settle();
    const { id, wanted } = this.#look(table, filters);
    return this.#read({ table, row, key: rowKey(tablePrefix(id), row) }, wanted);
  }

  async readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    this.#assertOpen();
    rows.forEach(validateRowKey);
    filters.forEach(validateFilter);
    if (this.#rows.isInDoubt) await this.#settle();
    const { id, wanted } = this.#look(table, filters);
    const prefix = tablePrefix(id);
    return rows.map((row) => this.#read({ table, row, key: rowKey(prefix, row) }, wanted));
  }

  async readRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    this.#assertOpen();
    validateRange(range);
    filters.forEach(validateFilter);
    if (this.#rows.isInDoubt) await this.#settle();
    const { id, wanted } = this.#look(table, filters);
    const prefix = tablePrefix(id);
    const end = range.end === undefined ? prefixEnd(prefix) : rowStart(prefix, range.end);
    const from = Math.min(...wanted.map((filter) => filter.from));
    const { start = '', limit, reverse = false } = range;
    const scan: Scan = { table, wanted, limit, found: [] };
    const rest = this.#scan({ start: rowStart(prefix, start), end, from, reverse }, scan);
    if (rest !== undefined) {
      await this.#scanOn(rest, scan);
      // The rows of a table that was dropped meanwhile are gone: these may be a part of them.
      if (this.#tables.current(table).id !== id) throw notFound(table);
    }
    return scan.found;
  }

  checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    const fences = this.#fences;
    return this.#withRoom([conditional], () => this.#checkAndMutate(conditional, fences));
  }

  async #checkAndMutate(conditional: ConditionalRowMutation, fences: number): Promise<boolean> {
    this.#assertWritable([conditional]);
    if (this.#rows.isInDoubt) await this.#settle();
    this.#refuseFenced(fences);
    const found = this.#apply(conditional);
    await this.#unless(found, this.#applied([conditional]));
    return found === true;
  }

  async checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    const fences = this.#fences;
    const answers = await this.#tryAll(conditionals, fences);
    const needsRoom = (i: number): boolean => isEssential(conditionals[i]) && isFull(answers[i]);
    if (!answers.some((_, i) => needsRoom(i))) return answers;
    return Promise.all(
      answers.map(async (answer, i) => {
        const conditional = conditionals[i] as ConditionalRowMutation;
        if (!needsRoom(i)) return answer;
        const again = (): Promise<boolean> => this.#checkAndMutate(conditional, fences);
        return this.#withRoom([conditional], again).catch(asError);
      }),
    );
  }

  async #tryAll(
    conditionals: readonly ConditionalRowMutation[],
    fences: number,
  ): Promise<readonly (boolean | Error)[]> {
    const answers: (boolean | Error)[] = [];
    try {
      this.#assertWritable(conditionals);
      if (this.#rows.isInDoubt) await this.#settle();
      this.#refuseFenced(fences);
      for (const conditional of conditionals) answers.push(this.#tryApply(conditional));
      await this.#applied(conditionals);
      return answers;
    } catch (error) {
      return conditionals.map((_, i) => {
        const answer = answers[i];
        return answer instanceof Error ? answer : asError(error);
      });
    }
  }

  mutateRows(rows: readonly RowMutation[]): Promise<void> {
    const fences = this.#fences;
    return this.#withRoom(rows, () => this.#mutateRows(rows, fences));
  }

  async #mutateRows(rows: readonly RowMutation[], fences: number): Promise<void> {
    this.#assertWritable(rows);
    if (this.#rows.isInDoubt) await this.#settle();
    this.#refuseFenced(fences);
    const tables = rows.map((row) => this.#validateRowMutation(row));
    const failure = this.#rows.change(() => {
      for (const [i, change] of rows.entries()) {
        const { row } = change;
        const table = tables[i] as TableEntry;
        const pending = this.#rows.pendingRow(rowKey(tablePrefix(table.id), row));
        try {
          mutateRow(this.#rows, pending, table, change);
        } catch (error) {
          throw naming(table.name, row, error);
        }
      }
    });
    await this.#unless(failure, this.#applied(rows));
  }

  async sampleRowKeys(table: string): Promise<readonly string[]> {
    this.#assertOpen();
    if (this.#rows.isInDoubt) await this.#settle();
    return this.#tables.current(table).splits;
  }

  async createTable(table: string, schema: TableSchema): Promise<void> {
    this.#assertWritable();
    validateSchema(table, schema);
    await this.#changeTables((catalog) => withTable(catalog, table, schema));
  }

  async listTables(): Promise<readonly string[]> {
    this.#assertOpen();
    if (this.#rows.isInDoubt) await this.#settle();
    return this.#tables.names;
  }

  async dropTable(table: string): Promise<void> {
    this.#assertWritable();
    await this.#changeTables((catalog) => {
      const entry = findTable(catalog, table);
      return entry === undefined ? catalog : withoutTable(catalog, entry.id);
    });
  }

  /** Other processes change the store through this one, so it knows of every change. */
  readonly onChange = (listener: ChangeListener): (() => void) => this.#listeners.add(listener);

  /** Mutations that wait here are refused; what was applied is seen. */
  async fence(): Promise<void> {
    this.#assertOpen();
    await systemClock.yield(); // What was sent in one turn has one fate (P61).
    this.#assertOpen();
    this.#fences++;
    this.#fenceClients();
    if (this.#rows.isInDoubt) await this.#settle();
    await this.#rows.visible();
  }

  /** Called when a group has become visible that sets cells in these tables. */
  changed(tables: ReadonlySet<string>): void {
    this.#listeners.tell(tables);
  }

  /** Called when what is pending will not be applied. */
  failed(): void {
    this.#tables.failed();
  }

  /** Called when this process finds that it does not own the store any more. */
  lost(error: PercolatorError): void {
    this.#lost = error;
    this.close().catch(() => undefined); // There is nothing left to save.
  }

  async close(): Promise<void> {
    this.#closed ??= this.#idle().then(() => this.#end());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#scans);
    await this.#rows.idle();
  }

  #applied(mutations: readonly (ConditionalRowMutation | RowMutation)[]): Promise<void> {
    return mutations.every(isProvisional) ? this.#rows.visible() : this.#rows.durable();
  }

  async #settle(): Promise<void> {
    await this.#reserve.use(() => this.#rows.settle());
    this.#assertOpen(); // It may have been closed meanwhile.
  }

  /** Begins a read. Checks the table and the families of the filters even if there is no row. */
  #look(
    name: string,
    filters: readonly CellFilter[],
  ): { readonly id: number; readonly wanted: readonly RowFilter[] } {
    const table = this.#tables.current(name);
    return { id: table.id, wanted: filters.map((filter) => filterFor(table, filter)) };
  }

  /** Adds rows to `found`. Returns what is left; undefined at the end, or at the limit. */
  #scan(range: RowsRange, { table, wanted, limit, found }: Scan): RowsRange | undefined {
    let at = range.start;
    try {
      for (const { key, first } of this.#rows.rows(range)) {
        if (first === undefined) return restOfRows(range, key);
        at = key;
        const row = this.#rowOf(rowOf(key), this.#rows.rowAt(key, first), wanted);
        if (row !== undefined && found.push(row) === limit) return undefined;
      }
    } catch (error) {
      throw naming(table, rowOf(at), error);
    }
    return undefined;
  }

  /** Gives way to other callers repeatedly. Closing waits for it. */
  async #scanOn(range: RowsRange, scan: Scan): Promise<void> {
    const over = Promise.withResolvers<void>();
    this.#scans.add(over.promise);
    try {
      for (let rest: RowsRange | undefined = range; rest !== undefined;) {
        await systemClock.yield();
        if (this.#rows.isInDoubt) await this.#rows.settle();
        this.#rows.log.ownership.look();
        rest = this.#scan(rest, scan);
      }
    } finally {
      this.#scans.delete(over.promise);
      over.resolve();
    }
  }

  #read(
    { table, row, key }: { readonly table: string; readonly row: string; readonly key: Buffer },
    wanted: readonly RowFilter[],
  ): Row | undefined {
    try {
      return this.#rowOf(row, this.#rows.row(key), wanted);
    } catch (error) {
      throw naming(table, row, error);
    }
  }

  #rowOf(key: string, pages: RowPages | undefined, wanted: readonly RowFilter[]): Row | undefined {
    if (pages === undefined) return undefined;
    const cells = cellsOf(pages, wanted, this.#readLong);
    return cells.length === 0 ? undefined : { key, cells };
  }

  /** A copy: the record is a part of a large piece of memory. */
  readonly #readLong = (place: Place): Buffer => Buffer.from(this.#rows.log.readBody(place));

  #tryApply(conditional: ConditionalRowMutation): boolean | Error {
    try {
      return this.#apply(conditional);
    } catch (error) {
      return asError(error);
    }
  }

  /**
   * Checks and mutates in one step, so nothing comes in between. Returns whether a cell was found,
   * or why the row cannot be read.
   */
  #apply(conditional: ConditionalRowMutation): boolean | Error {
    const { row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    const table = this.#validateConditional(conditional);
    const filters = anyOf.map((filter) => filterFor(table, filter));
    let found = false;
    const failure = this.#rows.change(() => {
      const pending = this.#rows.pendingRow(rowKey(tablePrefix(table.id), row));
      try {
        found = anyCell(pending, filters);
        mutateRow(this.#rows, pending, table, { mutations: found ? ifFound : ifNotFound });
      } catch (error) {
        throw naming(table.name, row, error);
      }
    });
    return failure ?? found;
  }

  async #changeTables(change: (catalog: Catalog) => Catalog): Promise<void> {
    const fences = this.#fences;
    if (this.#rows.isInDoubt) await this.#settle();
    this.#refuseFenced(fences);
    const { isChange, failure, durable } = this.#tables.submit(change);
    // A table that is there may still wait for its sync: who opens a database asks for each.
    await (isChange ? this.#unless(failure, durable()) : this.#reserve.use(durable));
  }

  /** @param failure if it is an error, the group will fail, and this is what the caller hears */
  async #unless(failure: unknown, done: Promise<void>): Promise<void> {
    try {
      await done;
    } catch (error) {
      throw failure instanceof Error ? failure : error;
    }
  }

  #validateConditional(conditional: ConditionalRowMutation): TableEntry {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    validateCases(conditional);
    const entry = this.#validateRowMutation({ table, row, mutations: ifFound });
    validateMutations(entry, row, ifNotFound);
    for (const filter of anyOf) {
      validateFilter(filter);
      familyId(entry, filter.family);
      // A prewrite names what its commit will set, which must not be refused then.
      if (filter.qualifier !== undefined) checkKeyLength(row, filter.qualifier);
    }
    return entry;
  }

  #validateRowMutation({ table, row, mutations }: RowMutation): TableEntry {
    validateRowKey(row);
    const entry = this.#tables.pending(table);
    validateMutations(entry, row, mutations);
    return entry;
  }

  /** What readers wait for may use the room that is kept for a full disk (P78). */
  #withRoom<T>(
    mutations: readonly (ConditionalRowMutation | RowMutation)[],
    attempt: () => Promise<T>,
  ): Promise<T> {
    return mutations.every(isEssential) ? this.#reserve.use(attempt) : attempt();
  }

  #assertWritable(mutations: readonly (ConditionalRowMutation | RowMutation)[] = []): void {
    this.#assertOpen();
    if (this.#readOnly) {
      throw new PercolatorError('READ_ONLY', 'the embedded store was opened for reading only');
    }
    if (this.#reserve.isInUse && !mutations.every(isEssential)) throw full();
  }

  /** A mutation that waited while a fence was set: its sender may have died (P84). */
  #refuseFenced(fences: number): void {
    if (fences === this.#fences) return;
    const message =
      'the mutation waited while a collector ended all that waits; nothing was applied';
    throw new PercolatorError('STORE_UNAVAILABLE', message);
  }

  /** What is read or checked after it, in the same turn, was so at a moment since the call. */
  #assertOpen(): void {
    if (this.#closed === undefined) this.#rows.log.ownership.look();
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#closed === undefined) return;
    throw new PercolatorError('STORE_CLOSED', 'the embedded store was closed');
  }
}

function isProvisional({ provisional }: ConditionalRowMutation | RowMutation): boolean {
  return provisional === true;
}

function isEssential(mutation: ConditionalRowMutation | RowMutation | undefined): boolean {
  return mutation?.essential === true;
}

function validateMutations(table: TableEntry, row: string, mutations: readonly Mutation[]): void {
  for (const mutation of mutations) {
    validateMutation(mutation);
    familyId(table, mutation.family);
    checkKeyLength(row, mutation.qualifier);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
