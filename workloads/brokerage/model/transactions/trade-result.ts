/**
 * Trade-Result: the market has completed a trade; all changes to its account happen at once.
 *
 * 1. the trade, its type, the position before (0 if there is none)
 * 2. the account; the lots that the trade closes, and the one that it opens (below)
 * 3. if the tax status is 1 or 2 and sell value > buy value: the tax, written to T_TAX
 * 4. security, tier, commission rate
 * 5. TRADE: commission, time, status CMPT, price; TRADE_HISTORY CMPT; the broker's two totals
 * 6. SETTLEMENT; if for cash: the account's balance, and CASH_TRANSACTION
 *
 * Frame 2. A sell takes from lots above zero, a buy from lots below zero, by date, newest first if
 * T_LIFO, ties by lot id in the same direction. HOLDING_HISTORY receives a row (lot, trade, before,
 * after) for each lot touched; a lot that reaches 0 is deleted. What remains of the trade opens a
 * lot named after the trade, dated `now`, at the trade's price (HOLDING_HISTORY: 0 before).
 * HOLDING_SUMMARY changes by the quantity and is deleted at 0. Values as in Trade-Order's estimate,
 * at the trade's price.
 *
 * Frame 6. Settlement amount: sell quantity · price − charge − commission; buy −(quantity · price +
 * charge + commission); minus the tax if the tax status is 1. Due two days after `now`; cash type
 * 'Cash Account' if for cash, else 'Margin'. CT_NAME: `${TT_NAME} ${T_QTY} shares of ${S_NAME}`.
 */
export interface TradeResultInput {
  readonly tradeId: number;
  readonly tradePrice: number;
  readonly now: number;
}

export interface TradeResultResult {
  readonly frame1: {
    readonly accountId: number;
    readonly symbol: string;
    readonly tradeTypeId: string;
    readonly tradeTypeName: string;
    readonly isSell: boolean;
    readonly isMarket: boolean;
    readonly isLifo: boolean;
    readonly isCash: boolean;
    readonly quantity: number;
    readonly charge: number;
    /** Quantity of the position before this trade. */
    readonly positionQuantity: number;
  };
  readonly frame2: {
    readonly brokerId: number;
    readonly customerId: number;
    readonly taxStatus: number;
    readonly buyValue: number;
    readonly sellValue: number;
  };
  /** 0 if no tax is due. */
  readonly frame3: { readonly taxAmount: number };
  readonly frame4: { readonly securityName: string; readonly commissionRate: number };
  readonly frame5: { readonly commission: number };
  readonly frame6: { readonly settlementAmount: number; readonly accountBalance: number };
}
