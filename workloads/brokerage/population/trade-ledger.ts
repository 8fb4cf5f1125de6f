/**
 * The initial trades, all completed, in typed arrays. A trade takes 105 bytes, so that millions fit
 * in memory; the rows of five tables are computed from them on reading.
 */
import { FIRST_TRADE_ID } from './ids.ts';

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
