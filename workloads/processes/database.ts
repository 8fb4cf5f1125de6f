/**
 * The database of an experiment in several processes: where it is, as plain data that each of them is told, and how
 * each opens it.
 *
 *     parent ──▶ oracle (oracle-process.ts)
 *            └─▶ workers, loaders ...: `openDatabase(place)`, with a client of that oracle
 *
 * They share the store, by its address; the embedded one is a folder that lmdb lets them share.
 */
import {
  connectOracle,
  openPercolator,
  openStore,
  type Percolator,
  type PercolatorOptions,
  type StoreAddress,
} from '#engine';
import type { Crew } from './crew.ts';

/** Where a database is. */
export interface Place {
  readonly store: StoreAddress;
  /** Hosts and ports of its timestamp oracles. */
  readonly oracles: readonly string[];
}

/** What the oracle's process is told. */
export interface OracleOptions {
  readonly store: StoreAddress;
  /** Host and port; a free port if there is none. */
  readonly address?: string | undefined;
}

/** What it says when it is ready. */
export interface OracleReady {
  readonly address: string;
}

const ORACLE = new URL('oracle-process.ts', import.meta.url);

/** Starts the services of the database in `store`, each as a process of its own. */
export async function startServices(crew: Crew, store: StoreAddress): Promise<Place> {
  const options = { store } satisfies OracleOptions;
  const oracle = await crew.start({ name: 'the oracle', program: ORACLE, options });
  const { address } = (await oracle.ready) as OracleReady;
  return { store, oracles: [address] };
}

/** Close it with `close`, which closes the store and the client as well. */
export async function openDatabase(
  { store: address, oracles }: Place,
  options: Omit<PercolatorOptions, 'store' | 'folder' | 'oracle'> = {},
): Promise<{ readonly percolator: Percolator; readonly close: () => Promise<void> }> {
  const store = await openStore(address);
  const oracle = connectOracle({ addresses: oracles });
  const percolator = await openPercolator({ ...options, store, oracle });
  const close = async (): Promise<void> => {
    await percolator.close();
    await oracle.close();
    await store.close();
  };
  return { percolator, close };
}
