/**
 * A client of figure 8 with a mistake: it acknowledges one in five of its transactions without
 * running it.
 */
import type { Percolator } from '#engine';
import { openDatabase, serve } from '../harness/processes/index.ts';
import type { ClientOptions, ToClient } from './client-messages.ts';
import { Client } from './client.ts';
import { Data } from './data.ts';

const FORGETS_ONE_IN = 5;

await serve<ToClient>(async ({ database, data, engine }: ClientOptions) => {
  const { percolator, close } = await openDatabase(database, engine);
  const client = new Client(forgetful(percolator), new Data(data));
  return { onMessage: (message) => void client.hear(message), stop: close };
});

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
