/** One store of the benchmark: opened, loaded, and known well enough to be measured. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { open as openLmdb } from 'lmdb';
import { type Bigtable, openPercolator, openStore, type Percolator } from '#engine';
import { checkStoreName, provideStore } from '../stores/index.ts';
import { Data, dropTables, loadTables } from './data.ts';
import { MESSAGE_CELL, type Written } from './figure-8-cases.ts';
import { type RecordedMessages, recordMessages } from './recorded-messages.ts';
import type { Plan } from './plan.ts';

export interface BenchStore extends AsyncDisposable {
  readonly name: string;
  readonly store: Bigtable;
  readonly percolator: Percolator;
  readonly data: Data;
  readonly messages: RecordedMessages;
  readonly written: Written;
  readonly serverPid: number | null;
  /** Write transactions of the embedded storage so far, each with an fsync; null elsewhere. */
  diskCommits(): number | null;
  /** A number above those of all operations so far. */
  nextOperations(): number;
}

/** More than any measurement has. */
const OPERATIONS = 1e8;

/** @throws UsageError if there is no such store here; the sentence says what to do */
export async function openBenchStore(name: string, plan: Plan): Promise<BenchStore> {
  const folder = path.join(plan.out, 'work', 'embedded');
  await using cleanup = new AsyncDisposableStack();
  const provided = await provideStore(checkStoreName(name), { folder, fsync: plan.fsync });
  cleanup.use(provided);
  if (provided.address.kind === 'embedded') {
    await mkdir(path.dirname(folder), { recursive: true });
    cleanup.defer(() => rm(path.dirname(folder), { recursive: true, force: true }));
  }
  const store = cleanup.use(await openStore(provided.address));
  const probe = provided.address.kind === 'embedded' ? commitProbe(folder) : null;
  if (probe !== null) cleanup.defer(() => probe.close());
  const percolator = cleanup.use(await openPercolator({ store, ...plan.engine }));
  // Whatever the store is, nothing of ours stays in it.
  cleanup.defer(() => dropTables(percolator));
  const data = new Data(plan);
  await loadTables(percolator, data);
  const messages = await recordMessages(store, MESSAGE_CELL, data.value({ row: 0, operation: 0 }));
  let operations = 0;
  const all = cleanup.move();
  return {
    name,
    store,
    percolator,
    data,
    messages,
    written: { raw: new Map(), percolator: new Map() },
    serverPid: provided.serverPid,
    diskCommits: () => probe?.commits() ?? null,
    nextOperations: () => (operations += OPERATIONS),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** lmdb counts its write transactions; a second, read-only opening of the folder sees the number. */
function commitProbe(folder: string): { commits(): number; close(): Promise<void> } {
  const root = openLmdb({
    path: folder,
    noSubdir: false,
    readOnly: true,
    pageSize: 8192,
    maxDbs: 4,
  });
  return {
    commits: () => (root.getStats() as { readonly lastTxnId: number }).lastTxnId,
    close: () => root.close(),
  };
}
