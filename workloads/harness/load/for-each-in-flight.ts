/**
 * A loop over items as they come, such as the captures of a crawl, that handles several at a time.
 *
 * The loop keeps a failure until the other items in flight are done. So the caller may then close
 * what they use, and a failure is not lost if it happens while the loop waits for the next item.
 */

/**
 * Begins the items in their order, at most `inFlight` at a time, and none after a failure. Rejects
 * with the first failure, of an item or of their source, when none is in flight.
 */
export async function forEachInFlight<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  inFlight: number,
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const keep = (error: unknown): void => void failures.push(error);
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      const handled = handle(item)
        .catch(keep)
        .finally(() => running.delete(handled));
      running.add(handled);
      if (running.size >= inFlight) await Promise.race(running);
    }
  } catch (error) {
    keep(error);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
