/** The items in random order, each order equally likely (the Fisher-Yates shuffle). */
import type { Random } from '#engine';

export function shuffled<T>(random: Random, items: Iterable<T>): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = random.integer(0, last);
    [order[last], order[chosen]] = [order[chosen] as T, order[last] as T];
  }
  return order;
}
