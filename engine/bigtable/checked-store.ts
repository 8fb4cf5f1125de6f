/**
 * What all stores in another system do before and after their own calls.
 *
 *     call ─▶ closed? ─▶ read-only? ─▶ valid? ─▶ families known? ─▶ the store's own calls
 *     close ─▶ refuses what comes later, waits for what is in flight ─▶ ends the connections
 *
 * Every request is checked before any part of it is sent, because other systems apply half of a bad
 * one, and report a missing family only when they reach it, or not at all. So the families of a
 * table are loaded once. If another process drops the table or makes it again, calls fail, and the
 * families are loaded again.
 *
 * What it does not do: read ranges page by page. Each system ends its pages in a way of its own.
 */
import { PercolatorError } from '../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Mutation,
  Row,
  RowMutation,
  RangeRead,
  TableSchema,
} from './bigtable.ts';
import {
  invalid,
  validateCases,
  validateFilter,
  validateMutation,
  validateRange,
  validateSchema,
  validateStoredRow,
} from './validate.ts';

export interface CheckedStoreParts {
  /** For errors: `the HBase store`. */
  readonly name: string;
  readonly manifest: Manifest;
  readonly readOnly: boolean;
  readonly tables: StoreTables;
  /** Mutations of one row in one call, or in one case of a conditional. Default: no limit. */
  readonly mutationsMax?: number;
}

/**
 * A store extends it with its own calls, `send...`. They are given valid requests about families
 * that are there.
 */
export abstract class CheckedStore implements Bigtable {
  readonly manifest: Manifest;
  readonly #name: string;
  readonly #readOnly: boolean;
  readonly #tables: StoreTables;
  readonly #mutationsMax: number;
  #inFlight = 0;
  #becameIdle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor({ name, manifest, readOnly, tables, mutationsMax = Infinity }: CheckedStoreParts) {
    this.#name = name;
    this.manifest = manifest;
    this.#readOnly = readOnly;
    this.#tables = tables;
    this.#mutationsMax = mutationsMax;
  }

  protected abstract sendReadRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]>;
  protected abstract sendReadRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]>;
  protected abstract sendMutateRows(rows: readonly RowMutation[]): Promise<void>;
  protected abstract sendSampleRowKeys(table: string): Promise<readonly string[]>;
  /** Ends the connections: called once, when nothing is in flight. */
  protected abstract disconnect(): Promise<void> | void;

  /** These call `run` and `checkConditional`. */
  abstract readonly checkAndMutateRow: Bigtable['checkAndMutateRow'];
  abstract readonly checkAndMutateRows: Bigtable['checkAndMutateRows'];

  readonly readRow: Bigtable['readRow'] = async (table, row, filters) => {
    const [found] = await this.readRows(table, [row], filters);
    return found;
  };

  readonly readRows: Bigtable['readRows'] = (table, rows, filters) =>
    this.run([table], async () => {
      rows.forEach(validateStoredRow);
      filters.forEach(validateFilter);
      await this.#checkFamilies(table, filters);
      return this.sendReadRows(table, rows, filters);
    });

  readonly readRange: Bigtable['readRange'] = (table, range, filters) =>
    this.run([table], async () => {
      validateRange(range);
      filters.forEach(validateFilter);
      await this.#checkFamilies(table, filters);
      return this.sendReadRange(table, range, filters);
    });

  readonly mutateRows: Bigtable['mutateRows'] = (rows) =>
    this.run([...new Set(rows.map(({ table }) => table))], async () => {
      this.#assertWritable();
      for (const { row, mutations } of rows) {
        validateStoredRow(row);
        this.#validateMutations(row, mutations);
      }
      for (const { table, mutations } of rows) await this.#checkFamilies(table, mutations);
      await this.sendMutateRows(rows);
    });

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = (table) =>
    this.run([table], () => this.sendSampleRowKeys(table));

  readonly createTable: Bigtable['createTable'] = (table, schema) =>
    this.run([], async () => {
      this.#assertWritable();
      validateSchema(table, schema);
      await this.#tables.create(table, schema);
    });

  readonly listTables: Bigtable['listTables'] = () => this.run([], () => this.#tables.list());

  readonly dropTable: Bigtable['dropTable'] = (table) =>
    this.run([], async () => {
      this.#assertWritable();
      await this.#tables.drop(table);
    });

  /** A second call waits for the first. */
  async close(): Promise<void> {
    this.#closed ??= this.#whenIdle().then(() => this.disconnect());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Runs one operation. An error about a missing table or family may be due to a table that was
   * made again, so what is known of the operation's tables is forgotten.
   * @throws STORE_CLOSED
   */
  protected async run<T>(tables: readonly string[], operation: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) {
      throw new PercolatorError('STORE_CLOSED', `${this.#name} was closed`);
    }
    this.#inFlight++;
    try {
      return await operation();
    } catch (error) {
      if (isAboutSchema(error)) for (const table of tables) this.#tables.forget(table);
      throw error;
    } finally {
      if (--this.#inFlight === 0) this.#becameIdle?.();
    }
  }

  protected async checkConditional(conditional: ConditionalRowMutation): Promise<void> {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    this.#assertWritable();
    validateCases(conditional);
    validateStoredRow(row);
    for (const mutations of [ifFound, ifNotFound]) this.#validateMutations(row, mutations);
    anyOf.forEach(validateFilter);
    await this.#checkFamilies(table, [...anyOf, ...ifFound, ...ifNotFound]);
  }

  #validateMutations(row: string, mutations: readonly Mutation[]): void {
    mutations.forEach(validateMutation);
    const max = this.#mutationsMax;
    if (mutations.length <= max) return;
    throw invalid(
      `row ${JSON.stringify(row)} has ${mutations.length} mutations; at most ${max} are allowed`,
    );
  }

  /** Loads the table's families, if they are unknown or may have changed. */
  async #checkFamilies(table: string, wanted: readonly { family: string }[]): Promise<void> {
    const known = this.#tables.known(table);
    if (known !== undefined && wanted.every(({ family }) => known.has(family))) return;
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
    throw new PercolatorError('READ_ONLY', `${this.#name} was opened for reading only`);
  }

  #whenIdle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#becameIdle = resolve;
    });
  }
}

/** The tables of the other system, and what this process knows of their families. */
export abstract class StoreTables {
  readonly #families = new Map<string, ReadonlySet<string>>();
  /** Loads that were begun in this turn. */
  readonly #loading = new Map<string, Promise<ReadonlySet<string>>>();

  abstract create(table: string, schema: TableSchema): Promise<void>;
  abstract list(): Promise<readonly string[]>;
  abstract drop(table: string): Promise<void>;

  /**
   * Asks the other system for the families; undefined if there is no such table.
   * @throws TABLE_MISMATCH if the engine would lose cells in it
   */
  protected abstract askFamilies(table: string): Promise<ReadonlySet<string> | undefined>;

  /** The table's families, if they have been loaded. */
  known(table: string): ReadonlySet<string> | undefined {
    return this.#families.get(table);
  }

  /** Forgets what may have changed, because the table was dropped or made again. */
  forget(table: string): void {
    this.#families.delete(table);
  }

  /**
   * Asks for the table's families, and remembers them. Calls of one turn share an answer. A later
   * call asks again: what its caller knows may be newer than that answer.
   * @throws TABLE_NOT_FOUND; TABLE_MISMATCH if the engine would lose cells in it
   */
  load(table: string): Promise<ReadonlySet<string>> {
    let loading = this.#loading.get(table);
    if (loading === undefined) {
      loading = this.#load(table);
      this.#loading.set(table, loading);
      queueMicrotask(() => this.#loading.delete(table));
    }
    return loading;
  }

  protected remember(table: string, families: ReadonlySet<string>): ReadonlySet<string> {
    this.#families.set(table, families);
    return families;
  }

  async #load(table: string): Promise<ReadonlySet<string>> {
    const families = await this.askFamilies(table);
    if (families !== undefined) return this.remember(table, families);
    throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${table}`);
  }
}

export function isAboutSchema(error: unknown): boolean {
  return (
    error instanceof PercolatorError &&
    (error.code === 'TABLE_NOT_FOUND' || error.code === 'FAMILY_NOT_FOUND')
  );
}
