/**
 * Checks the indexes in both directions: every row has its entry in each index of its table, and
 * every entry belongs to a row. Also: no trade waits to be added to its broker; every security has
 * the sector of its company, and the closing prices; every trade has the lots that it changed.
 */
import { type Percolator, textOf } from '#engine';
import type { BrokenCondition } from '../check/facts.ts';
import { TABLE_NAMES, type TableName, type TableRow } from '../model/tables.ts';
import { isAggregated } from './broker-update.ts';
import { decodeEntries, decodeRows, encodeRow, type IndexEntry } from './encoding.ts';
import {
  type AccessPath,
  cellOf,
  copiesOf,
  entryKey,
  entryRow,
  INDEX_COLUMN,
  type Layout,
  pathsOf,
  placementOf,
  ROW,
  underSector,
} from './layout.ts';
import { closesByDay, sectorsBySymbol } from './load.ts';
import { RowReader, ROWS_PER_READ, snapshotTables } from './rows.ts';
import { decodeTradeRecord } from './trade-record.ts';

export async function checkIndexes(
  percolator: Percolator,
  layout: Layout = 'small',
): Promise<readonly BrokenCondition[]> {
  const findings: BrokenCondition[] = [];
  const sectors = await sectorsIn(percolator);
  for (const table of TABLE_NAMES) {
    for (const path of pathsOf(table, layout)) {
      findings.push(...(await checkIndex(percolator, sectors, { table, path })));
    }
  }
  findings.push(...(await checkSectors(percolator, sectors)), ...(await checkLots(percolator)));
  if (layout === 'small') findings.push(...(await checkCloses(percolator)));
  else findings.push(...(await checkCopies(percolator)));
  if (!(await isAggregated(percolator))) {
    findings.push({
      condition: 'broker trades',
      message: 'trades wait to be added to their broker',
    });
  }
  return findings;
}

async function checkIndex(
  percolator: Percolator,
  sectors: Sectors,
  { table, path }: { readonly table: TableName; readonly path: AccessPath },
): Promise<readonly BrokenCondition[]> {
  const expected = new Map<string, string>();
  for await (const stored of snapshotTables(percolator).rows(table)) {
    const row = keyed(stored, sectors);
    const value = path.isCovering ? encodeRow(table, row).toString() : cellOf(table, row).row;
    expected.set(entryKey(path, row), value);
  }
  const findings: BrokenCondition[] = [];
  const report = (message: string): void => {
    findings.push({ condition: 'index entries', message: `${path.table}: ${message}` });
  };
  await using snapshot = await percolator.snapshot();
  const range = { table: path.table, columns: [INDEX_COLUMN], batchRows: ROWS_PER_READ };
  const scan = snapshot.scan(range);
  for await (const { row, values } of scan) {
    const value = values.get(INDEX_COLUMN) ?? Buffer.alloc(0);
    for (const [key, found] of path.isGroup ? decodeEntries(value) : [single(row, value)]) {
      const wanted = expected.get(key);
      const isElsewhere = entryRow(path, key) !== row;
      if (wanted === undefined || isElsewhere) report(`entry ${key} leads nowhere`);
      else if (wanted !== found) report(`entry ${key} has ${found}, not ${wanted}`);
      expected.delete(key);
    }
  }
  for (const row of expected.keys()) report(`entry ${row} is missing`);
  return findings;
}

/** Adds its sector to a request, whose keys contain it; other rows stay as they are. */
function keyed<T extends TableName>(row: TableRow<T>, sectors: Sectors): TableRow<T> {
  const { tr_s_symb: symbol } = row as Partial<TableRow<'trade_request'>>;
  return symbol === undefined ? row : { ...row, sector: sectors.get(symbol) ?? '' };
}

/** The sector's id by symbol, as it follows from the tables. */
type Sectors = ReadonlyMap<string, string>;

async function sectorsIn(percolator: Percolator): Promise<Sectors> {
  const tables = snapshotTables(percolator);
  return sectorsBySymbol(
    await Array.fromAsync(tables.rows('security')),
    await Array.fromAsync(tables.rows('company')),
    await Array.fromAsync(tables.rows('industry')),
  );
}

/** A request under a wrong sector would not be found. */
async function checkSectors(
  percolator: Percolator,
  expected: Sectors,
): Promise<readonly BrokenCondition[]> {
  await using snapshot = await percolator.snapshot();
  const symbols = [...expected.keys()];
  const found = await new RowReader(snapshot).sectorsOf(symbols);
  const messages = symbols
    .map((symbol, i) => `${symbol} has sector ${found[i]}, not ${expected.get(symbol)}`)
    .filter((_, i) => found[i] !== expected.get(symbols[i] ?? ''));
  const { table } = placementOf('trade_request');
  const requests = snapshot.scan({ table, columns: [ROW], batchRows: ROWS_PER_READ });
  for await (const { row, values } of requests) {
    for (const request of decodeRows('trade_request', values.get(ROW) ?? Buffer.alloc(0))) {
      const sector = expected.get(request.tr_s_symb) ?? '';
      const wanted = cellOf('trade_request', underSector(request, sector)).row;
      if (row !== wanted) messages.push(`a request of ${wanted} is stored at ${row}`);
    }
  }
  return messages.map((message) => ({ condition: 'index entries', message }));
}

async function checkCloses(percolator: Percolator): Promise<readonly BrokenCondition[]> {
  const days = await closesByDay(snapshotTables(percolator).rows('daily_market'));
  await using snapshot = await percolator.snapshot();
  const reader = new RowReader(snapshot);
  const findings: BrokenCondition[] = [];
  for (const [day, expected] of days) {
    const found = await reader.closesOf(day, []);
    for (const symbol of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      if (found[symbol] === expected[symbol]) continue;
      const on = new Date(day).toISOString().slice(0, 'yyyy-mm-dd'.length);
      const message = `${symbol} closed at ${found[symbol]} on ${on}, not ${expected[symbol]}`;
      findings.push({ condition: 'index entries', message });
    }
  }
  return findings;
}

/** Each row has all its copies, and they are equal. */
async function checkCopies(percolator: Percolator): Promise<readonly BrokenCondition[]> {
  const findings: BrokenCondition[] = [];
  await using snapshot = await percolator.snapshot();
  for (const table of TABLE_NAMES) {
    const copies = copiesOf(table, 'large');
    if (copies === 1) continue;
    const { table: place, column } = placementOf(table);
    const cells = await Array.fromAsync(snapshot.scan({ table: place, columns: [column] }));
    const byRow = Map.groupBy(cells, ({ row }) => row.slice(0, row.lastIndexOf('/')));
    for (const [row, found] of byRow) {
      const distinct = new Set(found.map(({ values }) => values.get(column)?.toString()));
      if (found.length === copies && distinct.size === 1) continue;
      const message = `${table}: ${row} has ${found.length} copies of ${distinct.size} kinds`;
      findings.push({ condition: 'index entries', message });
    }
  }
  return findings;
}

async function checkLots(percolator: Percolator): Promise<readonly BrokenCondition[]> {
  const expected = new Map<number, number[]>();
  for await (const { hh_t_id, hh_h_t_id } of snapshotTables(percolator).rows('holding_history')) {
    expected.set(hh_t_id, [...(expected.get(hh_t_id) ?? []), hh_h_t_id]);
  }
  const findings: BrokenCondition[] = [];
  await using snapshot = await percolator.snapshot();
  const { table, column } = placementOf('trade');
  for await (const { values } of snapshot.scan({
    table,
    columns: [column],
    batchRows: ROWS_PER_READ,
  })) {
    const { trade, lots } = decodeTradeRecord(values.get(column) ?? Buffer.alloc(0));
    const wanted = (expected.get(trade.t_id) ?? []).toSorted((a, b) => a - b).join(', ');
    expected.delete(trade.t_id);
    if (lots.join(', ') === wanted) continue;
    const message = `trade ${trade.t_id} has changed the lots [${lots.join(', ')}], not [${wanted}]`;
    findings.push({ condition: 'index entries', message });
  }
  for (const id of expected.keys()) {
    findings.push({
      condition: 'index entries',
      message: `trade ${id} has changed lots, and is missing`,
    });
  }
  return findings;
}

function single(row: string, value: Uint8Array): IndexEntry {
  return [row, textOf(value)];
}
