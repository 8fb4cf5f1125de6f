/** Market-Feed on Percolator: up to 20 ticker entries in one transaction. */
import type {
  MarketFeedInput,
  MarketFeedResult,
  Row,
  TickerEntry,
  TriggeredOrder,
} from '../../model/index.ts';
import type { RowReader, RowWriter } from '../rows.ts';
import { withLines } from '../trade-record.ts';
import { type Request, requestsOf } from './shared.ts';

export async function marketFeed(
  rows: RowWriter,
  { entries, now }: MarketFeedInput,
): Promise<MarketFeedResult> {
  const symbols = [...new Set(entries.map(({ symbol }) => symbol))];
  const [lastTrades, requests] = await Promise.all([
    rows.byKey('last_trade', symbols),
    requestsFor(rows, symbols),
  ]);
  const changing = new Map(lastTrades);
  const waiting = new Map(requests);
  const triggered: Request[] = [];
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
  for (const [symbol, before] of requests) {
    const after = waiting.get(symbol) ?? [];
    if (after.length < before.length) rows.changeGroup('trade_request', before, after);
  }
  return { triggered: triggered.map(orderOf) };
}

/** By symbol, the requests that wait for its price. */
async function requestsFor(
  rows: RowReader,
  symbols: readonly string[],
): Promise<ReadonlyMap<string, readonly Request[]>> {
  const sectors = await rows.sectorsOf(symbols);
  const requests = await Promise.all(
    symbols.map((symbol, i) => requestsOf(rows, sectors[i] ?? '', symbol)),
  );
  return new Map(symbols.map((symbol, i) => [symbol, requests[i] ?? []]));
}

function isDue(request: Request, { price }: TickerEntry): boolean {
  return request.tr_tt_id === 'TLS' ? request.tr_bid_price <= price : request.tr_bid_price >= price;
}

async function submit(rows: RowWriter, requests: readonly Request[], now: number): Promise<void> {
  const records = await rows.trades(requests.map(({ tr_t_id }) => tr_t_id));
  for (const record of records) {
    const trade = { ...record.trade, t_st_id: 'SBMT', t_dts: now };
    rows.updateTrade(record, withLines({ ...record, trade }, ['SBMT'], now));
  }
}

function orderOf(request: Request): TriggeredOrder {
  return {
    tradeId: request.tr_t_id,
    tradeTypeId: request.tr_tt_id,
    symbol: request.tr_s_symb,
    quantity: request.tr_qty,
    price: request.tr_bid_price,
  };
}
