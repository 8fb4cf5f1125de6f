/** A client of figure 8 as a process; its parent is the benchmark (clients.ts). */
import { openDatabase, serve } from '../harness/processes/index.ts';
import type { ClientOptions, ToClient } from './client-messages.ts';
import { Client } from './client.ts';
import { Data } from './data.ts';

await serve<ToClient>(async ({ database, data, engine }: ClientOptions) => {
  const { percolator, close } = await openDatabase(database, engine);
  const client = new Client(percolator, new Data(data));
  return { onMessage: (message) => void client.hear(message), stop: close };
});
