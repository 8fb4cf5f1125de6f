/** The open lots while trades are completed one after the other, and the history of all lots. */
import { accountSerial } from './ids.ts';
import {
  changePosition,
  type Lot,
  type PositionChange,
  type Row,
  type TradeOnPosition,
} from '../model/index.ts';

/** More than any scale has, so that an account and a security combine into one number. */
const SECURITIES_MAX = 2 ** 20;

/** The owner of lots: an account and a security. */
export interface Position {
  readonly accountId: number;
  readonly security: number;
}

interface OpenPosition extends Position {
  /** Oldest first. */
  lots: Lot[];
}

export class LotLedger {
  readonly #positions = new Map<number, OpenPosition>();
  readonly history: Row<'holding_history'>[] = [];

  get positions(): Iterable<Readonly<OpenPosition>> {
    return this.#positions.values();
  }

  /** Applies a completed trade. */
  complete(
    position: Position,
    trade: TradeOnPosition & { readonly tradeId: number; readonly time: number },
  ): PositionChange {
    const key = accountSerial(position.accountId) * SECURITIES_MAX + position.security;
    const { isLifo } = trade;
    const open = this.#positions.get(key) ?? { ...position, lots: [] };
    const change = changePosition(open.lots, trade);
    for (const { lot, after } of change.touched) {
      this.#note(lot.tradeId, trade.tradeId, lot.quantity, after);
      const i = isLifo ? open.lots.lastIndexOf(lot) : open.lots.indexOf(lot);
      if (after === 0) open.lots.splice(i, 1);
      else open.lots[i] = { ...lot, quantity: after };
    }
    if (change.opened !== 0) {
      const { tradeId, time, price } = trade;
      open.lots.push({ tradeId, time, price, quantity: change.opened });
      this.#note(tradeId, tradeId, 0, change.opened);
    }
    if (open.lots.length === 0) this.#positions.delete(key);
    else this.#positions.set(key, open);
    return change;
  }

  #note(lot: number, trade: number, before: number, after: number): void {
    this.history.push({
      hh_h_t_id: lot,
      hh_t_id: trade,
      hh_before_qty: before,
      hh_after_qty: after,
    });
  }
}
