/**
 * The settlement of a completed trade and the names in its rows: the arithmetic of Trade-Result,
 * frame 6.
 */

export const SETTLEMENT_DAYS_MS: number = 2 * 86_400_000;

export const CASH_TYPE = { cash: 'Cash Account', margin: 'Margin' } as const;

export interface SettledTrade {
  readonly isSell: boolean;
  readonly quantity: number;
  readonly price: number;
  readonly charge: number;
  readonly commission: number;
  /** 0 = not taxed, 1 = withheld, 2 = not withheld. */
  readonly taxStatus: number;
  readonly tax: number;
}

/** The amount in cents that the account receives; negative if the account pays. */
export function settlementAmount(trade: SettledTrade): number {
  const value = trade.quantity * trade.price;
  const fees = trade.charge + trade.commission;
  const withheld = trade.taxStatus === 1 ? trade.tax : 0;
  return (trade.isSell ? value - fees : -(value + fees)) - withheld;
}

export function cashTransactionName(
  tradeTypeName: string,
  quantity: number,
  securityName: string,
): string {
  return `${tradeTypeName} ${quantity} shares of ${securityName}`;
}
