/** A small store with rows of one cell, for tests of processes that share a store. */
import type { Bigtable, RowMutation } from '../bigtable/index.ts';
import { openEmbedded } from '../bigtable/embedded/index.ts';

export async function openWithTable(folder: string): Promise<Bigtable> {
  const store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data', 'lock'] });
  return store;
}

export function setRow(row: string, text: string = row): RowMutation {
  const value = Buffer.from(text);
  return {
    table: 't',
    row,
    mutations: [{ kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value }],
  };
}
