/**
 * The tasks of the last client of a run, when nothing goes wrong any more: later processes must be
 * able to finish everything that was begun.
 */
import { hasCode, isRetryable } from '../../../engine/base/index.ts';
import { fsck } from '../../../engine/fsck.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import { type Client, collectingOn } from './client.ts';
import { LEASE_TTL_MS } from './oracle-service.ts';
import { CELLS, OBSERVED, type Operation, SCRATCH, TABLES } from './plan.ts';
import { setFirstTimestamp } from './storage.ts';
import type { World } from './world.ts';

const RIVAL_CELLS = ['t/a:c', 't/b:c'];
/** An observed cell of a row that no plan has: a change of another one could hide a lost mark. */
const UNSEEN_CELL = 't/idle:seen';
/** Rounds of replays after which no cell may still be parked: observers no longer fail. */
const REPLAYS_MAX = 10;

export class FinalChecks {
  readonly #world: World;
  readonly #client: Client;
  readonly #percolator: Percolator;

  constructor(world: World, client: Client, percolator: Percolator) {
    this.#world = world;
    this.#client = client;
    this.#percolator = percolator;
  }

  /**
   * Writes every cell of `CELLS` that is not observed, without reading any: the lock of a dead
   * owner must not block a writer for ever (P21).
   */
  async writeBlindly(): Promise<void> {
    // A new change of an observed cell would hide that the notification of an old one was lost.
    const observed = TABLES.flatMap((table) => OBSERVED[table].map((column) => `:${column}`));
    for (const cell of CELLS) {
      if (observed.some((ending) => cell.endsWith(ending))) continue;
      try {
        await this.#transact([{ do: 'set', cell }]);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        this.#world.umpire.find('progress: blind writer starves', `${cell}: ${String(error)}`);
      }
    }
  }

  /**
   * Two rivals write the same two cells in opposite order, in step with each other: if both try
   * again at once, they conflict again, for ever (P23).
   */
  async contend(): Promise<void> {
    this.#world.isInStep = true;
    const operations = RIVAL_CELLS.map((cell): Operation => ({ do: 'set', cell }));
    try {
      await Promise.all([this.#transact(operations), this.#transact(operations.toReversed())]);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      this.#world.umpire.find('progress: rivals starve', String(error));
    }
  }

  /** Errors of an audit are findings. Warnings do not count. */
  async audit(): Promise<void> {
    const { store, clock, process } = this.#client;
    const liveness = { self: `${process.name}'s audit`, isDead: () => false };
    for await (const { code, severity, sentence, cell } of await fsck(store, { clock, liveness })) {
      if (severity !== 'error') continue;
      const where = [cell.table, cell.row, cell.column].filter((part) => part !== undefined);
      this.#world.umpire.find('audit', `${code}: ${JSON.stringify(where)} ${sentence}`);
    }
  }

  /** Reads every column that has values, which resolves the locks there. */
  async readEverything(): Promise<void> {
    for (const table of TABLES) await this.#read([{ do: 'scan', table }]);
  }

  /** Waits until observers have nothing left to do, and no parked cell waits for an operator. */
  async idle(): Promise<void> {
    for (let i = 0; i <= REPLAYS_MAX; i++) {
      await this.#client.worker?.idle();
      const tables = TABLES.map((name) => this.#world.names.table(name));
      const lists = await Promise.all(tables.map((table) => this.#percolator.listParked(table)));
      const parked = lists.flat();
      if (parked.length === 0) return;
      if (i === REPLAYS_MAX) break;
      for (const cell of parked) await this.#percolator.replayParked(cell);
    }
    this.#world.umpire.find(
      'progress: parked for ever',
      'cells are parked whose observers succeed',
    );
  }

  /** What was committed before `idle` was called has been seen when it resolves (P50). */
  async seeWhenIdle(): Promise<void> {
    const { worker } = this.#client;
    if (worker === undefined) return;
    const { runs } = worker.counters;
    await this.#transact([{ do: 'set', cell: UNSEEN_CELL }]);
    await worker.idle();
    if (worker.counters.runs > runs) return;
    this.#world.umpire.find('observers: idle too early', `${UNSEEN_CELL} has not been seen`);
  }

  /** Until a cycle is complete that looks at every row: a new one, or an interrupted one's rest. */
  async collect(): Promise<void> {
    for (;;) {
      try {
        const { completed } = await this.#percolator.collectGarbage(
          collectingOn(this.#client.store),
        );
        if (completed) return;
      } catch (error) {
        if (!isRetryable(error)) throw error;
      }
    }
  }

  /**
   * The store comes back empty or, in every other run, has another database now. Every call must
   * say so (P74). Afterwards it is as before, for the judges.
   */
  async loseStore(): Promise<void> {
    const { tables, seed, knobs, umpire } = this.#world;
    this.#world.isLost = true;
    const kept = [...tables];
    for (const [name, table] of kept) {
      tables.delete(name);
      if (seed % 2 === 0) tables.set(name, table.emptied());
    }
    if (seed % 2 === 0) setFirstTimestamp(this.#world, 'another-database');
    // Until it renews its lease, an oracle of its own does not know it.
    if (knobs.leasedOracles === true) await this.#client.clock.sleep(LEASE_TTL_MS);
    for (const [what, call] of this.#calls()) {
      const error = await call().then(
        () => 'no error',
        (rejected: unknown) => rejected,
      );
      if (hasCode(error, 'WRONG_DATABASE')) continue;
      umpire.find('identity: a lost store is not noticed', `${what}: ${String(error)}`);
    }
    tables.clear();
    for (const [name, table] of kept) tables.set(name, table);
  }

  #calls(): readonly (readonly [string, () => Promise<unknown>])[] {
    const percolator = this.#percolator;
    const table = this.#world.names.table('t');
    const cell = { table, row: 'a', column: 'c' };
    return [
      ['get', () => percolator.transact((transaction) => transaction.get(cell))],
      ['set', () => percolator.transact(async (transaction) => transaction.set(cell, 'lost'))],
      ['createTable', () => percolator.createTable(table)],
      ['dropTable', () => percolator.dropTable(this.#world.names.table(SCRATCH))],
      ['listParked', () => percolator.listParked(table)],
      ['collectGarbage', () => percolator.collectGarbage()],
      ['idle', () => this.#client.worker?.idle() ?? Promise.resolve()],
    ];
  }

  async #read(operations: readonly Operation[]): Promise<void> {
    while (!(await this.#client.transactions.snapshot(this.#percolator, operations))) {
      await this.#client.clock.sleep(10);
    }
  }

  #transact(operations: readonly Operation[]): Promise<void> {
    return this.#client.transactions.transactRecorded(this.#percolator, operations);
  }
}
