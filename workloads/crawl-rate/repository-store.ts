/**
 * The store of the Percolator points. Each point begins with the repository, and with nothing that
 * an earlier point has added.
 *
 *     embedded      loaded once, and copied for each point
 *     any other     provided once; for each point our tables are dropped, and loaded anew
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { openPercolator, openStore, type Percolator, type StoreAddress } from '#engine';
import { copyStore } from '../harness/stores/copy-store.ts';
import { checkStoreName, provideStore } from '../harness/stores/index.ts';
import { loadRepository, type LoadOptions } from './percolator/load-repository.ts';
import { DOCUMENTS, KEYS } from './percolator/tables.ts';

export interface RepositoryStore extends AsyncDisposable {
  /** Resolves when the store has the repository and nothing else of ours. */
  forPoint(): Promise<StoreAddress>;
  /** The processes that serve it; null if they are not known, because it already ran. */
  readonly serverPids: readonly number[] | null;
}

export interface RepositoryStoreOptions {
  /** As the user named it. */
  readonly store: string;
  /** Region servers of an HBase that is started here. */
  readonly regionServers: number;
  /** The parent of the folders of an embedded store. */
  readonly folder: string;
  /** Makes the repository to load, from the first document. */
  readonly load: () => Omit<LoadOptions, 'splits'>;
}

/** @throws UsageError if the store is not available */
export async function openRepositoryStore(
  options: RepositoryStoreOptions,
): Promise<RepositoryStore> {
  const { store, regionServers, folder, load } = options;
  if (store === 'embedded') {
    const loaded = { kind: 'embedded', folder: path.join(folder, 'repository') } as const;
    await onPercolator(loaded, (percolator) => loadRepository(percolator, load()));
    return copying(loaded.folder, path.join(folder, 'point'));
  }
  const provided = await provideStore(checkStoreName(store), { folder }, { regionServers });
  const { address, serverPids } = provided;
  return {
    serverPids: serverPids.length > 0 ? serverPids : null,
    forPoint: async () => {
      await onPercolator(address, async (percolator) => {
        await dropTables(percolator);
        // By now, progress counts points, not documents.
        await loadRepository(percolator, { ...load(), onProgress: undefined });
      });
      return address;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await onPercolator(address, dropTables);
      } finally {
        await provided[Symbol.asyncDispose]();
      }
    },
  };
}

/** Does not know `load`, and so does not keep the partition of the repository in memory. */
function copying(loaded: string, folder: string): RepositoryStore {
  return {
    serverPids: [],
    forPoint: async () => {
      await rm(folder, { recursive: true, force: true });
      await copyStore(loaded, folder);
      return { kind: 'embedded', folder };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onPercolator(
  address: StoreAddress,
  work: (percolator: Percolator) => Promise<void>,
): Promise<void> {
  await using store = await openStore(address);
  await using percolator = await openPercolator({ store });
  await work(percolator);
}

/** Drops the tables that an earlier point, or an earlier run that was killed, has left. */
async function dropTables(percolator: Percolator): Promise<void> {
  await percolator.dropTable(DOCUMENTS);
  await percolator.dropTable(KEYS);
}
