/**
 * A Percolator database where there are files and processes: in Node, Deno or Bun.
 *
 *     const percolator = await openPercolator({ folder: 'data' });
 *
 * Several processes may open one folder; they share tables, transactions and observers. All else is
 * the same everywhere (database.ts).
 */
import { openEmbedded } from './bigtable/embedded/index.ts';
import {
  type DatabaseHost,
  openDatabase,
  type Percolator,
  type PercolatorOptions,
} from './database.ts';
import { localProcesses } from './lock-service/local-processes.ts';

export type { Percolator, PercolatorOptions } from './database.ts';

const HERE: DatabaseHost = {
  openFolder: (folder, fsync) => openEmbedded({ folder, fsync }),
  processes: localProcesses,
};

/**
 * @throws STORE_UNAVAILABLE if the folder cannot be opened, or no oracle answers; INVALID_ARGUMENT
 *   for a wrong option; WRONG_DATABASE if the oracle belongs to another database than the store
 */
export function openPercolator(options: PercolatorOptions): Promise<Percolator> {
  return openDatabase(options, HERE);
}
