/**
 * The history of a lot is a chain. The trade that the lot is named after opens it, from 0; then it
 * only shrinks, and each change begins where the last one ended. The lot equals the end of the
 * chain, or is gone if that is 0. Each completed trade has moved exactly its quantity of shares,
 * and no other trade has moved any.
 */
import type { Row } from '../../model/index.ts';
import { type Facts, isCompleted, signedQuantity } from '../facts.ts';
import { type Finding, Sums } from '../finding.ts';

export function* checkLots(facts: Facts): Generator<Finding> {
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
  history: readonly Row<'holding_history'>[],
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
function isShrunk({ hh_before_qty: before, hh_after_qty: after }: Row<'holding_history'>): boolean {
  return Math.abs(after) < Math.abs(before) && after * before >= 0;
}
