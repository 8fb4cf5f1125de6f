/**
 * Where the rows of each table are stored: what a Bigtable user would call the schema.
 *
 * Most tables are Percolator tables of their own, with the primary key as row key and the whole row
 * in one cell. The exceptions use the strengths of this kind of storage:
 *
 *     trade          one cell has a trade, its history, settlement, cash transaction and lots:
 *                    they are looked up, and written, at once
 *     security       one row has a security and its LAST_TRADE
 *     holding        ordered by account, symbol and date: a position's lots are one scan
 *     trade_request  one cell has the requests of a symbol, which Market-Feed reads; the cells are
 *                    ordered by sector and symbol, so that Broker-Volume is one scan
 *
 * Rows that are only read together, and rarely written, share one cell: the items of a watch list,
 * the quarters of a company. Bigtable's users would have a repeated field there. The positions of
 * an account are different: two trades conflict exactly if they write the same one, so each is a
 * row of its own. Requests are written often, but each waits only for a short time: with a row for
 * each, a scan would read a hundred deleted requests that are not yet collected for each one that
 * waits.
 *
 * Access paths are tables of index rows, written in the transaction that writes the row. A row of
 * an index contains the key of the indexed row; those of `COVERING` contain the whole row instead,
 * so that reading through them is one scan. Two more tables have data that no transaction changes:
 * the sector of each security, which otherwise takes SECURITY, COMPANY and INDUSTRY to find, and
 * the closing prices of each day.
 *
 * With many customers, three of these reads would limit the throughput: the closing prices of a day
 * and the requests of a sector get longer, and most transactions read the same few rows of
 * TRADE_TYPE and STATUS_TYPE, each of which is on one server. So there is another layout:
 *
 *                                small                    large
 *     closing prices             a cell for each day      rows of DAILY_MARKET
 *     Broker-Volume              requests of the sector   requests of each broker in the sector
 *     TRADE_TYPE, STATUS_TYPE    a row for each type      copies of it; a reader takes one
 */
import { assert, type CellAddress } from '#engine';
import { describe, TABLE_NAMES, type TableRow, type TableName } from '../model/tables.ts';
import { countDown, encodeKey, type KeyPart } from './encoding.ts';

/** `small` has fewer reads and writes; in `large` they do not depend on the number of customers. */
export type Layout = 'small' | 'large';

/** The column of cells that are alone in their row. */
export const ROW = 'row';

export interface Placement {
  readonly table: string;
  /** The columns that form the row key: columns of the table, and for a request its sector. */
  readonly key: readonly string[];
  /** Whether the cell has all rows of this key, in the order of the primary key. */
  readonly isGroup: boolean;
  readonly column: string;
}

/** Tables whose rows are part of a trade's cell (trade-record.ts). */
export type TradeRecordTable = 'trade' | 'settlement' | 'cash_transaction' | 'trade_history';

/** A row, together with the columns of other tables that its key contains. */
export type KeyedRow<T extends TableName> = TableRow<T> &
  (T extends 'trade_request' ? { readonly [SECTOR]: string } : unknown);

export interface AccessPath {
  readonly name: string;
  /** The Percolator table of its index rows. */
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly isDown: boolean }[];
  readonly isCovering: boolean;
  readonly isGroup: boolean;
}

/** Tables with copies of each row in the large layout. No transaction changes them. */
const COPIED: ReadonlySet<TableName> = new Set(['status_type', 'trade_type']);
const COPIES = 8;

/** The part of a request's key that its row does not contain: the sector's id. */
const SECTOR = 'sector';

/** The columns by which rows share a cell. */
const GROUPED: { readonly [T in TableName]?: readonly string[] } = {
  watch_item: ['wi_wl_id'],
  financial: ['fi_co_id'],
  company_competitor: ['cp_co_id'],
  news_xref: ['nx_co_id'],
  customer_taxrate: ['cx_c_id'],
  commission_rate: ['cr_c_tier', 'cr_tt_id', 'cr_ex_id'],
  trade_request: [SECTOR, 'tr_s_symb'],
};

export const INDEX_COLUMN = 'entry';
/**
 * The sector's id by symbol. It is not in the security's row, which other transactions read dozens
 * of times as often.
 */
const SECTORS = 'security.sector';

/**
 * The closing prices of a day, by symbol, in one cell. Market-Watch needs those of some seventy
 * securities, which would be as many rows of DAILY_MARKET. A cell has 8 KB for every 1,000
 * customers.
 */
const CLOSES = 'daily_market.closes';

const OWN_PLACEMENTS: { readonly [T in TableName]?: Omit<Placement, 'isGroup'> } = {
  settlement: { table: 'trade', key: ['se_t_id'], column: ROW },
  cash_transaction: { table: 'trade', key: ['ct_t_id'], column: ROW },
  trade_history: { table: 'trade', key: ['th_t_id'], column: ROW },
  last_trade: { table: 'security', key: ['lt_s_symb'], column: 'last_trade' },
  holding: { table: 'holding', key: ['h_ca_id', 'h_s_symb', 'h_dts', 'h_t_id'], column: ROW },
};
/** Paths that the row key serves already; the key of a request begins with its sector. */
const CLUSTERED: ReadonlySet<string> = new Set(['holding.by_position', 'trade_request.by_symbol']);
/** The requests of a broker in one sector, each with its whole row. Only in the large layout. */
const BY_BROKER: AccessPath = {
  name: 'by_broker',
  table: 'trade_request.by_broker',
  columns: ['tr_b_id', SECTOR, 'tr_s_symb', 'tr_t_id'].map((name) => ({ name, isDown: false })),
  isCovering: true,
  isGroup: false,
};
/**
 * Paths that cost more than they save. Requests come and go: their index by broker would be mostly
 * rows that are deleted and not yet collected, all of which a scan has to pass. (The large layout
 * has that index by broker and sector.) The lots of a trade are in its cell.
 */
const OMITTED_PATHS: ReadonlySet<string> = new Set(['holding_history.by_trade', BY_BROKER.table]);
/** Paths whose first column determines one row, and is the whole key: a lookup is one get. */
const UNIQUE: ReadonlySet<string> = new Set([
  'broker.by_name',
  'company.by_name',
  'customer.by_tax_id',
  'industry.by_name',
  'sector.by_name',
]);
/** Paths of tables that never grow: all entries with the same first column share a cell. */
const GROUPED_PATHS: ReadonlySet<string> = new Set([
  'company.by_industry',
  'industry.by_sector',
  'security.by_company',
]);
const COVERING: ReadonlySet<string> = new Set(['trade.by_account']);

const PLACEMENTS: ReadonlyMap<TableName, Placement> = new Map(
  TABLE_NAMES.map((table) => {
    const key = GROUPED[table];
    const own = { table, key: key ?? describe(table).primaryKey, column: ROW };
    return [table, { ...(OWN_PLACEMENTS[table] ?? own), isGroup: key !== undefined }];
  }),
);

const PATHS: ReadonlyMap<TableName, readonly AccessPath[]> = new Map(
  TABLE_NAMES.map((table) => [table, pathsOfTable(table)]),
);

const TRADE_RECORD_TABLES: ReadonlySet<TableName> = new Set<TradeRecordTable>([
  'trade',
  'settlement',
  'cash_transaction',
  'trade_history',
]);

export function isInTradeRecord(table: TableName): table is TradeRecordTable {
  return TRADE_RECORD_TABLES.has(table);
}

export function placementOf(table: TableName): Placement {
  const placement = PLACEMENTS.get(table);
  assert(placement !== undefined, 'every table has a place');
  return placement;
}

export function pathsOf(table: TableName, layout: Layout): readonly AccessPath[] {
  const paths = PATHS.get(table) ?? [];
  return layout === 'large' && table === 'trade_request' ? [...paths, BY_BROKER] : paths;
}

export function pathOf(table: TableName, name: string, layout: Layout): AccessPath {
  const path = pathsOf(table, layout).find((one) => one.name === name);
  assert(path !== undefined, `${table} is read by ${name}`);
  return path;
}

/** The cell of a row, by the parts of its key. */
export function cellAt(table: TableName, parts: readonly KeyPart[]): CellAddress {
  const { table: place, column } = placementOf(table);
  return { table: place, row: encodeKey(parts), column };
}

export function cellOf<T extends TableName>(table: T, row: KeyedRow<T>): CellAddress {
  const { table: place, key, column } = placementOf(table);
  return { table: place, row: encodeKey(keyParts(row, key)), column };
}

/** The number of copies of each row; if there are several, the key of each ends with its number. */
export function copiesOf(table: TableName, layout: Layout): number {
  return layout === 'large' && COPIED.has(table) ? COPIES : 1;
}

/** The cell of one copy of a row: `cell` itself if there is only one copy. */
export function copyAt(cell: CellAddress, copy: number, copies: number): CellAddress {
  return copies === 1 ? cell : { ...cell, row: encodeKey([cell.row, copy]) };
}

export function isFirstCopy(row: string, copies: number): boolean {
  return copies === 1 || row.endsWith(encodeKey(['', 0]));
}

/** A request, together with the sector of its security, which its key contains. */
export function underSector(
  request: TableRow<'trade_request'>,
  sector: string,
): KeyedRow<'trade_request'> {
  return { ...request, [SECTOR]: sector };
}

export function sectorCell(symbol: string): CellAddress {
  return { table: SECTORS, row: encodeKey([symbol]), column: INDEX_COLUMN };
}

export function closesCell(day: number): CellAddress {
  return { table: CLOSES, row: encodeKey([day]), column: INDEX_COLUMN };
}

/** The key of a row's entry in an index. */
export function entryKey<T extends TableName>(path: AccessPath, row: TableRow<T>): string {
  const values: Readonly<Record<string, unknown>> = row;
  const part = ({ name, isDown }: AccessPath['columns'][number]): KeyPart => {
    const value = values[name] as KeyPart;
    return isDown ? countDown(value) : value;
  };
  return encodeKey(path.columns.map(part));
}

/** The index row that contains the entry: its key, or the first part of it. */
export function entryRow(path: AccessPath, key: string): string {
  return path.isGroup ? key.slice(0, key.indexOf('/')) : key;
}

/** Returns every Percolator table, including indexes. */
export function percolatorTables(layout: Layout): readonly string[] {
  const tables = TABLE_NAMES.map((table) => placementOf(table).table);
  const indexes = TABLE_NAMES.flatMap((table) => pathsOf(table, layout).map((path) => path.table));
  return [...new Set([...tables, ...indexes, SECTORS, ...(layout === 'small' ? [CLOSES] : [])])];
}

function pathsOfTable(table: TableName): readonly AccessPath[] {
  const entries = Object.entries(describe(table).paths);
  return entries
    .map(([name, columns]) => ({
      name,
      table: `${table}.${name}`,
      columns: columns.slice(0, UNIQUE.has(`${table}.${name}`) ? 1 : undefined).map((column) => ({
        name: column.replace(/^-/u, ''),
        isDown: column.startsWith('-'),
      })),
      isCovering: COVERING.has(`${table}.${name}`),
      isGroup: GROUPED_PATHS.has(`${table}.${name}`),
    }))
    .filter(({ table: path }) => !CLUSTERED.has(path) && !OMITTED_PATHS.has(path));
}

function keyParts(row: Readonly<Record<string, unknown>>, columns: readonly string[]): KeyPart[] {
  return columns.map((column) => row[column] as KeyPart);
}
