/** One store of the benchmark: opened and loaded, with everything that its measurement needs. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  batchTimestamps,
  type Bigtable,
  openLeasedAllocator,
  openPercolator,
  openStore,
  type Percolator,
  systemClock,
  type TimestampOracle,
} from '#engine';
import { settingsOf } from '../harness/engine-settings.ts';
import { checkStoreName, provideStore } from '../harness/stores.ts';
import { openServices, type Services } from './clients.ts';
import { Data, dropTables, type LastWrites, loadMessages, loadTables } from './data.ts';
import { MESSAGE_CELL } from './figure-8-cases.ts';
import type { MicroPlan } from './plan.ts';
import type { Servers } from '../harness/processes/processor-time.ts';
import { type RecordedMessages, recordMessages } from './recorded-messages.ts';

export interface BenchStore extends AsyncDisposable {
  readonly name: string;
  readonly store: Bigtable;
  readonly percolator: Percolator;
  readonly data: Data;
  readonly messages: RecordedMessages;
  readonly written: LastWrites;
  readonly servers: Servers;
  /** Oracle and lock service as processes; null without `--processes`. */
  readonly services: Services | null;
  /** The oracle of every database on this store. */
  readonly oracle: TimestampOracle;
  /**
   * Groups that the embedded storage has written so far; a group of prewrites alone has no sync of
   * its own. Null for other storages.
   */
  diskCommits(): number | null;
  /** Returns a number above those of all operations so far. */
  nextOperations(): number;
}

/** More operations than any measurement has. */
const OPERATIONS = 1e8;

/** @throws UsageError if the store is not available; the sentence names a remedy */
export async function openBenchStore(
  name: string,
  plan: MicroPlan,
  signal: AbortSignal,
): Promise<BenchStore> {
  const folder = path.join(plan.work, 'embedded');
  await using cleanup = new AsyncDisposableStack();
  const embedded = { folder, fsync: !plan.noFsync };
  const { regionServers } = plan;
  const provided = await provideStore(checkStoreName(name), embedded, { regionServers });
  cleanup.use(provided);
  if (provided.address.kind === 'embedded') {
    await mkdir(path.dirname(folder), { recursive: true });
    cleanup.defer(() => rm(path.dirname(folder), { recursive: true, force: true }));
  }
  const store = cleanup.use(await openStore(provided.address));
  let commits = 0;
  store.onChange?.(() => commits++); // Called once for each group, as this process owns the store.
  const { address, serverPids } = provided;
  const services = plan.processes === 0 ? null : cleanup.use(await openServices(address, signal));
  const oracle =
    services?.oracle ?? batchTimestamps(cleanup.use(await openLeasedAllocator(store, systemClock)));
  const percolator = cleanup.use(await openPercolator({ store, oracle, ...settingsOf(plan) }));
  // None of our tables stays in the store, whatever store it is.
  cleanup.defer(() => dropTables(percolator));
  const data = new Data(plan);
  await loadTables(percolator, data);
  await loadMessages(percolator, data);
  const value = data.value({ row: 0, operation: 0 });
  const messages = await recordMessages({ store, oracle }, MESSAGE_CELL, value);
  let operations = 0;
  const all = cleanup.move();
  return {
    name,
    store,
    percolator,
    data,
    messages,
    written: { raw: new Map(), percolator: new Map() },
    servers: { serverPids, servicePids: services?.pids ?? [] },
    services,
    oracle,
    diskCommits: () => (address.kind === 'embedded' ? commits : null),
    nextOperations: () => (operations += OPERATIONS),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
