/**
 * A Bigtable over the wire: Cloud Bigtable, the official emulator, or any other server with its
 * API.
 *
 *     call ──▶ checked ──▶ families known? ──▶ one RPC per row or batch ──▶ deadline, doubt
 *
 * The public API has no call for several conditional mutations (`manifest.conditionalBatch`), so
 * they are sent at the same time, and those of one row share calls where they can (joining.ts).
 * Mutations of different calls are applied in no order (`manifest.ordered`).
 *
 * Every request is checked before it is sent, as production would: the emulator applies half of a
 * bad request.
 */
import { assert, type Clock, PercolatorError } from '../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RowRange,
} from '../bigtable.ts';
import {
  invalid,
  validateFilter,
  validateMutation,
  validateRange,
  validateStoredRow,
  validateSchema,
} from '../validate.ts';
import { InFlight } from '../in-flight.ts';
import { keyAfter } from '../range-scan.ts';
import { cellsOfFilters } from '../cells-of-filters.ts';
import type { Clients } from './client.ts';
import { DataCalls, type ReadRowsRequest } from './data-calls.ts';
import { type RowFilter, treeForAll, treeForChecking, treeForReading } from './filter-tree.ts';
import { answersByRow } from './joining.ts';
import { batchesOf, MUTATIONS_MAX, toProto } from './mutations.ts';
import { RemoteTables } from './remote-tables.ts';
import type { AssembledRow } from './row-assembly.ts';

/** Maximum rows per ReadRows, so that an answer arrives well before its deadline. */
const ROWS_PER_READ = 2000;
/** Batches of one `mutateRows` in flight at the same time. */
const BATCHES_IN_FLIGHT = 4;

export interface RemoteStoreOptions {
  readonly clients: Clients;
  readonly clock: Clock;
  /** `projects/<project>/instances/<instance>` */
  readonly instance: string;
  readonly appProfile: string | undefined;
  readonly timeoutMs: number;
  readonly readOnly: boolean;
  /** For the emulator: a read of several columns asks for all between them (filter-tree.ts). */
  readonly readsRanges: boolean;
  readonly manifest: Manifest;
}

export class RemoteBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly #clients: Clients;
  readonly #calls: DataCalls;
  readonly #tables: RemoteTables;
  readonly #readOnly: boolean;
  readonly #readsRanges: boolean;
  readonly #inFlight = new InFlight('the remote store');

  constructor(options: RemoteStoreOptions) {
    this.manifest = options.manifest;
    this.#clients = options.clients;
    this.#readOnly = options.readOnly;
    this.#readsRanges = options.readsRanges;
    this.#calls = new DataCalls(options.clients, options);
    this.#tables = new RemoteTables(options.clients.tables, options);
  }

  readonly readRow: Bigtable['readRow'] = (table, row, filters) =>
    this.#run([table], async () => {
      validateStoredRow(row);
      filters.forEach(validateFilter);
      if (!this.#hasFamilies(table, filters)) await this.#loadFamilies(table, filters);
      const filter = this.#treeFor(filters);
      if (filter === undefined) return undefined;
      const [found] = await this.#calls.readRows(table, {
        rows: { rowKeys: [Buffer.from(row)] },
        filter,
      });
      return found && arranged(found, filters);
    });

  readonly readRows: Bigtable['readRows'] = (table, rows, filters) =>
    this.#run([table], async () => {
      rows.forEach(validateStoredRow);
      filters.forEach(validateFilter);
      if (!this.#hasFamilies(table, filters)) await this.#loadFamilies(table, filters);
      const filter = this.#treeFor(filters);
      if (filter === undefined) return rows.map(() => undefined);
      const found = new Map<string, Row | undefined>();
      const keys = [...new Set(rows)].map((row) => Buffer.from(row));
      const pages: Promise<readonly AssembledRow[]>[] = [];
      for (let i = 0; i < keys.length; i += ROWS_PER_READ) {
        const rowKeys = keys.slice(i, i + ROWS_PER_READ);
        pages.push(this.#calls.readRows(table, { rows: { rowKeys }, filter }));
      }
      for (const row of (await Promise.all(pages)).flat()) {
        found.set(row.key, arranged(row, filters));
      }
      return rows.map((row) => found.get(row));
    });

  readonly readRange: Bigtable['readRange'] = (table, range, filters) =>
    this.#run([table], async () => {
      validateRange(range);
      filters.forEach(validateFilter);
      if (!this.#hasFamilies(table, filters)) await this.#loadFamilies(table, filters);
      const filter = this.#treeFor(filters);
      // Bigtable refuses a range that can hold no row.
      if (filter === undefined || isEmptyRange(range)) return [];
      return this.#readPages(table, range, { filter, filters });
    });

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) =>
    this.#check(conditional, treeForChecking);

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = (conditionals) =>
    answersByRow(conditionals, {
      one: this.checkAndMutateRow,
      all: (some) => this.#check(joined(some), treeForAll),
      present: async (some) => {
        const { table, row, anyOf } = joined(some);
        const found = await this.readRow(table, row, anyOf);
        const names = new Set(found?.cells.map(({ qualifier }) => qualifier));
        return anyOf.map(({ qualifier = '' }) => names.has(qualifier));
      },
    });

  readonly mutateRows: Bigtable['mutateRows'] = (rows) =>
    this.#run([...new Set(rows.map(({ table }) => table))], async () => {
      this.#assertWritable();
      for (const { row, mutations } of rows) {
        validateStoredRow(row);
        validateMutations(row, mutations);
      }
      for (const { table, mutations } of rows) {
        if (!this.#hasFamilies(table, mutations)) await this.#loadFamilies(table, mutations);
      }
      const [only] = rows;
      if (rows.length === 1 && only !== undefined) await this.#mutateRow(only);
      else await this.#mutateInBatches(rows);
    });

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = (table) =>
    this.#run([table], async () => {
      const keys = await this.#calls.sampleRowKeys(table);
      // The last one is empty: the end of the table.
      return keys.flatMap((key) => (key.length === 0 ? [] : [Buffer.from(key).toString()]));
    });

  readonly createTable: Bigtable['createTable'] = (table, schema) =>
    this.#run([], async () => {
      this.#assertWritable();
      validateSchema(table, schema);
      await this.#tables.create(table, schema);
    });

  readonly listTables: Bigtable['listTables'] = () => this.#run([], () => this.#tables.list());

  readonly dropTable: Bigtable['dropTable'] = (table) =>
    this.#run([], async () => {
      this.#assertWritable();
      await this.#tables.drop(table);
    });

  async close(): Promise<void> {
    await this.#inFlight.close(() => this.#clients.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Runs one operation. An error about a missing table or family may be due to a table that was
   * recreated, so what is known of the operation's tables is forgotten.
   */
  async #run<T>(tables: readonly string[], operation: () => Promise<T>): Promise<T> {
    try {
      return await this.#inFlight.run(operation);
    } catch (error) {
      if (isAboutSchema(error)) for (const table of tables) this.#tables.forget(table);
      throw error;
    }
  }

  /** @param treeFor the check that the filters mean */
  #check(
    { table, row, anyOf, ifFound = [], ifNotFound = [] }: ConditionalRowMutation,
    treeFor: (filters: readonly CellFilter[]) => RowFilter,
  ): Promise<boolean> {
    return this.#run([table], async () => {
      this.#assertWritable();
      if (ifFound.length + ifNotFound.length === 0) {
        throw invalid('a conditional mutation must mutate in some case');
      }
      validateStoredRow(row);
      for (const mutations of [ifFound, ifNotFound]) validateMutations(row, mutations);
      anyOf.forEach(validateFilter);
      const wanted = [anyOf, ifFound, ifNotFound];
      for (const some of wanted) {
        if (!this.#hasFamilies(table, some)) await this.#loadFamilies(table, some);
      }
      return this.#calls.checkAndMutateRow(table, {
        rowKey: Buffer.from(row),
        predicateFilter: treeFor(anyOf),
        trueMutations: ifFound.map(toProto),
        falseMutations: ifNotFound.map(toProto),
      });
    });
  }

  #treeFor(filters: readonly CellFilter[]): RowFilter | undefined {
    return treeForReading(filters, this.#readsRanges);
  }

  async #readPages(
    table: string,
    range: RowRange & { readonly limit: number },
    {
      filter,
      filters,
    }: Pick<ReadRowsRequest, 'filter'> & { readonly filters: readonly CellFilter[] },
  ): Promise<readonly Row[]> {
    const { end } = range;
    const endKeyOpen = end === undefined ? {} : { endKeyOpen: Buffer.from(end) };
    const rows: Row[] = [];
    let start = { startKeyClosed: Buffer.from(range.start ?? '') } as object;
    for (;;) {
      const wanted = Math.min(range.limit - rows.length, ROWS_PER_READ);
      const page = await this.#calls.readRows(table, {
        rows: { rowRanges: [{ ...start, ...endKeyOpen }] },
        rowsLimit: Math.ceil(wanted),
        filter: filter ?? null,
      });
      for (const row of page) {
        const found = arranged(row, filters);
        if (found !== undefined) rows.push(found);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < wanted || rows.length >= range.limit) return rows;
      start = { startKeyOpen: Buffer.from(last.key) };
      if (isEmptyRange({ start: keyAfter(last.key), end })) return rows;
    }
  }

  async #mutateRow({ table, row, mutations }: RowMutation): Promise<void> {
    if (mutations.length === 0) return; // Bigtable refuses such a call.
    await this.#calls.mutateRow(table, {
      rowKey: Buffer.from(row),
      mutations: mutations.map(toProto),
    });
  }

  /** Waits for all batches, even when one has failed: then none is still in flight. */
  async #mutateInBatches(rows: readonly RowMutation[]): Promise<void> {
    const batches = batchesOf(rows);
    let next = 0;
    const sendSome = async (): Promise<void> => {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
        await this.#calls.mutateRows(batch.table, batch.entries);
      }
    };
    const senders = Array.from({ length: Math.min(BATCHES_IN_FLIGHT, batches.length) }, sendSome);
    const answers = await Promise.allSettled(senders);
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  }

  /** Whether all families are known to exist: usually they are, and then no call has to wait. */
  #hasFamilies(table: string, wanted: readonly InFamily[]): boolean {
    const families = this.#tables.known(table);
    return families !== undefined && wanted.every(({ family }) => families.has(family));
  }

  /** Loads the table's families, if they are unknown or may have changed. */
  async #loadFamilies(table: string, wanted: readonly InFamily[]): Promise<void> {
    const families = await this.#tables.load(table);
    const missing = wanted.find(({ family }) => !families.has(family));
    if (missing === undefined) return;
    throw new PercolatorError(
      'FAMILY_NOT_FOUND',
      `table ${table} has no family ${missing.family}; it has ${[...families].join(', ')}`,
    );
  }

  #assertWritable(): void {
    if (!this.#readOnly) return;
    throw new PercolatorError('READ_ONLY', 'the remote store was opened for reading only');
  }
}

interface InFamily {
  readonly family: string;
}

function arranged({ key, cells }: AssembledRow, filters: readonly CellFilter[]): Row | undefined {
  const chosen = cellsOfFilters(cells, filters);
  return chosen.length === 0 ? undefined : { key, cells: chosen };
}

function isEmptyRange({ start = '', end }: RowRange): boolean {
  return end !== undefined && Buffer.compare(Buffer.from(start), Buffer.from(end)) >= 0;
}

/** @param conditionals of one row, each with one cell that it needs */
function joined(conditionals: readonly ConditionalRowMutation[]): ConditionalRowMutation {
  const [first] = conditionals;
  assert(first !== undefined, 'a call has conditional mutations');
  const { table, row } = first;
  const anyOf = conditionals.flatMap((one) => one.anyOf);
  return { table, row, anyOf, ifFound: conditionals.flatMap(({ ifFound = [] }) => ifFound) };
}

function isAboutSchema(error: unknown): boolean {
  return (
    error instanceof PercolatorError &&
    (error.code === 'TABLE_NOT_FOUND' || error.code === 'FAMILY_NOT_FOUND')
  );
}

function validateMutations(row: string, mutations: RowMutation['mutations']): void {
  mutations.forEach(validateMutation);
  if (mutations.length <= MUTATIONS_MAX) return;
  throw invalid(
    `row ${JSON.stringify(row)} has ${mutations.length} mutations; at most ${MUTATIONS_MAX} are allowed`,
  );
}
