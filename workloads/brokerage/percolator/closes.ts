/** The closing prices of all securities. */
import type { Row } from '../model/index.ts';
import type { Prices } from './encoding.ts';

/** Returns the closing prices by day, in the order of days; within a day in that of `rows`. */
export async function closesByDay(
  rows: Iterable<Row<'daily_market'>> | AsyncIterable<Row<'daily_market'>>,
): Promise<ReadonlyMap<number, Prices>> {
  const days = new Map<number, Record<string, number>>();
  for await (const { dm_date, dm_s_symb, dm_close } of rows) {
    const closes = days.get(dm_date) ?? {};
    closes[dm_s_symb] = dm_close;
    days.set(dm_date, closes);
  }
  return new Map([...days].toSorted(([a], [b]) => a - b));
}
