/**
 * The arithmetic of trades, the same on every system: commission and tax, what a trade does to a
 * position, and its settlement. PostgreSQL's functions implement it in their language.
 *
 * Money is a whole number of cents, with one rounding rule: half a cent rounds away from zero.
 * Amounts that are rounded are never negative, so the rule in SQL is `(numerator + denominator / 2)
 * / denominator` on integers.
 */
import { assert } from '#engine';

/** The commission at a rate in hundredths of a percent. */
export function commissionOf(rate: number, quantity: number, price: number): number {
  return divideRounded(rate * quantity * price, 10_000);
}

/** The tax on a gain, at the sum of the customer's rates in hundred-thousandths. */
export function taxOf(gain: number, rates: number): number {
  return divideRounded(gain * rates, 100_000);
}

function divideRounded(numerator: number, denominator: number): number {
  assert(numerator >= 0, 'only amounts that are not negative are rounded');
  const sum = numerator + denominator / 2;
  assert(Number.isSafeInteger(sum), 'money is a safe integer');
  return Math.floor(sum / denominator);
}

/*
 * The effect of a trade on a position: the rule of Trade-Order's estimate, Trade-Result, and the
 * initial trades.
 */

/** An open lot of one account and symbol; below zero: sold short. */
export interface Lot {
  readonly tradeId: number;
  readonly time: number;
  readonly price: number;
  readonly quantity: number;
}

export interface TradeOnPosition {
  readonly isSell: boolean;
  readonly isLifo: boolean;
  readonly quantity: number;
  readonly price: number;
}

export interface PositionChange {
  /** Lots that lose or regain shares, in the order in which they are closed. */
  readonly touched: readonly { readonly lot: Lot; readonly after: number }[];
  /** The signed quantity of the lot that the trade opens; 0: none. */
  readonly opened: number;
  /** Cost and proceeds of the shares that the trade closes. */
  readonly buyValue: number;
  readonly sellValue: number;
}

/** `lots` are ordered from the oldest: by time, then trade id. */
export function changePosition(lots: readonly Lot[], trade: TradeOnPosition): PositionChange {
  const { isSell, isLifo, price } = trade;
  const touched: { lot: Lot; after: number }[] = [];
  let needed = trade.quantity;
  let lotValue = 0;
  for (let i = 0; i < lots.length && needed > 0; i++) {
    const lot = lots[isLifo ? lots.length - 1 - i : i] as Lot;
    assert(lot.quantity !== 0, 'a lot without shares is deleted');
    if (lot.quantity > 0 !== isSell) continue; // All lots of a position have the same sign.
    const closed = Math.min(needed, Math.abs(lot.quantity));
    touched.push({ lot, after: isSell ? lot.quantity - closed : lot.quantity + closed });
    needed -= closed;
    lotValue += closed * lot.price;
  }
  const tradeValue = (trade.quantity - needed) * price;
  return {
    touched,
    opened: isSell ? 0 - needed : needed, // Never −0.
    buyValue: isSell ? lotValue : tradeValue,
    sellValue: isSell ? tradeValue : lotValue,
  };
}

/*
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

/**
 * How Trade-Result updates the broker's totals. `omit`: not at all, as in the paper. `inline`: in
 * the transaction, so that trades of one broker's accounts conflict. `side-table`: each trade adds
 * a row of its own, and the rows are aggregated later.
 */
export type BrokerUpdate = 'omit' | 'inline' | 'side-table';
