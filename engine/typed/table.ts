/**
 * A table by name and columns: rows as objects, instead of cells as bytes.
 *
 *     const accounts = percolator.table('accounts', { balance: codecs.number, owner: codecs.text });
 *     await percolator.transact(async (transaction) => {
 *       const inside = accounts.in(transaction);
 *       const { balance = 0 } = (await inside.get('Bob')) ?? {};
 *       inside.set('Bob', { balance: balance + 5 });
 *     });
 *
 * It is a way to write calls of transactions, and no more: it keeps nothing, and the same cells can
 * be read and written without it. The columns are known to this program alone; the storage has
 * any column. Without columns, each one is allowed, and holds bytes.
 *
 * The methods of the table itself are transactions of their own. In a transaction, or in a
 * snapshot, use `in`.
 */
import { PercolatorError } from '../base/index.ts';
import { check, checkOptions, isObject, NAME, TEXTS } from '../base/options.ts';
import type { Observer } from '../observer/index.ts';
import type { TableDefinition } from '../tables/index.ts';
import {
  type CellAddress,
  checkUserColumn,
  checkWrittenCell,
  describeCell,
  getRow,
  ownValue,
  ROWS_RULES,
} from '../transaction/index.ts';
import type {
  LockOptions,
  Reader,
  ScanRange,
  Snapshot,
  Transaction,
} from '../transaction/index.ts';
import {
  type Codec,
  codecOf,
  codecs,
  COLUMN_TYPE,
  type ColumnType,
  type InputOf,
  type OutputOf,
} from './codecs.ts';

export interface Columns {
  readonly [column: string]: ColumnType;
}

/** The columns of a table that was given none. */
export interface AnyColumns {
  readonly [column: string]: Codec<Uint8Array, Uint8Array | string>;
}

type ColumnOf<C extends Columns> = keyof C & string;

/** By column. */
type Codecs = ReadonlyMap<string, Codec<unknown, never>>;

/** What is read of a row; a column without a value is absent. */
export type RowOf<C extends Columns> = { readonly [K in ColumnOf<C>]?: OutputOf<C[K]> };

/** What is written to a row: the columns that change. */
export type NewRowOf<C extends Columns> = { readonly [K in ColumnOf<C>]?: InputOf<C[K]> };

export interface TypedRange<K extends string> extends Omit<ScanRange, 'table' | 'columns'> {
  /** Default: those of the table. */
  readonly columns?: readonly K[] | undefined;
}

export interface TypedRow<C extends Columns, K extends ColumnOf<C>> {
  readonly row: string;
  readonly values: Pick<RowOf<C>, K>;
}

export interface ReadableTable<C extends Columns> {
  /** The row's values, of all columns or of some, in one read; undefined if there is none. */
  get<K extends ColumnOf<C> = ColumnOf<C>>(
    row: string,
    columns?: readonly K[],
  ): Promise<Pick<RowOf<C>, K> | undefined>;
  /** The rows of a range, of a prefix or of the table, in key order or its reverse. */
  scan<K extends ColumnOf<C> = ColumnOf<C>>(range?: TypedRange<K>): AsyncIterable<TypedRow<C, K>>;
}

export interface WritableTable<C extends Columns> extends ReadableTable<C> {
  /** Writes the columns that are given, and leaves the others as they are. */
  set(row: string, values: NewRowOf<C>): void;
  /** Removes the values of these columns; by default, of all that the table was given. */
  delete(row: string, columns?: readonly ColumnOf<C>[]): void;
  /** `Transaction.lock`. */
  lock(row: string, column: ColumnOf<C>, options?: LockOptions): Promise<void>;
  /** `Transaction.notifyWeakly`. */
  notifyWeakly(row: string, column: ColumnOf<C>): void;
}

/** What a transaction can do that a snapshot cannot. */
type Writer = Reader & Pick<Transaction, 'set' | 'delete' | 'lock' | 'notifyWeakly'>;

/** `ObservedChange`, of a value as the codec of its column reads it. */
export interface TypedChange<T> {
  before(): Promise<{ readonly value: T | undefined } | undefined>;
}

export interface TypedObserver<C extends Columns, K extends ColumnOf<C> = ColumnOf<C>> {
  readonly name: string;
  readonly column: K;
  /** Reacts to a change of the column in a row. */
  run(
    inside: WritableTable<C>,
    row: string,
    transaction: Transaction,
    change: TypedChange<OutputOf<C[K]>>,
  ): Promise<void>;
}

/** What a table needs of its database. */
interface TableDatabase {
  createTable(table: string, definition?: TableDefinition): Promise<void>;
  transact<T>(body: (transaction: Transaction) => Promise<T>): Promise<T>;
  snapshot(): Promise<Snapshot>;
}

/** Use `database.table`. */
export class Table<C extends Columns = AnyColumns> {
  readonly name: string;
  readonly #database: TableDatabase;
  /** Undefined: any column, of bytes. */
  readonly #codecs: Codecs | undefined;

  constructor(database: TableDatabase, name: string, columns?: C) {
    check('the table', name, NAME);
    this.name = name;
    this.#database = database;
    this.#codecs = columns && codecsOf(columns);
  }

  /** `createTable`, which is harmless if the table is there with the same definition. */
  create(definition?: TableDefinition): Promise<void> {
    return this.#database.createTable(this.name, definition);
  }

  /** The table as a transaction or a snapshot sees it. */
  in(transaction: Writer): WritableTable<C>;
  in(reader: Reader): ReadableTable<C>;
  in(reader: Writer): WritableTable<C> {
    return new TableIn<C>(this.name, this.#codecs, reader);
  }

  async get<K extends ColumnOf<C> = ColumnOf<C>>(
    row: string,
    columns?: readonly K[],
  ): Promise<Pick<RowOf<C>, K> | undefined> {
    await using snapshot = await this.#database.snapshot();
    return await this.in(snapshot).get(row, columns);
  }

  /** Writes the columns that are given, and leaves the others as they are. */
  set(row: string, values: NewRowOf<C>): Promise<void> {
    return this.#database.transact(async (transaction) => this.in(transaction).set(row, values));
  }

  delete(row: string, columns?: readonly ColumnOf<C>[]): Promise<void> {
    return this.#database.transact(async (transaction) =>
      this.in(transaction).delete(row, columns),
    );
  }

  /** The cell, for calls that take one. */
  cell(row: string, column: ColumnOf<C>): CellAddress {
    return { table: this.name, row, column };
  }

  /** An observer for `startWorker`, with the table as its run sees it. */
  observer<K extends ColumnOf<C>>(typed: TypedObserver<C, K>): Observer {
    const { name, column } = typed;
    return {
      name,
      table: this.name,
      column,
      run: (transaction, cell, change) => {
        const before = async (): ReturnType<TypedChange<OutputOf<C[K]>>['before']> => {
          const known = await change.before();
          if (known?.value === undefined) return known && { value: undefined };
          return { value: decodedBy(this.#codecs, cell, known.value) as OutputOf<C[K]> };
        };
        return typed.run(this.in(transaction), cell.row, transaction, { before });
      },
    };
  }
}

function codecsOf(columns: Columns): Codecs {
  if (!isObject(columns)) {
    const message = 'the columns of a table must be an object with a codec for each column';
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const entries = Object.entries(columns);
  for (const [column, type] of entries) {
    checkUserColumn(column);
    check(`the column ${column}`, type, COLUMN_TYPE);
  }
  return new Map(entries.map(([column, type]) => [column, codecOf(type)]));
}

class TableIn<C extends Columns> implements WritableTable<C> {
  readonly #table: string;
  readonly #codecs: Codecs | undefined;
  readonly #transaction: Writer;

  constructor(table: string, types: Codecs | undefined, transaction: Writer) {
    this.#table = table;
    this.#codecs = types;
    this.#transaction = transaction;
  }

  async get<K extends ColumnOf<C> = ColumnOf<C>>(
    row: string,
    columns?: readonly K[],
  ): Promise<Pick<RowOf<C>, K> | undefined> {
    const wanted = this.#wanted(columns);
    const values = await getRow(this.#transaction, { table: this.#table, row, columns: wanted });
    return values.size === 0 ? undefined : this.#decoded<K>(row, values);
  }

  async *scan<K extends ColumnOf<C> = ColumnOf<C>>(
    range: TypedRange<K> = {},
  ): AsyncGenerator<TypedRow<C, K>> {
    checkOptions('scan', range, ROWS_RULES);
    const columns = this.#wanted(range.columns);
    for await (const { row, values } of this.#transaction.scan({
      ...range,
      table: this.#table,
      columns,
    })) {
      yield { row, values: this.#decoded<K>(row, values) };
    }
  }

  set(row: string, values: NewRowOf<C>): void {
    if (!isObject(values)) throw invalid('the values of a row must be an object');
    // Before any is written: what is refused leaves the row as it was.
    const encoded = Object.entries(values).map(([column, value]) => {
      const cell = this.#cell(row, column);
      return [cell, this.#encoded(cell, value)] as const;
    });
    for (const [cell] of encoded) checkWrittenCell(cell);
    for (const [cell, value] of encoded) this.#transaction.set(cell, value);
  }

  delete(row: string, columns?: readonly ColumnOf<C>[]): void {
    const wanted = this.#wanted(columns);
    if (wanted === undefined) {
      throw invalid(`table ${this.#table} was given no columns: say which ones to delete`);
    }
    const cells = wanted.map((column) => this.#cell(row, column));
    for (const cell of cells) checkWrittenCell(cell);
    for (const cell of cells) this.#transaction.delete(cell);
  }

  async lock(row: string, column: ColumnOf<C>, options?: LockOptions): Promise<void> {
    await this.#transaction.lock(this.#cell(row, column), options);
  }

  notifyWeakly(row: string, column: ColumnOf<C>): void {
    this.#transaction.notifyWeakly(this.#cell(row, column));
  }

  /** Undefined: all that the row has. */
  #wanted(columns: readonly string[] | undefined): readonly string[] | undefined {
    if (columns === undefined) return this.#codecs && [...this.#codecs.keys()];
    check('the columns', columns, TEXTS);
    for (const column of columns) codecIn(this.#codecs, this.#table, column);
    return columns;
  }

  #cell(row: string, column: string): CellAddress {
    codecIn(this.#codecs, this.#table, column);
    return { table: this.#table, row, column };
  }

  /** In bytes of its own: the codec may use its buffer again for the next column. */
  #encoded(cell: CellAddress, value: unknown): Uint8Array {
    if (value === undefined) {
      throw invalid(`the value of ${describeCell(cell)} is undefined; delete removes a value`);
    }
    const name = `the value of ${describeCell(cell)}`;
    try {
      const encoded = codecIn(this.#codecs, this.#table, cell.column).encode(value as never); // The types are the caller's.
      return ownValue(name, encoded);
    } catch (error) {
      throw refused('INVALID_ARGUMENT', `${name} is refused`, error);
    }
  }

  #decoded<K extends ColumnOf<C>>(
    row: string,
    values: ReadonlyMap<string, Uint8Array>,
  ): Pick<RowOf<C>, K> {
    const table = this.#table;
    const entries = [...values].map(([column, stored]) => {
      return [column, decodedBy(this.#codecs, { table, row, column }, stored)] as const;
    });
    return Object.fromEntries(entries) as Pick<RowOf<C>, K>; // As the codecs say.
  }
}

/** @throws INVALID_ARGUMENT for a column that the table was not given */
function codecIn(given: Codecs | undefined, table: string, column: string): Codec<unknown, never> {
  const codec = given === undefined ? codecs.bytes : given.get(column);
  if (codec !== undefined) return codec;
  const names = [...(given?.keys() ?? [])].join(', ');
  throw invalid(`table ${table} was given no column ${column}; it has ${names}`);
}

function decodedBy(given: Codecs | undefined, cell: CellAddress, stored: Uint8Array): unknown {
  const codec = codecIn(given, cell.table, cell.column);
  try {
    return codec.decode(stored);
  } catch (error) {
    const what = `the value of ${describeCell(cell)} cannot be read by its column's codec`;
    throw refused('TABLE_MISMATCH', what, error);
  }
}

function refused(
  code: 'INVALID_ARGUMENT' | 'TABLE_MISMATCH',
  what: string,
  cause: unknown,
): PercolatorError {
  if (cause instanceof PercolatorError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new PercolatorError(code, `${what}: ${why}`, { cause });
}

function invalid(message: string): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', message);
}
