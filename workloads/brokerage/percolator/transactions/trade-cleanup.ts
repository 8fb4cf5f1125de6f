/** Trade-Cleanup on Percolator: cancels what an earlier run has left unfinished, in one transaction. */
import type { Row, TradeCleanupInput, TradeCleanupResult } from '../../model/index.ts';
import type { RowWriter } from '../rows.ts';
import { withSectors } from './shared.ts';

export async function tradeCleanup(
  rows: RowWriter,
  { firstTradeId, now }: TradeCleanupInput,
): Promise<TradeCleanupResult> {
  const requests = await rows.scan('trade_request', []);
  const waiting = await rows.byKey(
    'trade',
    requests.map(({ tr_t_id }) => tr_t_id),
  );
  for (const trade of waiting.values()) await cancel(rows, trade, ['SBMT', 'CNCL'], now);
  for (const placed of await withSectors(rows, requests)) rows.remove('trade_request', placed);
  const newer = await rows.scan('trade', [], { from: firstTradeId });
  const submitted = newer.filter(({ t_id, t_st_id }) => t_st_id === 'SBMT' && !waiting.has(t_id));
  for (const trade of submitted) await cancel(rows, trade, ['CNCL'], now);
  return { requests: requests.length, submitted: submitted.length };
}

async function cancel(
  rows: RowWriter,
  trade: Row<'trade'>,
  statuses: readonly string[],
  now: number,
): Promise<void> {
  rows.update('trade', trade, { t_st_id: 'CNCL', t_dts: now });
  for (const th_st_id of statuses) {
    const existing = await rows.find('trade_history', trade.t_id, th_st_id);
    if (existing !== undefined) continue;
    rows.insert('trade_history', { th_t_id: trade.t_id, th_dts: now, th_st_id });
  }
}
