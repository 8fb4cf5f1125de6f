/**
 * Trade-Lookup and Trade-Update: trades selected in three ways, looked at or modified. The numbers
 * are those of the frames.
 *
 * 1. the given trade ids, in that order; an id without a trade is left out
 * 2. the first `tradesMax` of an account with first ≤ T_DTS ≤ last, by T_DTS, then id
 * 3. the same for a symbol
 * 4. (Trade-Lookup) the first trade of an account with T_DTS ≥ first: all changes of the lots that
 *    it touched (HOLDING_HISTORY), those by other trades included; by lot id, then trade id; at
 *    most 20
 *
 * Trade-Update modifies the first `updatesMax` trades selected, and returns their new state:
 * 1. T_EXEC_NAME: the first ' X ' becomes ' '; without one, the first ' ' becomes ' X '
 * 2. SE_CASH_TYPE, of trades that are settled: for cash, 'Cash Account' ↔ 'Cash'; else 'Margin
 *    Account' ↔ 'Margin'
 * 3. CT_NAME, of trades with a cash transaction: the first ' shares of ' ↔ ' Shares of '
 */
export type TradeSelection =
  | { readonly frame: 1; readonly tradeIds: readonly number[] }
  | {
      readonly frame: 2;
      readonly accountId: number;
      readonly first: number;
      readonly last: number;
      readonly tradesMax: number;
    }
  | {
      readonly frame: 3;
      readonly symbol: string;
      readonly first: number;
      readonly last: number;
      readonly tradesMax: number;
    };

export type TradeLookupInput =
  | TradeSelection
  | { readonly frame: 4; readonly accountId: number; readonly first: number };

export interface LookedUpTrade {
  readonly tradeId: number;
  readonly accountId: number;
  readonly symbol: string;
  readonly quantity: number;
  readonly tradeTypeName: string;
  readonly isMarket: boolean;
  readonly isCash: boolean;
  readonly time: number;
  readonly bidPrice: number;
  readonly tradePrice: number | null;
  readonly executorName: string;
  readonly settlement: {
    readonly amount: number;
    readonly dueDate: number;
    readonly cashType: string;
  } | null;
  readonly cashTransaction: {
    readonly amount: number;
    readonly time: number;
    readonly name: string;
  } | null;
  /** By TH_DTS, then TH_ST_ID; at most 3. */
  readonly history: readonly { readonly time: number; readonly statusId: string }[];
}

export interface LotChange {
  readonly lotId: number;
  readonly tradeId: number;
  readonly before: number;
  readonly after: number;
}

export type TradeLookupResult =
  | { readonly trades: readonly LookedUpTrade[] }
  | { readonly tradeId: number | null; readonly changes: readonly LotChange[] };

export type TradeUpdateInput = TradeSelection & { readonly updatesMax: number };

export interface TradeUpdateResult {
  readonly updated: number;
  readonly trades: readonly LookedUpTrade[];
}
