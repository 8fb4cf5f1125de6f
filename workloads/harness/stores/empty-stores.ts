/** Empty storages, one after the other: disposing of one deletes its data. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Bigtable, decorate, openStore } from '#engine';
import { UsageError } from '#results';
import { checkStoreName, provideStore } from './index.ts';

export const STORES = ['embedded', 'emulator'] as const;

/** @param store of `STORES`; the embedded one is kept in a new folder below `folder` */
export function emptyStores(
  store: (typeof STORES)[number],
  folder: string,
): () => Promise<Bigtable> {
  return store === 'embedded' ? () => emptyEmbedded(folder) : emptyEmulator;
}

async function emptyEmbedded(parent: string): Promise<Bigtable> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(path.join(parent, 'tuning-'));
  const store = await openStore({ kind: 'embedded', folder });
  return closingWith(store, async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
}

async function emptyEmulator(): Promise<Bigtable> {
  const provided = await provideStore(checkStoreName('emulator'), { folder: '' });
  const store = await openStore(provided.address);
  if ((await store.listTables()).length > 0) {
    await store.close();
    throw new UsageError('The emulator that BIGTABLE_EMULATOR_HOST names already holds tables.');
  }
  return closingWith(store, async () => {
    for (const table of await store.listTables()) await store.dropTable(table);
    await store.close();
    await provided[Symbol.asyncDispose]();
  });
}

/** `store`, with its way of closing replaced by `close`, which runs once. */
function closingWith(store: Bigtable, close: () => Promise<void>): Bigtable {
  let closed: Promise<void> | undefined;
  return decorate(store, { close: () => (closed ??= close()) });
}
