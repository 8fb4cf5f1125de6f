/**
 * What the initial trades leave: the trades themselves, and lots of shares.
 *
 * The trades, all completed, are in typed arrays. A trade takes 105 bytes, so that millions fit
 * in memory; the rows of five tables are computed from them on reading.
 */
import type { TableRow } from '../model/tables.ts';
import {
  changePosition,
  type Lot,
  type PositionChange,
  type TradeOnPosition,
} from '../model/trading-rules.ts';
import { accountSerial, FIRST_TRADE_ID } from './ids.ts';

export interface CompletedTrade {
  readonly submittedMs: number;
  /** When the limit was met; equals `submittedMs` for market orders. */
  readonly triggeredMs: number;
  readonly completedMs: number;
  readonly accountId: number;
  readonly security: number;
  /** Index into TRADE_TYPES. */
  readonly type: number;
  readonly quantity: number;
  readonly bidPrice: number;
  readonly tradePrice: number;
  /** Index into the account's permissions. */
  readonly executor: number;
  readonly isLifo: boolean;
  readonly isCash: boolean;
  readonly charge: number;
  readonly commission: number;
  readonly tax: number;
}

type Field = Exclude<keyof CompletedTrade, 'isLifo' | 'isCash'>;
const FIELDS: readonly Field[] = [
  'submittedMs',
  'triggeredMs',
  'completedMs',
  'accountId',
  'security',
  'type',
  'quantity',
  'bidPrice',
  'tradePrice',
  'executor',
  'charge',
  'commission',
  'tax',
];

export class TradeLedger {
  readonly #columns: Readonly<Record<Field, Float64Array>>;
  readonly #flags: Uint8Array;

  constructor(length: number) {
    this.#columns = Object.fromEntries(
      FIELDS.map((field) => [field, new Float64Array(length)]),
    ) as Record<Field, Float64Array>;
    this.#flags = new Uint8Array(length);
  }

  set(tradeId: number, trade: CompletedTrade): void {
    const i = tradeId - FIRST_TRADE_ID;
    for (const field of FIELDS) this.#columns[field][i] = trade[field];
    this.#flags[i] = (trade.isLifo ? 1 : 0) + (trade.isCash ? 2 : 0);
  }

  get(tradeId: number): CompletedTrade {
    const i = tradeId - FIRST_TRADE_ID;
    const columns = this.#columns;
    const flags = this.#flags[i] ?? 0;
    return {
      submittedMs: columns.submittedMs[i] ?? 0,
      triggeredMs: columns.triggeredMs[i] ?? 0,
      completedMs: columns.completedMs[i] ?? 0,
      accountId: columns.accountId[i] ?? 0,
      security: columns.security[i] ?? 0,
      type: columns.type[i] ?? 0,
      quantity: columns.quantity[i] ?? 0,
      bidPrice: columns.bidPrice[i] ?? 0,
      tradePrice: columns.tradePrice[i] ?? 0,
      executor: columns.executor[i] ?? 0,
      isLifo: (flags & 1) !== 0,
      isCash: (flags & 2) !== 0,
      charge: columns.charge[i] ?? 0,
      commission: columns.commission[i] ?? 0,
      tax: columns.tax[i] ?? 0,
    };
  }
}

/* The open lots while trades are completed one after the other, and the history of all lots. */

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
  readonly history: TableRow<'holding_history'>[] = [];

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
