/**
 * The input of the checks: the rows that trades write or refer to, collected once, so that every
 * condition is a plain loop. It works with the tables of any system.
 */
import type { TableReader, TableRow } from '../model/tables.ts';

/** A trade and the rows that belong to it. */
export interface TradeFacts {
  readonly trade: TableRow<'trade'>;
  readonly statuses: readonly string[];
  readonly settlement: TableRow<'settlement'> | undefined;
  readonly cash: TableRow<'cash_transaction'> | undefined;
  readonly request: TableRow<'trade_request'> | undefined;
}

export interface Facts {
  readonly trades: ReadonlyMap<number, TradeFacts>;
  /** Rows whose trade does not exist, by table. */
  readonly orphans: readonly { readonly table: string; readonly tradeId: number }[];
  readonly accounts: ReadonlyMap<number, TableRow<'customer_account'>>;
  readonly brokers: readonly TableRow<'broker'>[];
  readonly holdings: readonly TableRow<'holding'>[];
  readonly positions: readonly TableRow<'holding_summary'>[];
  readonly lotHistory: readonly TableRow<'holding_history'>[];
  readonly tradeTypes: ReadonlyMap<string, TableRow<'trade_type'>>;
  readonly settlements: number;
}

interface UnfinishedFacts {
  readonly trade: TableRow<'trade'>;
  readonly statuses: string[];
  settlement: TableRow<'settlement'> | undefined;
  cash: TableRow<'cash_transaction'> | undefined;
  request: TableRow<'trade_request'> | undefined;
}

export async function gatherFacts(tables: TableReader): Promise<Facts> {
  const trades = new Map<number, UnfinishedFacts>();
  for await (const trade of tables.rows('trade')) {
    const empty = { settlement: undefined, cash: undefined, request: undefined };
    trades.set(trade.t_id, { trade, statuses: [], ...empty });
  }
  const orphans: { table: string; tradeId: number }[] = [];
  const add = (table: string, tradeId: number, to: (facts: UnfinishedFacts) => void): void => {
    const facts = trades.get(tradeId);
    if (facts === undefined) orphans.push({ table, tradeId });
    else to(facts);
  };
  for await (const row of tables.rows('trade_history')) {
    add('trade_history', row.th_t_id, (facts) => facts.statuses.push(row.th_st_id));
  }
  let settlements = 0;
  for await (const row of tables.rows('settlement')) {
    settlements++;
    add('settlement', row.se_t_id, (facts) => (facts.settlement = row));
  }
  for await (const row of tables.rows('cash_transaction')) {
    add('cash_transaction', row.ct_t_id, (facts) => (facts.cash = row));
  }
  for await (const row of tables.rows('trade_request')) {
    add('trade_request', row.tr_t_id, (facts) => (facts.request = row));
  }
  const accounts = await collect(tables.rows('customer_account'));
  const tradeTypes = await collect(tables.rows('trade_type'));
  return {
    trades,
    orphans,
    settlements,
    accounts: new Map(accounts.map((row) => [row.ca_id, row])),
    tradeTypes: new Map(tradeTypes.map((row) => [row.tt_id, row])),
    brokers: await collect(tables.rows('broker')),
    holdings: await collect(tables.rows('holding')),
    positions: await collect(tables.rows('holding_summary')),
    lotHistory: await collect(tables.rows('holding_history')),
  };
}

/** Positive for a buy, negative for a sale. */
export function signedQuantity(
  { tradeTypes }: Facts,
  { t_tt_id, t_qty }: TableRow<'trade'>,
): number {
  return tradeTypes.get(t_tt_id)?.tt_is_sell === true ? -t_qty : t_qty;
}

export function isCompleted({ t_st_id }: TableRow<'trade'>): boolean {
  return t_st_id === 'CMPT';
}

async function collect<R>(rows: AsyncIterable<R>): Promise<readonly R[]> {
  return Array.fromAsync(rows);
}

export type Condition =
  | 'broker trades'
  | 'broker commission'
  | 'positions are their lots'
  | 'positions are their trades'
  | 'lots are their history'
  | 'trades have moved lots'
  | 'trade status'
  | 'settlements'
  | 'balances'
  | 'acknowledged trades'
  | 'index entries';

/** The result of a check: a sentence about a row, and the condition that it breaks. */
export interface BrokenCondition {
  readonly condition: Condition;
  readonly message: string;
}

/** Sums of numbers by key; a key without numbers has the sum 0. */
export class Sums<K> {
  readonly #sums = new Map<K, number>();

  add(key: K, amount: number): void {
    this.#sums.set(key, (this.#sums.get(key) ?? 0) + amount);
  }

  of(key: K): number {
    return this.#sums.get(key) ?? 0;
  }

  keys(): Iterable<K> {
    return this.#sums.keys();
  }
}
