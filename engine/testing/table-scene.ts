/**
 * One database on one store, a controlled clock, and processes that each open it: for tests that
 * create and drop tables in use, step by step.
 */
import { assert, createRandom, type Random } from '../base/index.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { fsck } from '../fsck.ts';
import { batchTimestamps, openAllocator, type TimestampOracle, withNext } from '../oracle/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { type WatchedCall, createMemoryBigtable, FaultyBigtable, VirtualClock } from './index.ts';
import {
  type CellAddress,
  isOf,
  NOTIFY_FAMILIES,
  TABLE_FAMILIES,
  WRITE,
} from '../transaction/index.ts';
import { readDefinition, type TableState } from '../tables/definition.ts';

export interface SceneProcess {
  readonly name: string;
  /** The process's connection: its calls can be held, lost and inspected. */
  readonly store: FaultyBigtable;
  readonly percolator: Percolator;
  /** Awaited before the storage makes or drops a table, and before a timestamp is asked for. */
  readonly before: Before;
}

interface Before {
  createTable?: ((stored: string) => Promise<void>) | undefined;
  dropTable?: ((stored: string) => Promise<void>) | undefined;
  timestamp?: (() => Promise<void>) | undefined;
}

/** A call that waits before it is delivered. */
export interface HeldStep {
  readonly reached: Promise<void>;
  release(): void;
}

export class TableScene {
  readonly store: Bigtable = createMemoryBigtable();
  readonly clock: VirtualClock = new VirtualClock();
  readonly #random: Random = createRandom(1);
  readonly #dead = new Set<string>(['dead']);

  async processes<const N extends readonly string[]>(
    ...names: N
  ): Promise<{ -readonly [K in keyof N]: SceneProcess }> {
    const opened: SceneProcess[] = [];
    for (const name of names) opened.push(await this.#open(name));
    return opened as { -readonly [K in keyof N]: SceneProcess };
  }

  /** Moves time forward until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.clock.runUntil(promise);
  }

  async create({ percolator }: SceneProcess, ...tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.run(percolator.createTable(table));
  }

  drop({ percolator }: SceneProcess, table: string): Promise<void> {
    return this.run(percolator.dropTable(table));
  }

  /** Begins to write; the test moves the time. */
  write(
    { percolator }: SceneProcess,
    value: string,
    ...cells: readonly CellAddress[]
  ): Promise<void> {
    return percolator.transact(async (transaction) => {
      for (const cell of cells) transaction.set(cell, value);
    });
  }

  /** Writes, and waits for the second phase. */
  async set(process: SceneProcess, value: string, ...cells: readonly CellAddress[]): Promise<void> {
    await this.run(this.write(process, value, ...cells));
    await this.run(process.percolator.settled());
  }

  get({ percolator }: SceneProcess, cell: CellAddress): Promise<string | undefined> {
    const read = async (): Promise<string | undefined> => {
      await using snapshot = await percolator.snapshot();
      return (await snapshot.get(cell))?.toString();
    };
    return this.run(read());
  }

  /** The rows that an observer of column `c` runs for until nothing is dirty. */
  async observe({ percolator }: SceneProcess, table: string): Promise<readonly string[]> {
    const rows: string[] = [];
    const run = async (_: unknown, { row }: CellAddress): Promise<void> => void rows.push(row);
    const worker = percolator.startWorker([{ name: 'o', table, column: 'c', run }]);
    await this.run(worker.idle());
    await this.run(worker.stop());
    return rows;
  }

  /** The next call of the process that `holds` accepts waits before it is delivered. */
  hold({ store }: SceneProcess, holds: (call: WatchedCall) => boolean): HeldStep {
    const gate = createGate();
    let met = false;
    store.beforeCall = async (call) => {
      if (met || !holds(call)) return;
      met = true;
      await gate.wait();
    };
    return gate;
  }

  /**
   * Stops the process at the next call that `holds` accepts: none of its calls is delivered until
   * the release.
   */
  pauseAt({ store }: SceneProcess, holds: (call: WatchedCall) => boolean): HeldStep {
    const gate = createGate();
    let met = false;
    store.beforeCall = async (call) => {
      met ||= holds(call);
      if (met) await gate.wait();
    };
    return gate;
  }

  /** The next creation or drop of a table, or the next timestamp, waits. */
  holdNext({ before }: SceneProcess, what: keyof Before): HeldStep {
    const gate = createGate();
    before[what] = () => {
      before[what] = undefined;
      return gate.wait();
    };
    return gate;
  }

  /** The process dies, and all others know it. */
  kill({ name, store }: SceneProcess): void {
    store.crash();
    this.#dead.add(name);
  }

  /** The process writes, and dies once its primary has been committed, before anything else. */
  async dieAfterCommitPoint(
    process: SceneProcess,
    value: string,
    ...cells: readonly CellAddress[]
  ): Promise<void> {
    process.store.afterCall = (call) => {
      if (isCommitOf(cells[0]?.table ?? '')(call)) process.store.crash();
    };
    await this.run(this.write(process, value, ...cells).catch(() => {}));
    this.kill(process);
  }

  async state(table: string): Promise<TableState | undefined> {
    return (await readDefinition(this.store, table))?.state;
  }

  async untilState(table: string, state: TableState): Promise<void> {
    for (let waited = 0; (await this.state(table)) !== state; waited++) {
      assert(waited < 1_000, `table ${table} reaches state ${state}`);
      await this.clock.advance(1);
    }
  }

  /** The storage's tables that belong to table `t`. */
  async tables(): Promise<readonly string[]> {
    return (await this.store.listTables()).filter((name) => /^t(\.|$)/.test(name)).toSorted();
  }

  /**
   * Creates a table, its companion and this definition without the engine. With observed columns
   * alone, the table is as in databases from before there were incarnations.
   */
  async plantTable(table: string, definition: object): Promise<void> {
    await this.store.createTable('percolator-tables', { families: ['table'] });
    await this.store.createTable(table, { families: TABLE_FAMILIES });
    await this.store.createTable(`${table}.notify`, { families: NOTIFY_FAMILIES });
    const value = Buffer.from(JSON.stringify(definition));
    const cell = { family: 'table', qualifier: 'definition', timestamp: 1, value };
    const mutations = [{ kind: 'set', ...cell } as const];
    await this.store.mutateRows([{ table: 'percolator-tables', row: table, mutations }]);
  }

  /** The findings of fsck, except the leases of the dead: severity, code and table. */
  async findings(options: { readonly repair?: boolean } = {}): Promise<readonly string[]> {
    const liveness = { self: 'auditor', isDead: (token: string) => this.#dead.has(token) };
    const audit = await fsck(this.store, { clock: this.clock, liveness, ...options });
    const found = await Array.fromAsync(audit);
    return found
      .filter(({ code }) => code !== 'lease-left-by-dead')
      .map(({ severity, code, cell: { table } }) => `${severity} ${code} ${table}`);
  }

  async #open(name: string): Promise<SceneProcess> {
    const before: Before = {};
    const store = new FaultyBigtable(gated(this.store, before));
    const percolator = await openPercolator({
      store,
      oracle: gatedOracle(batchTimestamps(await openAllocator(this.store)), before),
      clock: this.clock,
      random: this.#random.fork(name),
      liveness: { self: name, isDead: (token: string) => this.#dead.has(token) },
    });
    return { name, store, percolator, before };
  }
}

export function isCommitOf(table: string): (call: WatchedCall) => boolean {
  return (call) =>
    call.kind === 'mutation' &&
    call.table === table &&
    call.operation === 'checkAndMutateRow' &&
    call.mutations.some((mutation) => isOf(WRITE, mutation));
}

/**
 * Whether the call is a read of table definitions. Commits share such reads with transactions that
 * use a table for the first time.
 */
export function readsDefinitions(call: WatchedCall): boolean {
  return (
    call.kind === 'read' && call.operation === 'readRows' && call.table === 'percolator-tables'
  );
}

function createGate(): HeldStep & { wait(): Promise<void> } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    release: () => released.resolve(),
    wait: () => {
      reached.resolve();
      return released.promise;
    },
  };
}

function gated(store: Bigtable, before: Before): Bigtable {
  return decorate(store, {
    createTable: async (table, schema) => {
      await before.createTable?.(table);
      await store.createTable(table, schema);
    },
    dropTable: async (table) => {
      await before.dropTable?.(table);
      await store.dropTable(table);
    },
  });
}

function gatedOracle(oracle: TimestampOracle, before: Before): TimestampOracle {
  return withNext(oracle, async () => {
    await before.timestamp?.();
    return oracle.next();
  });
}
