/**
 * A trade with all rows about it, in one cell: the trade, its settlement, its cash transaction and
 * its history. They are looked up together, and Trade-Result writes all of them; separate cells
 * would be four times as many locks and records.
 *
 *     [[trade's columns], [settlement's] or null, [cash transaction's] or null,
 *      [[columns of a line of the history], ...], [ids of lots]]
 *
 * The lots are those that the trade has changed: the access path from a trade to its rows of
 * HOLDING_HISTORY, which are ordered by lot.
 */
import { textOf } from '#engine';
import type { TableRow } from '../model/tables.ts';
import { rowOf, valuesOf } from './encoding.ts';
import type { TradeRecordTable } from './layout.ts';

export interface TradeRecord {
  readonly trade: TableRow<'trade'>;
  readonly settlement: TableRow<'settlement'> | undefined;
  readonly cash: TableRow<'cash_transaction'> | undefined;
  /** By time, then status. */
  readonly history: readonly TableRow<'trade_history'>[];
  /** In order; empty before the trade is completed. */
  readonly lots: readonly number[];
}

type ColumnValues = readonly unknown[];
type EncodedTradeRecord = readonly [
  ColumnValues,
  ColumnValues | null,
  ColumnValues | null,
  readonly ColumnValues[],
  readonly number[],
];

export function encodeTradeRecord({ trade, settlement, cash, history, lots }: TradeRecord): Buffer {
  const encoded: EncodedTradeRecord = [
    valuesOf('trade', trade),
    settlement === undefined ? null : valuesOf('settlement', settlement),
    cash === undefined ? null : valuesOf('cash_transaction', cash),
    history.map((line) => valuesOf('trade_history', line)),
    lots,
  ];
  return Buffer.from(JSON.stringify(encoded));
}

export function decodeTradeRecord(value: Uint8Array): TradeRecord {
  const [trade, settlement, cash, history, lots] = JSON.parse(textOf(value)) as EncodedTradeRecord;
  return {
    trade: rowOf('trade', trade),
    settlement: settlement === null ? undefined : rowOf('settlement', settlement),
    cash: cash === null ? undefined : rowOf('cash_transaction', cash),
    history: history.map((line) => rowOf('trade_history', line)),
    lots,
  };
}

/** Adds the lines that the history does not have yet. */
export function withLines(
  record: TradeRecord,
  statuses: readonly string[],
  now: number,
): TradeRecord {
  const { trade, history } = record;
  const lines = statuses.map((th_st_id) => ({ th_t_id: trade.t_id, th_dts: now, th_st_id }));
  const isNew = (line: TableRow<'trade_history'>): boolean =>
    !history.some(({ th_st_id }) => th_st_id === line.th_st_id);
  return { ...record, history: sortedHistory([...history, ...lines.filter(isNew)]) };
}

export function sortedHistory(
  history: readonly TableRow<'trade_history'>[],
): readonly TableRow<'trade_history'>[] {
  return history.toSorted((a, b) => a.th_dts - b.th_dts || (a.th_st_id < b.th_st_id ? -1 : 1));
}

/** The rows of one table in a trade's cell. */
export function rowsIn<T extends TradeRecordTable>(
  record: TradeRecord,
  table: T,
): readonly TableRow<T>[];
export function rowsIn(record: TradeRecord, table: TradeRecordTable): readonly unknown[] {
  const { trade, settlement, cash, history } = record;
  const rows = { trade: [trade], settlement: [settlement], cash_transaction: [cash] };
  return table === 'trade_history'
    ? history
    : rows[table].filter((row: unknown) => row !== undefined);
}
