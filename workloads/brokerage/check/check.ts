/**
 * All conditions that hold at rest, on every system. A run that breaks one has no numbers.
 *
 * The conditions are written once over "all rows of a table", so that every system faces the same
 * checks. What only one system can get wrong, the index entries of Percolator, is checked in that
 * system's folder, and its findings are of the same kind. Numbers of clauses, such as 7.3.2, are
 * those of the TPC-E specification.
 */
import type { Population } from '../model/population.ts';
import type { TableRow } from '../model/tables.ts';
import { settlementAmount } from '../model/trading-rules.ts';
import type { Brokerage } from '../transactions/index.ts';
import {
  type BrokenCondition,
  type Facts,
  gatherFacts,
  isCompleted,
  signedQuantity,
  Sums,
  type TradeFacts,
} from './facts.ts';

export interface CheckOptions {
  /** The population that was loaded. */
  readonly population: Pick<Population, 'rows' | 'roster'>;
  /** Whether every submitted trade should be completed by now. */
  readonly isDrained: boolean;
  /**
   * Trade-Results that were acknowledged to drivers, and the maximum that may have committed
   * without an answer.
   */
  readonly tradeResults?:
    | { readonly acknowledged: number; readonly inFlightMax: number }
    | undefined;
}

export interface CheckReport {
  /** The first few findings of each condition. */
  readonly findings: readonly BrokenCondition[];
  /** The number of all findings. */
  readonly broken: number;
  /** Number of trades that were checked. */
  readonly trades: number;
}

const FINDINGS_MAX = 20;

/** Nothing else may run during the check. */
export async function checkBrokerage(
  brokerage: Pick<Brokerage, 'tables' | 'brokerUpdate' | 'settled'>,
  options: CheckOptions,
): Promise<CheckReport> {
  await brokerage.settled();
  const facts = await gatherFacts(brokerage.tables);
  const { roster } = options.population;
  const loaded = {
    accounts: options.population.rows('customer_account'),
    lastTradeId: roster.trades.lastId,
  };
  const found = [
    // The paper's variant leaves the totals unchanged.
    brokerage.brokerUpdate === 'omit' ? [] : checkBrokers(facts),
    checkPositions(facts),
    checkLots(facts),
    checkTradeStatus(facts, options),
    checkSettlements(facts),
    checkBalances(facts, loaded),
    checkAcknowledged(facts, options),
  ];
  return {
    ...shorten(found.flatMap((findings) => Array.from(findings))),
    trades: facts.trades.size,
  };
}

/** Returns the first few findings of each condition, and the number of all findings. */
export function shorten(
  findings: readonly BrokenCondition[],
): Pick<CheckReport, 'findings' | 'broken'> {
  const groups = Map.groupBy(findings, ({ condition }) => condition);
  const first = [...groups.values()].flatMap((group) => group.slice(0, FINDINGS_MAX));
  return { findings: first, broken: findings.length };
}

/**
 * Acknowledged trades are present, and all present trades were acknowledged or in flight (7.5.7,
 * step 13).
 */
function* checkAcknowledged(
  { settlements, trades }: Facts,
  { tradeResults, population }: CheckOptions,
): Generator<BrokenCondition> {
  if (tradeResults === undefined) return;
  const { acknowledged, inFlightMax } = tradeResults;
  const { lastId } = population.roster.trades;
  const added = [...trades].filter(
    ([id, one]) => id > lastId && one.settlement !== undefined,
  ).length;
  if (acknowledged <= added && added <= acknowledged + inFlightMax) return;
  const message =
    `${acknowledged} Trade-Results were acknowledged, at most ${inFlightMax} more were in flight, ` +
    `and ${added} of ${settlements} settlements are new`;
  yield { condition: 'acknowledged trades', message };
}

/**
 * Consistency conditions 1 and 2 (7.3.2): a broker's totals are those of the completed trades of
 * its accounts.
 */
function* checkBrokers(facts: Facts): Generator<BrokenCondition> {
  const trades = new Sums<number>();
  const commission = new Sums<number>();
  for (const { trade } of facts.trades.values()) {
    if (!isCompleted(trade)) continue;
    const broker = facts.accounts.get(trade.t_ca_id)?.ca_b_id;
    if (broker === undefined) continue; // Its account is missing, which other conditions say.
    trades.add(broker, 1);
    commission.add(broker, trade.t_comm);
  }
  const known = new Set(facts.brokers.map(({ b_id }) => b_id));
  for (const broker of trades.keys()) {
    if (known.has(broker)) continue;
    const message = `broker ${broker} is missing; its accounts completed ${trades.of(broker)} trades`;
    yield { condition: 'broker trades', message };
  }
  for (const { b_id, b_num_trades, b_comm_total } of facts.brokers) {
    if (b_num_trades !== trades.of(b_id)) {
      const message = `broker ${b_id} has ${b_num_trades} trades; its accounts completed ${trades.of(b_id)}`;
      yield { condition: 'broker trades', message };
    }
    if (b_comm_total !== commission.of(b_id)) {
      const message = `broker ${b_id} has a commission of ${b_comm_total}; its trades brought ${commission.of(b_id)}`;
      yield { condition: 'broker commission', message };
    }
  }
}

/**
 * Consistency condition 3 (7.3.2): a position is the sum of its lots. It is also the sum of its
 * completed trades, because every trade since the first day is present. A position of 0 has no row
 * and no lots.
 */
function* checkPositions(facts: Facts): Generator<BrokenCondition> {
  const lots = new Sums<string>();
  for (const { h_ca_id, h_s_symb, h_qty } of facts.holdings) {
    lots.add(`${h_ca_id} ${h_s_symb}`, h_qty);
  }
  const trades = new Sums<string>();
  for (const { trade } of facts.trades.values()) {
    if (!isCompleted(trade)) continue;
    trades.add(`${trade.t_ca_id} ${trade.t_s_symb}`, signedQuantity(facts, trade));
  }
  const rows = new Map(
    facts.positions.map((row) => [`${row.hs_ca_id} ${row.hs_s_symb}`, row.hs_qty]),
  );
  yield* checkClosed(rows, lots);
  for (const position of new Set([...rows.keys(), ...lots.keys(), ...trades.keys()])) {
    const quantity = rows.get(position) ?? 0;
    if (quantity !== lots.of(position)) {
      const message = `position ${position} has ${quantity} shares; its lots have ${lots.of(position)}`;
      yield { condition: 'positions are their lots', message };
    }
    if (quantity !== trades.of(position)) {
      const message = `position ${position} has ${quantity} shares; its trades moved ${trades.of(position)}`;
      yield { condition: 'positions are their trades', message };
    }
  }
}

/**
 * Finds what remains of closed positions. Lots whose sum is not 0 differ from the position, which
 * `checkPositions` finds anyway.
 */
function* checkClosed(
  rows: ReadonlyMap<string, number>,
  lots: Sums<string>,
): Generator<BrokenCondition> {
  for (const [position, quantity] of rows) {
    if (quantity !== 0) continue;
    const message = `position ${position} has a row for 0 shares`;
    yield { condition: 'positions are their lots', message };
  }
  for (const position of lots.keys()) {
    if ((rows.get(position) ?? 0) !== 0 || lots.of(position) !== 0) continue;
    const message = `position ${position} has 0 shares, but lots that add up to 0`;
    yield { condition: 'positions are their lots', message };
  }
}

/**
 * The history of a lot is a chain. The trade that the lot is named after opens it, from 0; then it
 * only shrinks, and each change begins where the last one ended. The lot equals the end of the
 * chain, or is gone if that is 0. Each completed trade has moved exactly its quantity of shares,
 * and no other trade has moved any.
 */
function* checkLots(facts: Facts): Generator<BrokenCondition> {
  const holdings = new Map(facts.holdings.map((row) => [row.h_t_id, row.h_qty]));
  const histories = Map.groupBy(facts.lotHistory, ({ hh_h_t_id }) => hh_h_t_id);
  for (const [lot, history] of histories) {
    const message = brokenChain(lot, history, holdings.get(lot) ?? 0);
    if (message !== undefined) yield { condition: 'lots are their history', message };
  }
  for (const lot of holdings.keys()) {
    if (histories.has(lot)) continue;
    yield { condition: 'lots are their history', message: `lot ${lot} has no history` };
  }
  const moved = new Sums<number>();
  for (const { hh_t_id, hh_before_qty, hh_after_qty } of facts.lotHistory) {
    moved.add(hh_t_id, hh_after_qty - hh_before_qty);
  }
  for (const id of moved.keys()) {
    if (facts.trades.has(id)) continue;
    yield {
      condition: 'trades have moved lots',
      message: `trade ${id} is missing, and moved lots`,
    };
  }
  for (const [id, { trade }] of facts.trades) {
    const expected = isCompleted(trade) ? signedQuantity(facts, trade) : 0;
    if (moved.of(id) === expected) continue;
    const message = `trade ${id} should have moved ${expected} shares, and moved ${moved.of(id)}`;
    yield { condition: 'trades have moved lots', message };
  }
}

function brokenChain(
  lot: number,
  history: readonly TableRow<'holding_history'>[],
  quantity: number,
): string | undefined {
  // Once opened, a lot only shrinks, so its size orders the changes.
  const chain = history.toSorted((a, b) => Math.abs(b.hh_after_qty) - Math.abs(a.hh_after_qty));
  let before = 0;
  for (const [i, change] of chain.entries()) {
    if (i === 0 && change.hh_t_id !== lot) {
      return `lot ${lot} was opened by trade ${change.hh_t_id}`;
    }
    if (change.hh_before_qty !== before) {
      return `lot ${lot} had ${before} shares, and trade ${change.hh_t_id} found ${change.hh_before_qty}`;
    }
    if (i > 0 && !isShrunk(change)) {
      return `lot ${lot} had ${before} shares, and trade ${change.hh_t_id} left ${change.hh_after_qty}`;
    }
    before = change.hh_after_qty;
  }
  return before === quantity
    ? undefined
    : `lot ${lot} has ${quantity} shares; its history ends with ${before}`;
}

/** Whether the change closed a part of the lot or all of it, and not more. */
function isShrunk({
  hh_before_qty: before,
  hh_after_qty: after,
}: TableRow<'holding_history'>): boolean {
  return Math.abs(after) < Math.abs(before) && after * before >= 0;
}

/**
 * The status of a trade, its history and its request agree:
 *
 *     status    history                request
 *     PNDG      PNDG                   one row
 *     SBMT      SBMT                   none; once all orders are completed, no trade is SBMT
 *     CMPT      SBMT, CMPT             none
 *     CNCL      CNCL and any others    none
 *
 * The history of a limit order that was triggered also has PNDG.
 */
function* checkTradeStatus(
  facts: Facts,
  { isDrained }: { readonly isDrained: boolean },
): Generator<BrokenCondition> {
  for (const { table, tradeId } of facts.orphans) {
    yield {
      condition: 'trade status',
      message: `${table} has trade ${tradeId}, which does not exist`,
    };
  }
  for (const [id, trade] of facts.trades) {
    for (const message of wrongStatus(facts, trade, isDrained)) {
      yield { condition: 'trade status', message: `trade ${id} ${message}` };
    }
  }
}

function* wrongStatus(facts: Facts, one: TradeFacts, isDrained: boolean): Generator<string> {
  const { trade, statuses, request } = one;
  const status = trade.t_st_id;
  const found = statuses.toSorted().join(' ');
  const isMarket = facts.tradeTypes.get(trade.t_tt_id)?.tt_is_mrkt === true;
  const limit = isMarket ? [] : ['PNDG'];
  const expected: Readonly<Record<string, readonly string[]>> = {
    PNDG: ['PNDG'],
    SBMT: [...limit, 'SBMT'],
    CMPT: ['CMPT', ...limit, 'SBMT'],
  };
  const history = expected[status]?.join(' ');
  if (status === 'CNCL') {
    if (!statuses.includes('CNCL')) yield 'is canceled, but its history does not say so';
  } else if (history === undefined) {
    yield `has status ${status}`;
  } else if (found !== history) {
    yield `is ${status}, and its history is ${found || 'empty'}`;
  }
  if (status === 'SBMT' && isDrained) yield 'is still submitted';
  if ((status === 'PNDG') !== (request !== undefined)) {
    yield request === undefined ? 'is pending without a request' : `is ${status} and has a request`;
  }
}

/**
 * Exactly the completed trades are settled, for their cost or proceeds. Exactly those for cash have
 * moved cash, as much as was settled. The balance of an account is the loaded one plus all cash
 * since then.
 */
function* checkSettlements(facts: Facts): Generator<BrokenCondition> {
  for (const [id, one] of facts.trades) {
    for (const message of wrongSettlement(facts, one)) {
      yield { condition: 'settlements', message: `trade ${id} ${message}` };
    }
  }
}

export interface LoadedState {
  /** All accounts, as they were loaded. */
  readonly accounts: Iterable<TableRow<'customer_account'>>;
  /** Trades with larger ids came later. */
  readonly lastTradeId: number;
}

function* checkBalances(
  facts: Facts,
  { accounts, lastTradeId }: LoadedState,
): Generator<BrokenCondition> {
  const cash = new Sums<number>();
  for (const [id, one] of facts.trades) {
    if (id > lastTradeId && one.cash !== undefined) cash.add(one.trade.t_ca_id, one.cash.ct_amt);
  }
  let count = 0;
  for (const { ca_id, ca_bal } of accounts) {
    count++;
    const balance = facts.accounts.get(ca_id)?.ca_bal;
    const expected = ca_bal + cash.of(ca_id);
    if (balance === expected) continue;
    const message = `account ${ca_id} has ${balance ?? 'no row'}; its loaded balance and moved cash add up to ${expected}`;
    yield { condition: 'balances', message };
  }
  if (count !== facts.accounts.size) {
    const message = `there are ${facts.accounts.size} accounts; ${count} were loaded`;
    yield { condition: 'balances', message };
  }
}

function* wrongSettlement(facts: Facts, one: TradeFacts): Generator<string> {
  const { trade, settlement, cash } = one;
  if (isCompleted(trade) !== (settlement !== undefined)) {
    yield settlement === undefined
      ? 'is completed and not settled'
      : 'is settled and not completed';
  }
  const isPaid = isCompleted(trade) && trade.t_is_cash;
  if (isPaid !== (cash !== undefined)) {
    yield cash === undefined ? 'has moved no cash' : 'has moved cash and should not have';
  }
  if (settlement === undefined || !isCompleted(trade)) return;
  const amount = settlementAmount({
    isSell: facts.tradeTypes.get(trade.t_tt_id)?.tt_is_sell === true,
    quantity: trade.t_qty,
    price: trade.t_trade_price ?? 0,
    charge: trade.t_chrg,
    commission: trade.t_comm,
    taxStatus: facts.accounts.get(trade.t_ca_id)?.ca_tax_st ?? 0,
    tax: trade.t_tax,
  });
  if (settlement.se_amt !== amount) {
    yield `is settled for ${settlement.se_amt} instead of ${amount}`;
  }
  if (cash !== undefined && cash.ct_amt !== amount) {
    yield `has moved ${cash.ct_amt} instead of ${amount}`;
  }
}
