/** Stores without tables: new ones that are deleted when they are closed, and one of a script. */
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
  return store === 'embedded' ? () => openEmptyEmbedded(folder) : openEmptyEmulator;
}

async function openEmptyEmbedded(parent: string): Promise<Bigtable> {
  await mkdir(parent, { recursive: true });
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(parent, 'store-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const store = opened.use(await openStore({ kind: 'embedded', folder }));
  return closingWith(store, opened.move());
}

async function openEmptyEmulator(): Promise<Bigtable> {
  await using opened = new AsyncDisposableStack();
  const provided = opened.use(await provideEmptyStore('emulator', { folder: '' }));
  const store = opened.use(await openStore(provided.address));
  return closingWith(store, opened.move());
}

/**
 * The store of a script that loads a database of its own. A server that was not started here must
 * hold no tables, because the script would write among them; at the end all its tables are dropped.
 * An embedded folder is not checked: the caller gives a new one.
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

/** `store`; to close it disposes of all that was opened for it, once. */
function closingWith(store: Bigtable, opened: AsyncDisposableStack): Bigtable {
  let closed: Promise<void> | undefined;
  return decorate(store, { close: () => (closed ??= opened.disposeAsync()) });
}
