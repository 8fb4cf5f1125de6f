/**
 * The effect of a trade on a position: the rule of Trade-Order's estimate, Trade-Result, and
 * the initial trades. PostgreSQL's functions implement the same rule in their language.
 */
import { assert } from '#engine';

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
