/**
 * Trade-Cleanup, once before a run. For every TRADE_REQUEST: history receives SBMT and then CNCL,
 * TRADE becomes CNCL, the request is deleted. Then every TRADE still SBMT with an id ≥
 * `firstTradeId` becomes CNCL, with history. All at `now`. Existing rows of history are left
 * unchanged.
 */
import type { TableRow } from '../model/tables.ts';
import { underSector } from '../percolator/layout.ts';
import type { RowWriter } from '../percolator/rows.ts';
import { type TradeRecord, withLines } from '../percolator/trade-record.ts';

export interface TradeCleanupInput {
  readonly firstTradeId: number;
  readonly now: number;
}

export interface TradeCleanupResult {
  readonly requests: number;
  readonly submitted: number;
}

export async function tradeCleanup(
  rows: RowWriter,
  { firstTradeId, now }: TradeCleanupInput,
): Promise<TradeCleanupResult> {
  const requests = await rows.scan('trade_request', []);
  const waiting = new Set(requests.map(({ tr_t_id }) => tr_t_id));
  for (const record of await rows.trades([...waiting])) cancel(rows, record, ['SBMT', 'CNCL'], now);
  await removeRequests(rows, requests);
  const newer = await rows.tradesFrom(firstTradeId);
  const submitted = newer.filter(
    ({ trade }) => trade.t_st_id === 'SBMT' && !waiting.has(trade.t_id),
  );
  for (const record of submitted) cancel(rows, record, ['CNCL'], now);
  return { requests: requests.length, submitted: submitted.length };
}

async function removeRequests(
  rows: RowWriter,
  requests: readonly TableRow<'trade_request'>[],
): Promise<void> {
  const bySymbol = Map.groupBy(requests, ({ tr_s_symb }) => tr_s_symb);
  const sectors = await rows.sectorsOf([...bySymbol.keys()]);
  for (const [i, ofSymbol] of [...bySymbol.values()].entries()) {
    const sector = sectors[i] ?? '';
    const placed = ofSymbol.map((request) => underSector(request, sector));
    rows.changeGroup('trade_request', placed, []);
  }
}

function cancel(
  rows: RowWriter,
  record: TradeRecord,
  statuses: readonly string[],
  now: number,
): void {
  const trade = { ...record.trade, t_st_id: 'CNCL', t_dts: now };
  rows.updateTrade(record, withLines({ ...record, trade }, statuses, now));
}
