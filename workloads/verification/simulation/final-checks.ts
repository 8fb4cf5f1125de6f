/**
 * What must hold at the end of a run: the tasks of its last client, the durations in its virtual
 * time, and the judges of its history.
 *
 * The last client works when nothing goes wrong any more: later processes must be able to finish
 * everything that was begun.
 */
import { hasCode, isRetryable } from '../../../engine/base/index.ts';
import { fsck } from '../../../engine/fsck.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import { isAcknowledgment } from '../../../engine/transaction/index.ts';
import { addressOf, type History, type Violation } from '../judges/history.ts';
import { judgeListAppend } from '../judges/list-append.ts';
import { type ListCells, listTransactions } from '../judges/list-history.ts';
import { judgeNotifications } from '../judges/notifications.ts';
import { judgeSnapshotIsolation } from '../judges/snapshot-isolation.ts';
import { collectingOn, SimulatedClient } from './client.ts';
import { followToTheEnd, judgeFollowed } from './follower.ts';
import { observersOf } from './observers.ts';
import {
  CELLS,
  LISTS,
  OBSERVED,
  type PlannedOperation,
  SCRATCH,
  TABLES,
  type TransactionPlan,
} from './plan.ts';
import type { SimulatedRun } from './run.ts';
import { LEASE_TTL_MS } from './services.ts';
import { leftLocks, leftNotifications, setFirstTimestamp } from './storage.ts';
import type { World } from './world.ts';

const RIVAL_CELLS = ['t/a:c', 't/b:c'];
/**
 * An observed cell of a row that no plan has: a change of another one could hide a lost
 * notification.
 */
const UNSEEN_CELL = 't/idle:seen';
/** Rounds of replays after which no cell may still be parked: observers no longer fail. */
const REPLAYS_MAX = 10;

export class FinalChecks {
  readonly #world: World;
  readonly #client: SimulatedClient;
  readonly #percolator: Percolator;

  constructor(world: World, client: SimulatedClient, percolator: Percolator) {
    this.#world = world;
    this.#client = client;
    this.#percolator = percolator;
  }

  /**
   * Writes every cell of `CELLS` that is not observed, without reading any: the lock of a dead
   * owner must not block a writer forever (P21).
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
   * Three rivals write the same two cells in step with one another, one of them in the opposite
   * order. The first wins. The two others run again and lock their primaries first, which differ:
   * if both try again at once, they conflict again, forever (P23).
   */
  async contend(): Promise<void> {
    this.#world.isInStep = true;
    const operations = RIVAL_CELLS.map((cell): PlannedOperation => ({ do: 'set', cell }));
    try {
      const rivals = [operations, operations, operations.toReversed()];
      await Promise.all(rivals.map((rival) => this.#transact(rival)));
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
    this.#world.umpire.find('progress: parked forever', 'cells are parked whose observers succeed');
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

  /** Readers of changes come to the present. */
  follow(run: SimulatedRun): Promise<void> {
    return followToTheEnd(run, this.#percolator);
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
      ['changes', () => Array.fromAsync(percolator.changes(table, { from: 0 }))],
      ['cells', () => Array.fromAsync(percolator.cells(table))],
      ['mark', () => percolator.mark('m', 0, 1)],
      ['listParked', () => percolator.listParked(table)],
      ['collectGarbage', () => percolator.collectGarbage()],
      ['idle', () => this.#client.worker?.idle() ?? Promise.resolve()],
    ];
  }

  async #read(operations: readonly PlannedOperation[]): Promise<void> {
    while (!(await this.#client.transactions.snapshot(this.#percolator, operations))) {
      await this.#client.clock.sleep(10);
    }
  }

  #transact(operations: readonly PlannedOperation[]): Promise<void> {
    return this.#client.transactions.transactRecorded(this.#percolator, operations);
  }
}

/*
 * The judge of durations: how long an operation takes in virtual time, when nothing goes wrong any
 * more, and what is in its way was left by a process that has died.
 *
 *     a process locks several rows ─▶ dies, and no service says so ─▶ the last client scans them
 *
 * Other judges see only that an operation ends, and with which result. An engine that waits for
 * each dead lock in turn passes them all, and its users wait for minutes (P80). So does one that
 * tries a hundred times to reach a storage that is gone, and waits for a deadline each time (P79).
 */

/** Each transaction of the doomed process writes these cells; all their rows differ. */
const WRITTEN: readonly (readonly string[])[] = [
  ['t/a:c', 'u/a:c'],
  ['t/b:c', 'u/e:c'],
  ['t/c:c', 't/a:d'],
];
/**
 * Far more than an honest scan needs, one after another: reads, looks at primaries, rollbacks; and
 * after each read the horizon, where a short lease has ended.
 */
const ROUND_TRIPS = 60;
/** In times to live: one for all locks, the part of one before a scan looks ahead, slow clocks. */
const TIMES_TO_LIVE = 1.2;
/** For how many deadlines of a message a caller goes on trying: far fewer than it may try times. */
const UNANSWERED_DEADLINES = 20;
/** More than the last attempt takes, in which both oracles are asked several times. */
const ATTEMPT_DEADLINES = 40;
/** If no locks are left by then, the process was too fast: there is nothing to judge. */
const LOCKING_MS_MAX = 1_000;

/** Judges how long two scans of what a dead process has locked take. */
export async function judgeDurations(
  run: SimulatedRun,
  { transactions, clock }: SimulatedClient,
  percolator: Percolator,
): Promise<void> {
  const { timeline, knobs, umpire } = run.world;
  await leaveLocks(run);
  await clock.sleep(2 * knobs.delayMsMax + 1); // What it has sent arrives, or is rolled back.
  const beganMs = timeline.nowMs;
  const scans = (['t', 'u'] as const).map((table) => ({ do: 'scan', table }) as const);
  await transactions.snapshot(percolator, scans);
  const tookMs = timeline.nowMs - beganMs;
  const { batching, lockTimeToLiveMs } = knobs;
  const tripMs = 2 * knobs.delayMsMax + (batching?.delayMs ?? 0);
  const mayTakeMs = TIMES_TO_LIVE * lockTimeToLiveMs + ROUND_TRIPS * tripMs;
  if (tookMs <= mayTakeMs) return;
  const message = `two scans of what a dead process has locked took ${tookMs} ms, more than ${mayTakeMs} (time to live ${lockTimeToLiveMs})`;
  umpire.find('durations: dead locks in turn', message);
}

/**
 * Judges how long a caller waits for its error when nothing answers any more or, in every other
 * run, when the storage alone does not answer.
 */
export async function judgeSilence(run: SimulatedRun): Promise<void> {
  const { world } = run;
  const { timeline, knobs, umpire } = world;
  const unansweredMsMax = UNANSWERED_DEADLINES * knobs.deadlineMs;
  const plan = { transactions: [], concurrency: 1, worker: false };
  const names = { name: 'patient', id: 100_001, life: 1 };
  const client = new SimulatedClient(run, plan, names, unansweredMsMax);
  const percolator = await client.open();
  world.silent = world.seed % 2 === 0 ? 'storage' : 'all';
  const beganMs = timeline.nowMs;
  const cell = { table: world.names.table('t'), row: 'a', column: 'c' };
  const error = await percolator
    .transact((transaction) => transaction.get(cell))
    .catch((rejected: unknown) => rejected);
  const tookMs = timeline.nowMs - beganMs;
  world.silent = undefined;
  client.process.kill();
  if (!hasCode(error, 'STORE_UNAVAILABLE')) {
    umpire.find('durations: silence', `no answer at all is told as ${String(error)}`);
  }
  const mayTakeMs = unansweredMsMax + ATTEMPT_DEADLINES * knobs.deadlineMs;
  if (tookMs <= mayTakeMs) return;
  const message = `a caller heard after ${tookMs} ms, more than ${mayTakeMs}, that nothing answers (deadline ${knobs.deadlineMs})`;
  umpire.find('durations: silence', message);
}

/** A process dies while several of its transactions hold locks. No service says so. */
async function leaveLocks(run: SimulatedRun): Promise<void> {
  const { world } = run;
  const plan = { transactions: [], concurrency: 1, worker: false };
  const doomed = new SimulatedClient(run, plan, { name: 'doomed', id: 100_000, life: 1 });
  const percolator = await doomed.open();
  for (const cells of WRITTEN) {
    const operations = cells.map((cell) => ({ do: 'set', cell }) as const);
    const transaction: TransactionPlan = { kind: 'begin', operations };
    void doomed.transactions.perform(percolator, transaction);
  }
  const untilMs = world.timeline.nowMs + LOCKING_MS_MAX;
  const rows = WRITTEN.map(([cell = '']) => world.names.historic(cell));
  const isLocked = (cell: string): boolean =>
    leftLocks(world).some((lock) => lock.startsWith(`${cell}@`));
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (world.timeline.nowMs < untilMs && !rows.every(isLocked)) world.timeline.after(1, look);
      else resolve();
    };
    look();
  });
  doomed.process.kill();
  run.liveness.forget();
}

/* All judges on one simulated run. */

export function judge(run: SimulatedRun, clientHistory: History): readonly Violation[] {
  const { names, incarnations, tables } = run.world;
  markWeakRuns(run, clientHistory);
  const history = incarnations.named(clientHistory);
  const lists = new Set(LISTS.map((cell) => names.historic(cell)));
  const listCells: ListCells = {
    isList: (cell) => lists.has(cell),
    elementsOf: (value) => value.split(','),
  };
  run.world.umpire.judgeTraces(history, (table) => tables.has(table));
  return [
    ...run.world.umpire.violations,
    ...judgeSnapshotIsolation(history),
    ...judgeListAppend(listTransactions(clientHistory.transactions, listCells), { strict: true })
      .violations,
    ...judgeNotifications(history, {
      observers: incarnations.observed(observersOf(names)),
      left: leftNotifications(run.world),
    }),
    ...judgeAnswers(run, history),
    ...judgeFollowed(run, history),
    ...leftLocks(run.world).map((lock) => ({
      claim: 'progress: lock left',
      message: `${lock} is locked although everything has been read`,
    })),
  ];
}

/** The answers of `outcomeOf` must be the actual outcomes of the transactions. */
function judgeAnswers({ answers }: SimulatedRun, { records }: History): readonly Violation[] {
  if (answers.length === 0) return [];
  const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
  return answers
    .filter(
      ({ startTimestamp, outcome }) => (outcome === 'committed') !== committed.has(startTimestamp),
    )
    .map(({ startTimestamp, outcome }) => ({
      claim: 'outcome: wrong answer',
      message: `outcomeOf said that the transaction of ${startTimestamp} was ${outcome}`,
    }));
}

/**
 * An observer's run does not know which kind of notification caused it. A run that acknowledged
 * nothing was caused by a weak one, or did not commit.
 */
function markWeakRuns({ transactions }: SimulatedRun, { records }: History): void {
  const acknowledged = new Set(
    records
      .filter(({ cell }) => isAcknowledgment(addressOf(cell).column))
      .map((record) => record.startTimestamp),
  );
  for (const transaction of transactions) {
    if (transaction.run === undefined) continue;
    const weak = !acknowledged.has(transaction.startTimestamp);
    transaction.run = { ...transaction.run, weak };
  }
}
