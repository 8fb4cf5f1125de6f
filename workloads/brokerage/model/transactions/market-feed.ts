/**
 * Market-Feed: up to 20 ticker entries in one transaction, in their order.
 *
 * For each entry: LAST_TRADE gets price and time, and its volume grows by the quantity. Then every TRADE_REQUEST of the
 * symbol is triggered whose price has come: stop-loss if its price ≥ the entry's, limit sell if ≤, limit buy if ≥.
 * Triggered: TRADE becomes SBMT at `now`, TRADE_HISTORY gets SBMT, TRADE_REQUEST is deleted. After the commit
 * what was triggered is sent to the market, in the order of entries, then of trade ids.
 */
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
