/** Market-Feed on Percolator: up to 20 ticker entries in one transaction. */
import type {
  MarketFeedInput,
  MarketFeedResult,
  Row,
  TickerEntry,
  TriggeredOrder,
} from '../../model/index.ts';
import type { RowWriter } from '../rows.ts';

export async function marketFeed(
  rows: RowWriter,
  { entries, now }: MarketFeedInput,
): Promise<MarketFeedResult> {
  const symbols = [...new Set(entries.map(({ symbol }) => symbol))];
  const [lastTrades, requests] = await Promise.all([
    rows.byKey('last_trade', symbols),
    Promise.all(symbols.map((symbol) => rows.scan('trade_request', [symbol]))),
  ]);
  const changing = new Map(lastTrades);
  const waiting = new Map(symbols.map((symbol, i) => [symbol, requests[i] ?? []]));
  const triggered: Row<'trade_request'>[] = [];
  for (const entry of entries) {
    const { symbol, price, quantity } = entry;
    const before = changing.get(symbol) as Row<'last_trade'>;
    const after = { lt_price: price, lt_vol: before.lt_vol + quantity, lt_dts: now };
    changing.set(symbol, rows.update('last_trade', before, after));
    const { due = [], rest = [] } = Object.groupBy(waiting.get(symbol) ?? [], (request) =>
      isDue(request, entry) ? 'due' : 'rest',
    );
    waiting.set(symbol, rest);
    triggered.push(...due);
  }
  await submit(rows, triggered, now);
  return { triggered: triggered.map(orderOf) };
}

function isDue(request: Row<'trade_request'>, { price }: TickerEntry): boolean {
  return request.tr_tt_id === 'TLS' ? request.tr_bid_price <= price : request.tr_bid_price >= price;
}

async function submit(
  rows: RowWriter,
  requests: readonly Row<'trade_request'>[],
  now: number,
): Promise<void> {
  const trades = await rows.byKey(
    'trade',
    requests.map(({ tr_t_id }) => tr_t_id),
  );
  for (const request of requests) {
    const trade = trades.get(request.tr_t_id) as Row<'trade'>;
    rows.update('trade', trade, { t_st_id: 'SBMT', t_dts: now });
    rows.insert('trade_history', { th_t_id: trade.t_id, th_dts: now, th_st_id: 'SBMT' });
    rows.remove('trade_request', request);
  }
}

function orderOf(request: Row<'trade_request'>): TriggeredOrder {
  return {
    tradeId: request.tr_t_id,
    tradeTypeId: request.tr_tt_id,
    symbol: request.tr_s_symb,
    quantity: request.tr_qty,
    price: request.tr_bid_price,
  };
}
