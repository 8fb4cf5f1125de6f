/**
 * A Percolator database under test: one store, one oracle, and as many clients as the test wants.
 *
 *     client 'A' ──▶ FaultyBigtable ─┐
 *     client 'B' ──▶ FaultyBigtable ─┼──▶ one store, in memory
 *     client 'C' ──▶ FaultyBigtable ─┘
 *
 * Each client represents a process: it has its own connection, liveness token, lock watch and
 * heartbeats. No other client knows that a client has died until the test says so (`bury`).
 *
 * Cells are named `row` or `row:column` or `table/row:column`; the defaults are `t` and `c`.
 */
import { after } from 'node:test';
import { assert, type Clock, createRandom } from '../base/index.ts';
import {
  batchBigtable,
  type BatchingOptions,
  type Bigtable,
  type Cell,
  type Timestamp,
} from '../bigtable/index.ts';
import {
  placeOf,
  begin,
  type CellAddress,
  columnOf,
  type Context,
  createContext,
  DATA,
  everywhere,
  isNotification,
  isOf,
  kindOf,
  LOCK,
  NOTIFY_FAMILIES,
  notifyTable,
  type OptionsGiven,
  ROLLBACK,
  settled,
  snapshotAt,
  TABLE_FAMILIES,
  type Transaction,
  WRITE,
} from '../transaction/index.ts';
import { FaultyBigtable } from './faulty-bigtable.ts';
import { createMemoryBigtable } from './memory-bigtable.ts';
import { ScriptedOracle } from './scripted-oracle.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface DatabaseOptions {
  /** Default: one in memory. A real one needs a real clock as well. */
  readonly store?: Bigtable | undefined;
  /** The clock of all clients. Default: the virtual clock of the database. */
  readonly clock?: Clock | undefined;
  /** The tables to create. Default: `t` and `u`. */
  readonly tables?: readonly string[] | undefined;
  /** Column names that leave notifications, in any table. Default none. */
  readonly observed?: readonly string[] | undefined;
  /** Column names, in any table, whose cells take shared locks. Default none. */
  readonly shared?: readonly string[] | undefined;
  /** Row keys at which the tables are split. Default none. */
  readonly splits?: readonly string[] | undefined;
  /** Default 1. */
  readonly seed?: number | undefined;
  /** Whether erases also hide what is set later, as in HBase. Default false. */
  readonly tombstones?: boolean | undefined;
  /** The manifest's `messageLifetimeMs`. Default: absent. */
  readonly messageLifetimeMs?: number | undefined;
}

/**
 * Values by cell name; undefined means a cell without a value in a read, and a delete in a write.
 */
export type CellTexts = Readonly<Record<string, string | undefined>>;

export class TestDatabase {
  readonly store: Bigtable;
  readonly oracle: ScriptedOracle = new ScriptedOracle();
  readonly clock: VirtualClock = new VirtualClock();
  readonly #options: DatabaseOptions;
  readonly #dead = new Set<string>();

  /** Use `openTestDatabase`. */
  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.store = options.store ?? createMemoryBigtable(options);
  }

  client(name: string, options: TestClientOptions = {}): TestClient {
    const { clock = this.#options.clock ?? this.clock, batching, ordered, ...given } = options;
    const store = new FaultyBigtable(this.store, ordered === undefined ? {} : { ordered });
    const leaseStore = new FaultyBigtable(this.store);
    const withNotifications =
      batching === undefined ? 'off' : { ...batching, isUrgent: isNotification };
    const services = {
      store: batchBigtable(store, clock, withNotifications).store,
      unbatchedStore: store,
      oracle: this.oracle,
      clock,
      random: createRandom(this.#options.seed ?? 1).fork(name),
      liveness: { self: name, isDead: (token: string) => this.#dead.has(token) },
      // A lease's bound is the last timestamp handed out, not a new one, so that all timestamps of
      // a script belong to transactions.
      leases: { store: leaseStore, freshTimestamp: async () => this.oracle.given.at(-1) ?? 0 },
      isObserved: async (table: string, column: string) => {
        await this.store.sampleRowKeys(table); // Refuses a table that does not exist.
        return this.#options.observed?.includes(column) === true;
      },
      sharedColumns: new Set(this.#options.shared),
    };
    return new TestClient(store, leaseStore, createContext(services, given));
  }

  /** Lets virtual time pass until the promise settles; real time passes on its own. */
  runUntil<T>(promise: Promise<T>): Promise<T> {
    return this.#options.clock === undefined ? this.clock.runUntil(promise) : promise;
  }

  /** From now on every client knows that the client is dead. */
  bury(name: string): void {
    this.#dead.add(name);
  }

  /** All versions stored for one cell, by kind, read without the engine; see `describe`. */
  async stored(name: string): Promise<Record<string, string>> {
    const { table, row, column } = cell(name);
    const filters = [LOCK, WRITE, DATA, ROLLBACK].map((kind) => placeOf(kind, column));
    const found = await this.store.readRow(table, row, filters);
    const texts: Record<string, string> = {};
    for (const one of found?.cells ?? []) {
      const kind = kindOf(one);
      const before = texts[kind];
      texts[kind] = [...(before === undefined ? [] : [before]), describe(one)].join(' | ');
    }
    return texts;
  }

  /** The rows and columns of a table that have a lock. */
  async locks(table = 't'): Promise<readonly string[]> {
    const rows = await this.store.readRange(table, { limit: 1_000_000 }, [everywhere(LOCK)]);
    return rows.flatMap(({ key, cells }) => cells.map((lock) => `${key}:${columnOf(lock)}`));
  }

  /** The notifications of a table, as `family row:column@timestamp`. */
  async notifications(table = 't'): Promise<readonly string[]> {
    const families = NOTIFY_FAMILIES.map((family) => ({ family }));
    const rows = await this.store.readRange(notifyTable(table), { limit: 1_000_000 }, families);
    return rows.flatMap(({ key, cells }) =>
      cells.map((one) => `${one.family} ${key}:${one.qualifier}@${one.timestamp}`),
    );
  }
}

export interface TestClientOptions extends OptionsGiven {
  readonly clock?: Clock | undefined;
  /** Whether the store keeps the order in which mutations were sent. Default: its manifest's. */
  readonly ordered?: boolean | undefined;
  /** Operations go through batching before any fault applies to them. Default off. */
  readonly batching?: BatchingOptions | undefined;
}

export class TestClient {
  readonly store: FaultyBigtable;
  /**
   * The connection of the lease: separate, so that the n-th mutation of `store` is a transaction's.
   */
  readonly leaseStore: FaultyBigtable;
  readonly context: Context;

  constructor(store: FaultyBigtable, leaseStore: FaultyBigtable, context: Context) {
    this.store = store;
    this.leaseStore = leaseStore;
    this.context = context;
  }

  begin(): Promise<Transaction> {
    return begin(this.context);
  }

  /** One transaction that writes the values; resolves with its commit timestamp, after phase 2. */
  async write(values: CellTexts): Promise<Timestamp> {
    const transaction = await this.begin();
    put(transaction, values);
    const committed = await transaction.commit();
    await settled(this.context);
    return committed;
  }

  /** The values at a timestamp, or of the present. */
  async read(names: readonly string[], at?: Timestamp): Promise<CellTexts> {
    await using reader = await snapshotAt(this.context, at);
    const values = await reader.getMany(names.map(cell));
    return Object.fromEntries(names.map((name, i) => [name, values[i]?.toString()]));
  }

  /**
   * Awaits `action` before this client's `number`-th mutation from now on is delivered. The test
   * fails if that mutation never comes: what `action` asserts would not have been checked.
   */
  beforeMutation(number: number, action: () => Promise<unknown>): void {
    const target = this.store.mutationCount + number;
    let isReached = false;
    this.store.beforeCall = async (call) => {
      if (call.kind !== 'mutation' || call.number !== target) return;
      isReached = true;
      await action();
    };
    after(() => assert(isReached, `the client sends mutation ${target}`));
  }

  settled(): Promise<void> {
    return settled(this.context);
  }
}

export async function openTestDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = new TestDatabase(options);
  for (const table of options.tables ?? ['t', 'u']) {
    const { splits } = options;
    await database.store.createTable(table, { families: TABLE_FAMILIES, splits });
    await database.store.createTable(notifyTable(table), { families: NOTIFY_FAMILIES, splits });
  }
  return database;
}

/** `Bob`, `Bob:bal` or `accounts/Bob:bal`. */
export function cell(name: string): CellAddress {
  const [place = '', ...columns] = name.split(':');
  const column = columns.length === 0 ? 'c' : columns.join(':');
  const [row = '', table = 't'] = place.split('/').toReversed();
  return { table, row, column };
}

/** Buffers the writes; undefined deletes. */
export function put(transaction: Transaction, values: CellTexts): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) transaction.delete(cell(name));
    else transaction.set(cell(name), value);
  }
}

/** What the paper's Figure 4 shows: `7: $3`, `7: lock of t/Bob:bal at bal`, `8: 7 put`. */
function describe(stored: Cell): string {
  const { timestamp, value } = stored;
  const text = Buffer.from(value).toString();
  if (isOf(LOCK, stored)) {
    const { primary } = JSON.parse(text) as { primary: [string, string, string] };
    return `${timestamp}: lock of ${primary[0]}/${primary[1]}:${primary[2]} at ${columnOf(stored)}`;
  }
  if (!isOf(WRITE, stored)) return `${timestamp}: ${text}`;
  return `${timestamp}: ${text.replace(/^0+(?=\d)/, '')}`;
}
