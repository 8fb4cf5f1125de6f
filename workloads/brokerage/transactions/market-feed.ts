/**
 * Market-Feed: up to 20 ticker entries in one transaction, in their order.
 *
 * For each entry, LAST_TRADE takes the entry's price and `now`, and its volume grows by the entry's
 * quantity. Then every TRADE_REQUEST of the symbol that reached its price is triggered: a stop-loss
 * if its price ≥ the entry's, a limit sell if ≤, a limit buy if ≥. To trigger means: TRADE becomes
 * SBMT at `now`, TRADE_HISTORY receives SBMT, TRADE_REQUEST is deleted. After the commit the
 * triggered orders are sent to the market, in the order of entries, then of trade ids.
 */
import type { TableRow } from '../model/tables.ts';
import type { RowReader, RowWriter } from '../percolator/rows.ts';
import { withLines } from '../percolator/trade-record.ts';
import { type PlacedRequest, requestsOf } from './lookups.ts';

export interface TickerEntry {
  readonly symbol: string;
  readonly price: number;
  readonly quantity: number;
}

export interface MarketFeedInput {
  readonly entries: readonly TickerEntry[];
  readonly now: number;
}

export interface TriggeredOrder {
  readonly tradeId: number;
  readonly tradeTypeId: string;
  readonly symbol: string;
  readonly quantity: number;
  readonly price: number;
}

export interface MarketFeedResult {
  readonly triggered: readonly TriggeredOrder[];
}

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
  const triggered: PlacedRequest[] = [];
  for (const entry of entries) {
    const { symbol, price, quantity } = entry;
    const before = changing.get(symbol) as TableRow<'last_trade'>;
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
): Promise<ReadonlyMap<string, readonly PlacedRequest[]>> {
  const sectors = await rows.sectorsOf(symbols);
  const requests = await Promise.all(
    symbols.map((symbol, i) => requestsOf(rows, sectors[i] ?? '', symbol)),
  );
  return new Map(symbols.map((symbol, i) => [symbol, requests[i] ?? []]));
}

function isDue(request: PlacedRequest, { price }: TickerEntry): boolean {
  return request.tr_tt_id === 'TLS' ? request.tr_bid_price <= price : request.tr_bid_price >= price;
}

async function submit(
  rows: RowWriter,
  requests: readonly PlacedRequest[],
  now: number,
): Promise<void> {
  const records = await rows.trades(requests.map(({ tr_t_id }) => tr_t_id));
  for (const record of records) {
    const trade = { ...record.trade, t_st_id: 'SBMT', t_dts: now };
    rows.updateTrade(record, withLines({ ...record, trade }, ['SBMT'], now));
  }
}

function orderOf(request: PlacedRequest): TriggeredOrder {
  return {
    tradeId: request.tr_t_id,
    tradeTypeId: request.tr_tt_id,
    symbol: request.tr_s_symb,
    quantity: request.tr_qty,
    price: request.tr_bid_price,
  };
}
