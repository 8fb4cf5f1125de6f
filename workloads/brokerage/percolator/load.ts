/**
 * Loads a population as committed rows and their index entries, bypassing the transactions.
 *
 * Tables are loaded one after the other, each in the order of its primary key. For most tables that
 * is the order of the storage, which is the fastest. The entries of an index are gathered, sorted,
 * and written after the table's rows. Rows that belong to a trade are loaded with the trade.
 */
import { assert, type BulkLoader, openBulkLoader, type Percolator } from '#engine';
import type { Population } from '../model/population.ts';
import { TABLE_NAMES, type TableName, type TableRow } from '../model/tables.ts';
import { createBrokerTables } from './broker-update.ts';
import { encodeEntries, encodePrices, encodeRow, encodeRows, type Prices } from './encoding.ts';
import {
  type AccessPath,
  cellOf,
  closesCell,
  copiesOf,
  copyAt,
  entryKey,
  entryRow,
  INDEX_COLUMN,
  isInTradeRecord,
  type KeyedRow,
  type Layout,
  pathsOf,
  percolatorTables,
  placementOf,
  sectorCell,
} from './layout.ts';
import { encodeTradeRecord, sortedHistory, type TradeRecord } from './trade-record.ts';

export interface PopulationLoadOptions {
  /** Default `small`. A brokerage is opened with the layout that it was loaded with. */
  readonly layout?: Layout | undefined;
  readonly onProgress?: ((rows: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Rows between two checks of the signal and two progress reports. */
const PIECE_ROWS = 10_000;

/** Creates the tables and fills them; returns the number of rows, without index entries. */
export async function loadPopulation(
  percolator: Percolator,
  population: Population,
  { layout = 'small', onProgress, signal }: PopulationLoadOptions = {},
): Promise<number> {
  await createTables(percolator, layout);
  const loader = await openBulkLoader(percolator);
  let rows = 0;
  const onRow = (): void => {
    rows++;
    if (rows % PIECE_ROWS > 0) return;
    signal?.throwIfAborted();
    onProgress?.(rows);
  };
  for (const table of TABLE_NAMES) await loadTable(loader, population, { table, layout, onRow });
  await loadSectors(loader, population);
  if (layout === 'small') await loadCloses(loader, population);
  await loader.finish();
  return rows;
}

async function createTables(percolator: Percolator, layout: Layout): Promise<void> {
  for (const table of percolatorTables(layout)) await percolator.createTable(table);
  await createBrokerTables(percolator);
}

interface TableLoad {
  readonly table: TableName;
  readonly layout: Layout;
  readonly onRow: () => void;
}

async function loadTable(
  loader: BulkLoader,
  population: Population,
  { table, layout, onRow }: TableLoad,
): Promise<void> {
  if (placementOf(table).isGroup) {
    await loadGroups(loader, population, { table, layout, onRow });
    return;
  }
  if (isInTradeRecord(table)) {
    if (table === 'trade') await loadTrades(loader, population, { table, layout, onRow });
    return;
  }
  const indexes = new Indexes(table, layout);
  const copies = copiesOf(table, layout);
  for (const row of population.rows(table)) {
    const value = encodeRow(table, row);
    for (let copy = 0; copy < copies; copy++) {
      const { table: place, row: key, column } = copyAt(cellOf(table, row), copy, copies);
      await loader.add({ table: place, row: key, cells: [{ column, value }] });
    }
    indexes.add(row, value);
    onRow();
  }
  await indexes.load(loader);
}

async function loadTrades(
  loader: BulkLoader,
  population: Population,
  { layout, onRow }: TableLoad,
): Promise<void> {
  const indexes = new Indexes('trade', layout);
  for (const record of initialTradeRecords(population)) {
    const { table, row, column } = cellOf('trade', record.trade);
    await loader.add({ table, row, cells: [{ column, value: encodeTradeRecord(record) }] });
    indexes.add(record.trade, encodeRow('trade', record.trade));
    rowsOf(record).forEach(onRow);
  }
  await indexes.load(loader);
}

function rowsOf({ trade, settlement, cash, history }: TradeRecord): readonly unknown[] {
  return [trade, settlement, cash, ...history].filter((row) => row !== undefined);
}

/** The entries of a table's indexes, gathered while its rows are loaded. */
class Indexes<T extends TableName> {
  readonly #table: T;
  readonly #indexes: readonly { readonly path: AccessPath; readonly entries: LoadedEntry[] }[];

  constructor(table: T, layout: Layout) {
    this.#table = table;
    this.#indexes = pathsOf(table, layout).map((path) => ({ path, entries: [] }));
  }

  add(row: TableRow<T>, value: Buffer): void {
    const { row: to } = cellOf(this.#table, row as KeyedRow<T>);
    for (const { path, entries } of this.#indexes) {
      entries.push([entryKey(path, row), path.isCovering ? value : Buffer.from(to)]);
    }
  }

  async load(loader: BulkLoader): Promise<void> {
    for (const { path, entries } of this.#indexes) {
      entries.sort(([a], [b]) => (a < b ? -1 : 1));
      await loadIndex(loader, path, entries);
    }
  }
}

async function loadSectors(loader: BulkLoader, population: Population): Promise<void> {
  const sectors = sectorsBySymbol(
    population.rows('security'),
    population.rows('company'),
    population.rows('industry'),
  );
  for (const [symbol, sector] of sectors) {
    const { table, row, column } = sectorCell(symbol);
    await loader.add({ table, row, cells: [{ column, value: Buffer.from(sector) }] });
  }
}

async function loadCloses(loader: BulkLoader, population: Population): Promise<void> {
  for (const [day, closes] of await closesByDay(population.rows('daily_market'))) {
    const { table, row, column } = closesCell(day);
    await loader.add({ table, row, cells: [{ column, value: encodePrices(closes) }] });
  }
}

type LoadedEntry = readonly [key: string, value: Buffer];

async function loadIndex(
  loader: BulkLoader,
  path: AccessPath,
  entries: readonly LoadedEntry[],
): Promise<void> {
  const column = INDEX_COLUMN;
  if (!path.isGroup) {
    for (const [row, value] of entries) {
      await loader.add({ table: path.table, row, cells: [{ column, value }] });
    }
    return;
  }
  for (const [row, group] of Map.groupBy(entries, ([key]) => entryRow(path, key))) {
    const value = encodeEntries(group.map(([key, found]) => [key, found.toString()]));
    await loader.add({ table: path.table, row, cells: [{ column, value }] });
  }
}

/** Rows that share a cell. The only such table with an index, TRADE_REQUEST, begins empty. */
async function loadGroups(
  loader: BulkLoader,
  population: Population,
  { table, onRow }: TableLoad,
): Promise<void> {
  const groups = Map.groupBy(population.rows(table), (row) => cellOf(table, row).row);
  for (const [row, rows] of groups) {
    const { table: place, column } = placementOf(table);
    await loader.add({ table: place, row, cells: [{ column, value: encodeRows(table, rows) }] });
    rows.forEach(onRow);
  }
}

/**
 * The initial trades, each with all rows about it. One pass over four tables, in the order of
 * trades; the lots come in another order, so they are collected first.
 */
function* initialTradeRecords(population: Population): Generator<TradeRecord> {
  const settlements = new RowsByTrade(population.rows('settlement'), ({ se_t_id }) => se_t_id);
  const cash = new RowsByTrade(population.rows('cash_transaction'), ({ ct_t_id }) => ct_t_id);
  const histories = new RowsByTrade(population.rows('trade_history'), ({ th_t_id }) => th_t_id);
  const changes = Map.groupBy(population.rows('holding_history'), ({ hh_t_id }) => hh_t_id);
  for (const trade of population.rows('trade')) {
    const lots = (changes.get(trade.t_id) ?? []).map(({ hh_h_t_id }) => hh_h_t_id);
    const [settlement] = settlements.of(trade.t_id);
    const [paid] = cash.of(trade.t_id);
    yield { trade, settlement, cash: paid, history: sortedHistory(histories.of(trade.t_id)), lots };
  }
  for (const rows of [settlements, cash, histories]) assert(rows.isOver, 'every row has its trade');
}

/** An iterator over rows that come in the order of their trades. */
class RowsByTrade<R> {
  readonly #rows: Iterator<R>;
  readonly #tradeOf: (row: R) => number;
  #next: IteratorResult<R>;

  constructor(rows: Iterable<R>, tradeOf: (row: R) => number) {
    this.#rows = rows[Symbol.iterator]();
    this.#tradeOf = tradeOf;
    this.#next = this.#rows.next();
  }

  get isOver(): boolean {
    return this.#next.done === true;
  }

  /** Returns the rows of a trade; trades must be requested in order. */
  of(tradeId: number): readonly R[] {
    const rows: R[] = [];
    while (!this.#next.done && this.#tradeOf(this.#next.value) === tradeId) {
      rows.push(this.#next.value);
      this.#next = this.#rows.next();
    }
    return rows;
  }
}

/** The sector's id by symbol, found through the company and that company's industry. */
export function sectorsBySymbol(
  securities: Iterable<TableRow<'security'>>,
  companies: Iterable<TableRow<'company'>>,
  industries: Iterable<TableRow<'industry'>>,
): ReadonlyMap<string, string> {
  const ofIndustry = new Map(Iterator.from(industries).map((one) => [one.in_id, one.in_sc_id]));
  const ofCompany = new Map(
    Iterator.from(companies).map((one) => [one.co_id, ofIndustry.get(one.co_in_id) ?? '']),
  );
  return new Map(
    Iterator.from(securities).map((one) => [one.s_symb, ofCompany.get(one.s_co_id) ?? '']),
  );
}

/** Returns the closing prices by day, in the order of days; within a day in that of `rows`. */
export async function closesByDay(
  rows: Iterable<TableRow<'daily_market'>> | AsyncIterable<TableRow<'daily_market'>>,
): Promise<ReadonlyMap<number, Prices>> {
  const days = new Map<number, Record<string, number>>();
  for await (const { dm_date, dm_s_symb, dm_close } of rows) {
    const closes = days.get(dm_date) ?? {};
    closes[dm_s_symb] = dm_close;
    days.set(dm_date, closes);
  }
  return new Map([...days].toSorted(([a], [b]) => a - b));
}
