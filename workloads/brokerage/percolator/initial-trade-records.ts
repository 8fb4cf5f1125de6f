/** The initial trades, each with all rows about it. */
import { assert } from '#engine';
import type { Population } from '../model/index.ts';
import { sortedHistory, type TradeRecord } from './trade-record.ts';

/**
 * One pass over four tables, in the order of trades; the lots come in another order, so they are
 * collected first.
 */
export function* initialTradeRecords(population: Population): Generator<TradeRecord> {
  const settlements = new RowsByTrade(population.rows('settlement'), ({ se_t_id }) => se_t_id);
  const cash = new RowsByTrade(population.rows('cash_transaction'), ({ ct_t_id }) => ct_t_id);
  const histories = new RowsByTrade(population.rows('trade_history'), ({ th_t_id }) => th_t_id);
  const changes = Map.groupBy(population.rows('holding_history'), ({ hh_t_id }) => hh_t_id);
  for (const trade of population.rows('trade')) {
    const lots = (changes.get(trade.t_id) ?? []).map(({ hh_h_t_id }) => hh_h_t_id);
    const [settlement] = settlements.of(trade.t_id);
    const [paid] = cash.of(trade.t_id);
    yield { trade, settlement, cash: paid, history: sortedHistory(histories.of(trade.t_id)), lots };
  }
  for (const rows of [settlements, cash, histories]) assert(rows.isOver, 'every row has its trade');
}

/** An iterator over rows that come in the order of their trades. */
class RowsByTrade<R> {
  readonly #rows: Iterator<R>;
  readonly #tradeOf: (row: R) => number;
  #next: IteratorResult<R>;

  constructor(rows: Iterable<R>, tradeOf: (row: R) => number) {
    this.#rows = rows[Symbol.iterator]();
    this.#tradeOf = tradeOf;
    this.#next = this.#rows.next();
  }

  get isOver(): boolean {
    return this.#next.done === true;
  }

  /** Returns the rows of a trade; trades must be requested in order. */
  of(tradeId: number): readonly R[] {
    const rows: R[] = [];
    while (!this.#next.done && this.#tradeOf(this.#next.value) === tradeId) {
      rows.push(this.#next.value);
      this.#next = this.#rows.next();
    }
    return rows;
  }
}
