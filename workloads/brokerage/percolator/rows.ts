/**
 * A transaction as tables of rows: reads by key, scans by key or by access path, and writes that
 * maintain the indexes.
 */
import {
  assert,
  type CellAddress,
  type Percolator,
  type Reader,
  textOf,
  type Transaction,
} from '#engine';
import { describe, type TableName, type TableReader, type TableRow } from '../model/tables.ts';
import {
  countDown,
  decodeEntries,
  decodeKey,
  decodePrices,
  decodeRow,
  decodeRows,
  encodeKey,
  encodeRow,
  encodeRows,
  type KeyPart,
  keyRange,
  type Prices,
} from './encoding.ts';
import {
  type AccessPath,
  cellAt,
  cellOf,
  closesCell,
  copiesOf,
  copyAt,
  entryKey,
  INDEX_COLUMN,
  isFirstCopy,
  isInTradeRecord,
  type KeyedRow,
  type Layout,
  pathOf,
  pathsOf,
  placementOf,
  sectorCell,
  type TradeRecordTable,
} from './layout.ts';
import { decodeTradeRecord, encodeTradeRecord, rowsIn, type TradeRecord } from './trade-record.ts';

/** Tables whose rows are not part of a trade's cell. */
type TableOutsideTrades = Exclude<TableName, TradeRecordTable>;
/** A requested row: its table, and the parts of the key that layout.ts defines. */
export type RowRequest = readonly [table: TableOutsideTrades, ...key: readonly KeyPart[]];
type RequestedRows<A extends readonly RowRequest[]> = {
  readonly [I in keyof A]: TableRow<A[I][0]> | undefined;
};

export interface ScanBounds {
  /** Bounds, both inclusive, of the key's part after the prefix. */
  readonly from?: KeyPart | undefined;
  readonly to?: KeyPart | undefined;
  readonly limit?: number | undefined;
}

/**
 * Rows per read of the storage. A scan with a limit reads that many rows at a time instead. It
 * needs a second read if some of them are deleted and not yet collected, which is rare: these scans
 * read days of the market, which stay, and indexes of trades, where an entry is deleted only when
 * the trade's status changes.
 */
const BATCH_ROWS = 256;

/** The operations of a transaction that only reads. */
export class RowReader {
  readonly layout: Layout;
  readonly #reader: Reader;

  constructor(reader: Reader, layout: Layout = 'small') {
    this.#reader = reader;
    this.layout = layout;
  }

  /** @throws if there is no such row: the caller knows that it exists */
  async get<T extends TableOutsideTrades>(
    table: T,
    ...key: readonly KeyPart[]
  ): Promise<TableRow<T>> {
    return present(await this.find(table, ...key), table, key);
  }

  async find<T extends TableOutsideTrades>(
    table: T,
    ...key: readonly KeyPart[]
  ): Promise<TableRow<T> | undefined> {
    const value = await this.#reader.get(this.#cellAt(table, key));
    return value && decodeRow(table, value);
  }

  /** Rows of different tables at once; those in one row of the storage are one read. */
  async findAll<const A extends readonly RowRequest[]>(asked: A): Promise<RequestedRows<A>> {
    const cells = asked.map(([table, ...key]) => this.#cellAt(table, key));
    const values = await this.#reader.getMany(cells);
    return asked.map(([table], i) => {
      const value = values[i];
      return value && decodeRow(table, value);
    }) as unknown as RequestedRows<A>;
  }

  /** @throws if one of them does not exist */
  async getAll<const A extends readonly RowRequest[]>(
    asked: A,
  ): Promise<{ readonly [I in keyof A]: TableRow<A[I][0]> }> {
    const rows: readonly unknown[] = await this.findAll(asked);
    return rows.map((row, i) => {
      const [table, ...key] = asked[i] as RowRequest;
      return present(row, table, key);
    }) as unknown as { readonly [I in keyof A]: TableRow<A[I][0]> };
  }

  /** Rows of one table, by keys of one part each; no key is read twice. */
  async byKey<T extends TableOutsideTrades, K extends KeyPart>(
    table: T,
    keys: Iterable<K>,
  ): Promise<ReadonlyMap<K, TableRow<T>>> {
    const distinct = [...new Set(keys)];
    const rows = await this.getAll(distinct.map((key) => [table, key] as const));
    return new Map(distinct.map((key, i) => [key, rows[i] as TableRow<T>]));
  }

  /** One for each of `tradeIds`, in their order; undefined where the trade does not exist. */
  async findTrades(tradeIds: readonly number[]): Promise<readonly (TradeRecord | undefined)[]> {
    const values = await this.#reader.getMany(tradeIds.map((id) => cellAt('trade', [id])));
    return values.map((value) => value && decodeTradeRecord(value));
  }

  /** @throws if one of them does not exist */
  async trades(tradeIds: readonly number[]): Promise<readonly TradeRecord[]> {
    const records = await this.findTrades(tradeIds);
    return records.map((record, i) => present(record, 'trade', tradeIds.slice(i, i + 1)));
  }

  /** @throws if the trade does not exist */
  async trade(tradeId: number): Promise<TradeRecord> {
    const [record] = await this.findTrades([tradeId]);
    return present(record, 'trade', [tradeId]);
  }

  /** The trades with this id or a larger one. */
  tradesFrom(tradeId: number): Promise<readonly TradeRecord[]> {
    const { table, column } = placementOf('trade');
    return this.#scanCells(table, { prefix: [], from: tradeId, column }, decodeTradeRecord);
  }

  /** The ids of trades, by one of their paths that is not covering. */
  async tradeIds(
    pathName: string,
    prefix: readonly KeyPart[],
    bounds: ScanBounds,
  ): Promise<readonly number[]> {
    return (await this.scanKeys('trade', pathName, prefix, bounds)).map(Number);
  }

  /** The ids of the sectors of securities. */
  async sectorsOf(symbols: readonly string[]): Promise<readonly string[]> {
    const sectors = await this.#reader.getMany(symbols.map(sectorCell));
    return sectors.map((sector, i) => {
      assert(sector !== undefined, `${symbols[i]} has a sector`);
      return sector.toString();
    });
  }

  /** The closing prices of a day, at least of `symbols`; none if the market was closed. */
  async closesOf(day: number, symbols: readonly string[]): Promise<Prices> {
    if (this.layout === 'small') {
      const closes = await this.#reader.get(closesCell(day));
      return closes === undefined ? {} : decodePrices(closes);
    }
    const rows = await this.findAll(
      symbols.map((symbol): RowRequest => ['daily_market', symbol, day]),
    );
    const found = rows.filter((row) => row !== undefined) as readonly TableRow<'daily_market'>[];
    return Object.fromEntries(found.map(({ dm_s_symb, dm_close }) => [dm_s_symb, dm_close]));
  }

  /** The rows whose keys begin with `prefix`, in the order of keys. */
  async scan<T extends TableOutsideTrades>(
    table: T,
    prefix: readonly KeyPart[],
    bounds: ScanBounds = {},
  ): Promise<readonly TableRow<T>[]> {
    const { table: place, key, column, isGroup } = placementOf(table);
    const wanted = { ...bounds, prefix, column };
    if (!isGroup) return this.#scanCells(place, wanted, (value) => decodeRow(table, value));
    if (prefix.length === key.length) return this.#readGroup(table, prefix, bounds.limit);
    assert(bounds.limit === undefined, 'a scan of cells with several rows each has no limit');
    return (await this.#scanCells(place, wanted, (value) => decodeRows(table, value))).flat();
  }

  /** The rows whose keys in an access path begin with `prefix`, in its order. */
  async scanPath<T extends TableName>(
    table: T,
    pathName: string,
    prefix: readonly KeyPart[],
    bounds: ScanBounds = {},
  ): Promise<readonly TableRow<T>[]> {
    const path = pathOf(table, pathName, this.layout);
    const wanted = { ...bounds, ...pathBounds(path, prefix, bounds), prefix };
    if (path.isCovering) {
      return this.#readEntries(path, wanted, (value) => decodeRow(table, value));
    }
    const { table: place, column } = placementOf(table);
    assert(!isInTradeRecord(table), 'a path of trades yields only keys and covering entries');
    const cells = await this.#readEntries(path, wanted, (value) => ({
      table: place,
      row: textOf(value),
      column,
    }));
    const values = await this.#reader.getMany(cells);
    return values.map((value) => {
      assert(value !== undefined, 'an index entry refers to a row');
      return decodeRow(table, value);
    });
  }

  /**
   * The keys of the rows that `scanPath` would return, without reading those rows: for tables with
   * a key of one part, and paths that are not covering.
   */
  async scanKeys(
    table: TableName,
    pathName: string,
    prefix: readonly KeyPart[],
    bounds: ScanBounds = {},
  ): Promise<readonly KeyPart[]> {
    const path = pathOf(table, pathName, this.layout);
    const wanted = { ...bounds, ...pathBounds(path, prefix, bounds), prefix };
    return this.#readEntries(path, wanted, (value) => decodeKey(table, textOf(value)));
  }

  /** The cell in which this transaction reads the row: one of its copies, if there are several. */
  #cellAt(table: TableOutsideTrades, key: readonly KeyPart[]): CellAddress {
    const copies = copiesOf(table, this.layout);
    return copyAt(cellAt(table, key), this.#reader.startTimestamp % copies, copies);
  }

  async #readGroup<T extends TableName>(
    table: T,
    key: readonly KeyPart[],
    limit: number | undefined,
  ): Promise<readonly TableRow<T>[]> {
    const value = await this.#reader.get(cellAt(table, key));
    return value === undefined ? [] : decodeRows(table, value).slice(0, limit);
  }

  async #readEntries<R>(
    path: AccessPath,
    wanted: ScanBounds & { readonly prefix: readonly KeyPart[] },
    decode: (value: Uint8Array) => R,
  ): Promise<readonly R[]> {
    const { prefix } = wanted;
    const { table } = path;
    if (path.isGroup) return this.#readGroupedEntries(path, wanted, decode);
    if (prefix.length < path.columns.length) {
      return this.#scanCells(table, { ...wanted, column: INDEX_COLUMN }, decode);
    }
    const entry = { table, row: encodeKey(prefix), column: INDEX_COLUMN };
    const value = await this.#reader.get(entry);
    return value === undefined ? [] : [decode(value)];
  }

  async #readGroupedEntries<R>(
    path: AccessPath,
    { prefix, limit, ...bounds }: ScanBounds & { readonly prefix: readonly KeyPart[] },
    decode: (value: Uint8Array) => R,
  ): Promise<readonly R[]> {
    const row = encodeKey(prefix.slice(0, 1));
    const value = await this.#reader.get({ table: path.table, row, column: INDEX_COLUMN });
    if (value === undefined) return [];
    const { start, end } = keyRange(prefix, bounds);
    const within = decodeEntries(value).filter(
      ([key]) => key >= start && (end === undefined || key < end),
    );
    return within.slice(0, limit).map(([, found]) => decode(Buffer.from(found)));
  }

  async #scanCells<R>(
    table: string,
    {
      prefix,
      column,
      limit,
      ...bounds
    }: ScanBounds & { readonly prefix: readonly KeyPart[]; readonly column: string },
    decode: (value: Uint8Array) => R,
  ): Promise<readonly R[]> {
    const found: R[] = [];
    if (limit === 0) return found;
    const batchRows = limit ?? BATCH_ROWS;
    const range = { table, ...keyRange(prefix, bounds), columns: [column], batchRows };
    for await (const { values } of this.#reader.scan(range)) {
      const value = values.get(column);
      if (value !== undefined) found.push(decode(value));
      if (found.length === limit) break;
    }
    return found;
  }
}

/** The operations of a transaction that writes. */
export class RowWriter extends RowReader {
  readonly transaction: Transaction;

  constructor(transaction: Transaction, layout: Layout = 'small') {
    super(transaction, layout);
    this.transaction = transaction;
  }

  /** Replaces all rows that share a cell; `rows` must be in the order of the primary key. */
  replaceGroup<T extends TableName>(
    table: T,
    key: readonly KeyPart[],
    rows: readonly TableRow<T>[],
  ): void {
    assert(placementOf(table).isGroup, `rows of ${table} share a cell`);
    this.transaction.set(cellAt(table, key), encodeRows(table, rows));
  }

  /**
   * Replaces all rows that share a cell, and their index entries. At least one of the lists has a
   * row; both are in the order of the primary key.
   */
  changeGroup<T extends TableOutsideTrades>(
    table: T,
    before: readonly KeyedRow<T>[],
    after: readonly KeyedRow<T>[],
  ): void {
    const [row] = [...after, ...before];
    assert(row !== undefined && placementOf(table).isGroup, `rows of ${table} share a cell`);
    const cell = cellOf(table, row);
    if (after.length === 0) this.transaction.delete(cell);
    else this.transaction.set(cell, encodeRows(table, after));
    for (const removed of before) if (!after.includes(removed)) this.#deleteEntries(table, removed);
    for (const added of after) {
      if (before.includes(added)) continue;
      this.#setEntries(table, added, { value: encodeRow(table, added), to: cell.row });
    }
  }

  /** Inserts a row; or replaces one whose columns in access paths stay the same. */
  insert<T extends TableOutsideTrades>(table: T, row: KeyedRow<T>): void {
    assert(!placementOf(table).isGroup, `rows of ${table} have a cell each`);
    const cell = cellOf(table, row);
    const value = encodeRow(table, row);
    this.transaction.set(cell, value);
    this.#setEntries(table, row, { value, to: cell.row });
  }

  insertTrade(record: TradeRecord): void {
    const { trade } = record;
    const cell = cellOf('trade', trade);
    this.transaction.set(cell, encodeTradeRecord(record));
    this.#setEntries('trade', trade, { value: encodeRow('trade', trade), to: cell.row });
  }

  updateTrade(before: TradeRecord, after: TradeRecord): void {
    const cell = cellOf('trade', after.trade);
    this.transaction.set(cell, encodeTradeRecord(after));
    if (before.trade === after.trade) return;
    const value = encodeRow('trade', after.trade);
    this.#moveEntries('trade', [before.trade, after.trade], { value, to: cell.row });
  }

  /** Changes columns that are not part of the row's key; access paths may change. */
  update<T extends TableOutsideTrades>(
    table: T,
    before: KeyedRow<T>,
    changes: Partial<TableRow<T>>,
  ): KeyedRow<T> {
    assert(!placementOf(table).isGroup, `rows of ${table} have a cell each`);
    const after = { ...before, ...changes };
    const cell = cellOf(table, after);
    assert(cell.row === cellOf(table, before).row, `${table} keeps its key`);
    const value = encodeRow(table, after);
    this.transaction.set(cell, value);
    this.#moveEntries(table, [before, after], { value, to: cell.row });
    return after;
  }

  remove<T extends TableOutsideTrades>(table: T, row: KeyedRow<T>): void {
    assert(!placementOf(table).isGroup, `rows of ${table} have a cell each`);
    this.transaction.delete(cellOf(table, row));
    this.#deleteEntries(table, row);
  }

  #deleteEntries<T extends TableName>(table: T, row: TableRow<T>): void {
    for (const path of pathsOf(table, this.layout)) this.transaction.delete(entryCell(path, row));
  }

  #setEntries<T extends TableName>(table: T, row: TableRow<T>, entry: NewEntry): void {
    for (const path of pathsOf(table, this.layout)) this.#setEntry(path, row, entry);
  }

  #moveEntries<T extends TableName>(
    table: T,
    [before, after]: readonly [TableRow<T>, TableRow<T>],
    entry: NewEntry,
  ): void {
    for (const path of pathsOf(table, this.layout)) {
      const moved = entryKey(path, after) !== entryKey(path, before);
      if (moved) this.transaction.delete(entryCell(path, before));
      if (moved || path.isCovering) this.#setEntry(path, after, entry);
    }
  }

  #setEntry<T extends TableName>(
    path: AccessPath,
    row: TableRow<T>,
    { value, to }: NewEntry,
  ): void {
    this.transaction.set(entryCell(path, row), path.isCovering ? value : to);
  }
}

/** The contents of a row's index entries: the row, or the key of the row. */
interface NewEntry {
  readonly value: Uint8Array;
  readonly to: string;
}

function entryCell<T extends TableName>(path: AccessPath, row: TableRow<T>): CellAddress {
  assert(!path.isGroup, `nothing is added to ${path.table}`);
  return { table: path.table, row: entryKey(path, row), column: INDEX_COLUMN };
}

/** The bounds as the path stores them: in descending order, the larger one comes first. */
function pathBounds(
  path: AccessPath,
  prefix: readonly KeyPart[],
  { from, to }: ScanBounds,
): Pick<ScanBounds, 'from' | 'to'> {
  if (path.columns[prefix.length]?.isDown !== true) return { from, to };
  return {
    from: to === undefined ? undefined : countDown(to),
    to: from === undefined ? undefined : countDown(from),
  };
}

function present<R>(row: R | undefined, table: TableName, key: readonly KeyPart[]): R {
  assert(
    row !== undefined,
    `${table} has ${describe(table).primaryKey.join(', ')} ${key.join(', ')}`,
  );
  return row;
}

/**
 * Rows per read. For each read, the official emulator lists and sorts all rows after the first one,
 * so a pass costs the emulator the square of the number of rows, divided by this number. Larger:
 * more memory.
 */
export const ROWS_PER_READ = 16_384;

/** All rows of a table in a current snapshot, for the checks. */
export function snapshotTables(percolator: Percolator, layout: Layout = 'small'): TableReader {
  return {
    rows: async function* <T extends TableName>(table: T): AsyncGenerator<TableRow<T>> {
      const { table: place, column, isGroup } = placementOf(table);
      await using snapshot = await percolator.snapshot();
      const range = { table: place, columns: [column], batchRows: ROWS_PER_READ };
      const copies = copiesOf(table, layout);
      for await (const { row, values } of snapshot.scan(range)) {
        if (!isFirstCopy(row, copies)) continue;
        for (const value of values.values()) {
          if (isGroup) yield* decodeRows(table, value);
          else if (isInTradeRecord(table)) {
            yield* rowsIn(decodeTradeRecord(value), table) as readonly TableRow<T>[];
          } else yield decodeRow(table, value);
        }
      }
    },
  };
}
