/**
 * Trade-Cleanup on Percolator: cancels the unfinished trades of an earlier run, in one transaction.
 */
import type { TradeCleanupInput, TradeCleanupResult } from '../../model/index.ts';
import type { RowWriter } from '../rows.ts';
import { type TradeFile, withLines } from '../trade-file.ts';
import { withSectors } from './shared.ts';

export async function tradeCleanup(
  rows: RowWriter,
  { firstTradeId, now }: TradeCleanupInput,
): Promise<TradeCleanupResult> {
  const requests = await rows.scan('trade_request', []);
  const waiting = new Set(requests.map(({ tr_t_id }) => tr_t_id));
  for (const file of await rows.trades([...waiting])) cancel(rows, file, ['SBMT', 'CNCL'], now);
  for (const placed of await withSectors(rows, requests)) rows.remove('trade_request', placed);
  const newer = await rows.tradesFrom(firstTradeId);
  const submitted = newer.filter(
    ({ trade }) => trade.t_st_id === 'SBMT' && !waiting.has(trade.t_id),
  );
  for (const file of submitted) cancel(rows, file, ['CNCL'], now);
  return { requests: requests.length, submitted: submitted.length };
}

function cancel(rows: RowWriter, file: TradeFile, statuses: readonly string[], now: number): void {
  const trade = { ...file.trade, t_st_id: 'CNCL', t_dts: now };
  rows.updateTrade(file, withLines({ ...file, trade }, statuses, now));
}
