/** Market-Feed on Percolator: up to 20 ticker entries in one transaction. */
import type {
  MarketFeedInput,
  MarketFeedResult,
  Row,
  TickerEntry,
  TriggeredOrder,
} from '../../model/index.ts';
import { type KeyedRow, underSector } from '../layout.ts';
import type { RowReader, RowWriter } from '../rows.ts';
import { withLines } from '../trade-record.ts';

type Request = KeyedRow<'trade_request'>;

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
  const waiting = new Map(symbols.map((symbol, i) => [symbol, requests[i] ?? []]));
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
  return { triggered: triggered.map(orderOf) };
}

/** For each symbol, the requests that wait for its price. */
async function requestsFor(
  rows: RowReader,
  symbols: readonly string[],
): Promise<readonly (readonly Request[])[]> {
  const sectors = await rows.sectorsOf(symbols);
  return Promise.all(
    symbols.map(async (symbol, i) => {
      const sector = sectors[i] ?? '';
      const requests = await rows.scan('trade_request', [sector, symbol]);
      return requests.map((request) => underSector(request, sector));
    }),
  );
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
  for (const request of requests) rows.remove('trade_request', request);
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
