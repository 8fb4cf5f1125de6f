/**
 * The scene for tests of the garbage collection: a collector with its own connection, and the
 * processes that it collects for.
 */
import { LeaseWatch } from '../leases/index.ts';
import {
  cell,
  type TestClient,
  type TestClientOptions,
  type DatabaseOptions,
  openTestDatabase,
  type TestDatabase,
} from './database.ts';
import type { Reader } from '../transaction/index.ts';
import { type CollectionReport, collectGarbage } from '../garbage-collection/collector.ts';
import { type CollectorServices, GarbageCollector } from '../garbage-collection/cycle.ts';
import { type CollectorOptions, settingsOf } from '../garbage-collection/options.ts';

export const LEASE_MS = 30_000;
export const MESSAGE_LIFETIME_MS = 60_000;

export class CollectionScene {
  readonly database: TestDatabase;
  readonly collector: TestClient;
  readonly services: CollectorServices;

  constructor(database: TestDatabase) {
    this.database = database;
    this.collector = database.client('collector');
    this.services = {
      context: this.collector.context,
      watch: new LeaseWatch(this.collector.store, database.clock),
      listTables: async () => ['t', 'u'],
    };
  }

  client(name: string, options: TestClientOptions = {}): TestClient {
    return this.database.client(name, options);
  }

  /** Waits for as long as it takes until every live process has renewed its lease. */
  renewals(): Promise<void> {
    return this.database.clock.advance(LEASE_MS / 3);
  }

  /**
   * From now on the process cannot renew its lease. Waits until the collector takes the lease for
   * ended. The function that it returns lets the process renew its lease again.
   */
  async lapse(client: TestClient): Promise<() => void> {
    let isLost = true;
    client.leaseStore.loseRequest(() => isLost);
    await this.services.watch.liveLeases();
    await this.database.clock.advance(LEASE_MS);
    return () => {
      isLost = false;
    };
  }

  collect(options: CollectorOptions = {}): Promise<CollectionReport> {
    return this.database.clock.runUntil(collectGarbage(this.services, options));
  }

  /** Runs a new collector until the horizon is persisted and the wait begins. */
  async beginCycle(): Promise<GarbageCollector> {
    const collector = this.newCollector();
    await collector.step();
    return collector;
  }

  newCollector(options: CollectorOptions = {}): GarbageCollector {
    const settings = settingsOf(options, this.database.store.manifest);
    return new GarbageCollector(this.services, settings);
  }

  async endCycle(collector: GarbageCollector): Promise<void> {
    const { clock } = this.database;
    while ((await clock.runUntil(collector.step())) !== 'cycle ended');
  }

  /** Runs the hook once, before a process next reads or raises the horizon: often the collector. */
  atHorizon(hook: () => Promise<unknown>): void {
    const { oracle } = this.database;
    oracle.beforeHorizon = async () => {
      oracle.beforeHorizon = undefined;
      await hook();
    };
  }
}

export async function openScene(options: DatabaseOptions = {}): Promise<CollectionScene> {
  return new CollectionScene(await openTestDatabase(options));
}

export async function get(reader: Reader, name: string): Promise<string | undefined> {
  return (await reader.get(cell(name)))?.toString();
}
