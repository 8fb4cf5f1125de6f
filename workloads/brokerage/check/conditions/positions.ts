/**
 * Consistency condition 3 (7.3.2): a position is the sum of its lots. It is also the sum of its
 * completed trades, because every trade since the first day is present. A position of 0 has no row
 * and no lots.
 */
import { type Facts, isCompleted, signedQuantity } from '../facts.ts';
import { type Finding, Sums } from '../finding.ts';

export function* checkPositions(facts: Facts): Generator<Finding> {
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
function* checkClosed(rows: ReadonlyMap<string, number>, lots: Sums<string>): Generator<Finding> {
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
