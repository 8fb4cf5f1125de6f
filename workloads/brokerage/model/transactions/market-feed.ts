/**
 * Market-Feed: up to 20 ticker entries in one transaction, in their order.
 *
 * For each entry, LAST_TRADE takes the entry's price and `now`, and its volume grows by the entry's
 * quantity. Then every TRADE_REQUEST of the symbol that reached its price is triggered: a stop-loss
 * if its price ≥ the entry's, a limit sell if ≤, a limit buy if ≥. To trigger means: TRADE becomes
 * SBMT at `now`, TRADE_HISTORY receives SBMT, TRADE_REQUEST is deleted. After the commit the
 * triggered orders are sent to the market, in the order of entries, then of trade ids.
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
