/** Empty storages, one after the other: disposing of one deletes its data. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Bigtable, decorate, openStore } from '#engine';
import { UsageError } from '#results';
import { checkStoreName, type ProvidedStore, type ProvideOptions, provideStore } from './index.ts';

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
  const provided = await provideEmptyStore('emulator', { folder: '' });
  const store = await openStore(provided.address);
  return closingWith(store, async () => {
    await store.close();
    await provided[Symbol.asyncDispose]();
  });
}

/**
 * The store of a script that loads a database of its own. One that was not started here must hold
 * no table, because the script would write into it, and holds none at the end.
 * @throws UsageError as `provideStore`, and if the store holds a table
 */
export async function provideEmptyStore(
  name: string,
  embedded: Parameters<typeof provideStore>[1],
  options?: ProvideOptions,
): Promise<ProvidedStore> {
  const provided = await provideStore(checkStoreName(name), embedded, options);
  const { address, serverPids } = provided;
  if (address.kind === 'embedded' || serverPids.length > 0) return provided;
  await using store = await openStore(address);
  const [table] = await store.listTables();
  if (table !== undefined) {
    throw new UsageError(
      `--store must be a store without tables, since this script loads its own, but ${name} has ${table}.`,
    );
  }
  return { ...provided, [Symbol.asyncDispose]: () => dropAll(provided) };
}

async function dropAll(provided: ProvidedStore): Promise<void> {
  await using _ = provided;
  await using store = await openStore(provided.address);
  for (const table of await store.listTables()) await store.dropTable(table);
}

/** `store`, with its way of closing replaced by `close`, which runs once. */
function closingWith(store: Bigtable, close: () => Promise<void>): Bigtable {
  let closed: Promise<void> | undefined;
  return decorate(store, { close: () => (closed ??= close()) });
}
