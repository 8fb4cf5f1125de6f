/**
 * What a trade does to a position: the rule of Trade-Order's estimate, of Trade-Result, and of the trades that are
 * loaded. PostgreSQL's functions say the same again, in their language.
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
  /** Lots that lose or regain shares, in the order they are closed. */
  readonly touched: readonly { readonly lot: Lot; readonly after: number }[];
  /** The signed quantity of the lot that the trade opens; 0: none. */
  readonly opened: number;
  /** What the shares of lots that were closed cost, and brought. */
  readonly buyValue: number;
  readonly sellValue: number;
}

/** `lots` oldest first: by time, then trade id. */
export function changePosition(lots: readonly Lot[], trade: TradeOnPosition): PositionChange {
  const { isSell, isLifo, price } = trade;
  const touched: { lot: Lot; after: number }[] = [];
  let needed = trade.quantity;
  let lotValue = 0;
  for (let i = 0; i < lots.length && needed > 0; i++) {
    const lot = lots[isLifo ? lots.length - 1 - i : i] as Lot;
    assert(lot.quantity !== 0, 'a lot without shares is deleted');
    if (lot.quantity > 0 !== isSell) continue; // All lots of a position have one sign.
    const closed = Math.min(needed, Math.abs(lot.quantity));
    touched.push({ lot, after: isSell ? lot.quantity - closed : lot.quantity + closed });
    needed -= closed;
    lotValue += closed * lot.price;
  }
  const tradeValue = (trade.quantity - needed) * price;
  return {
    touched,
    opened: isSell ? 0 - needed : needed,
    buyValue: isSell ? lotValue : tradeValue,
    sellValue: isSell ? tradeValue : lotValue,
  };
}
