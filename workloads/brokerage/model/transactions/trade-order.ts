/**
 * Trade-Order: a customer, or another person with permission, buys or sells a security.
 *
 * 1. account, customer, broker
 * 2. only if the executor is not the owner (a name or the tax id differs): the permission; if there
 *    is none: roll back
 * 3. what the trade would cost, tax and earn, estimated from the position (below)
 * 4. insert TRADE and TRADE_HISTORY; for a limit order, TRADE_REQUEST too
 * 5. roll back, if the input says so; otherwise
 * 6. commit. Only then may the order be sent to the market.
 *
 * Frame 3. The symbol is given, or found by the company's name and the issue. A market order takes
 * LAST_TRADE's price as its requested price. The estimate walks the lots of the position that the
 * trade would close, by date, newest first if `isLifo`, ties by lot id in the same direction: a buy
 * closes lots below zero, a sell lots above. For each, with `closed` shares of it: a sell adds
 * closed · lot price to `buyValue` and closed · requested price to `sellValue`; a buy the other way
 * round. Tax, if `sellValue > buyValue` and the account's tax status is 1 or 2: (sellValue −
 * buyValue) · sum of the customer's rates. On margin, `accountAssets` is the balance and all
 * positions of the account at LAST_TRADE's prices; otherwise 0. The TRADE's commission is rate ·
 * quantity · requested price, its tax 0 until it is completed, its executor `${first} ${last}`,
 * T_IS_CASH = not on margin, T_BID_PRICE the requested price, all times `now`.
 */
export type TradeTypeId = 'TMB' | 'TMS' | 'TSL' | 'TLS' | 'TLB';

export interface TradeOrderInput {
  readonly tradeId: number;
  readonly now: number;
  readonly accountId: number;
  readonly executor: {
    readonly firstName: string;
    readonly lastName: string;
    readonly taxId: string;
  };
  readonly security:
    | { readonly symbol: string }
    | { readonly companyName: string; readonly issue: string };
  readonly tradeTypeId: TradeTypeId;
  readonly quantity: number;
  /** The price of a limit order; 0 for a market order. */
  readonly requestedPrice: number;
  readonly isLifo: boolean;
  readonly isMargin: boolean;
  readonly rollBack: boolean;
}

export interface TradeOrderResult {
  /** 'denied': no permission, after frame 2. 'rolled back': on request, after frame 4. */
  readonly outcome: 'committed' | 'rolled back' | 'denied';
  readonly frame1: {
    readonly accountName: string;
    readonly brokerId: number;
    readonly brokerName: string;
    readonly customerId: number;
    readonly customerFirstName: string;
    readonly customerLastName: string;
    readonly customerTaxId: string;
    readonly customerTier: number;
    readonly taxStatus: number;
  };
  /** Null if the owner trades, or the executor has no permission. */
  readonly frame2: { readonly acl: string } | null;
  /** Null if denied. */
  readonly frame3: {
    readonly companyName: string;
    readonly securityName: string;
    readonly symbol: string;
    readonly requestedPrice: number;
    readonly marketPrice: number;
    readonly isMarket: boolean;
    readonly isSell: boolean;
    /** SBMT for a market order, PNDG for a limit order. */
    readonly statusId: string;
    readonly buyValue: number;
    readonly sellValue: number;
    readonly taxAmount: number;
    readonly commissionRate: number;
    readonly commission: number;
    readonly chargeAmount: number;
    readonly accountAssets: number;
  } | null;
}
