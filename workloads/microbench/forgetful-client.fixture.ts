/**
 * A client of figure 8 with a mistake: it acknowledges one in two of its transactions without
 * running it.
 */
import type { Percolator } from '#engine';
import { serveClient } from './client.ts';

const FORGETS_ONE_IN = 2;

await serveClient(forgetful);

function forgetful(percolator: Percolator): Percolator {
  let transactions = 0;
  return new Proxy(percolator, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...given: unknown[]) => unknown;
      if (property !== 'transact') return bound;
      return async (...given: unknown[]) => {
        if (++transactions % FORGETS_ONE_IN !== 0) return await bound(...given);
        return undefined;
      };
    },
  });
}
