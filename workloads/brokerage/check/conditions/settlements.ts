/**
 * Exactly the completed trades are settled, for their cost or proceeds. Exactly those for cash have
 * moved cash, as much as was settled. The balance of an account is the loaded one plus all cash
 * since then.
 */
import { type Row, settlementAmount } from '../../model/index.ts';
import { type Facts, isCompleted, type TradeFacts } from '../facts.ts';
import { type Finding, Sums } from '../finding.ts';

export function* checkSettlements(facts: Facts): Generator<Finding> {
  for (const [id, one] of facts.trades) {
    for (const message of wrongSettlement(facts, one)) {
      yield { condition: 'settlements', message: `trade ${id} ${message}` };
    }
  }
}

export interface LoadedState {
  /** All accounts, as they were loaded. */
  readonly accounts: Iterable<Row<'customer_account'>>;
  /** Trades with larger ids came later. */
  readonly lastTradeId: number;
}

export function* checkBalances(
  facts: Facts,
  { accounts, lastTradeId }: LoadedState,
): Generator<Finding> {
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
