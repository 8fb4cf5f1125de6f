/**
 * Consistency conditions 1 and 2 (7.3.2): a broker's totals are those of the completed trades of
 * its accounts.
 */
import { type Facts, isCompleted } from '../facts.ts';
import { type Finding, Sums } from '../finding.ts';

export function* checkBrokers(facts: Facts): Generator<Finding> {
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
