/**
 * What a worker has to know of the other workers of its columns: which rows their scanners work on
 * (`ScanLocks`), and whether they have the same observers (`Peers`).
 *
 * If workers of a column have different observers, each clears notifications of changes that the
 * other's observers have not seen, and nothing else would ever tell (P72, different observers).
 *
 * A process writes the names of its workers' observers next to its lease, with the renewals that it
 * sends anyway. Each worker reads the leases every ten seconds, and compares:
 *
 *     lease of A, renewed since we last looked:   [[t, seen, x]]     A's worker lacks y
 *     lease of B, not renewed since:              [[t, seen, z]]     B may have ended: not counted
 *     this worker:                                [[t, seen, y]]     lacks x
 *
 * So what a process says counts only after it has been seen to renew its lease: a process that has
 * died says nothing, and workers that replace stopped ones are not told of those. And until the
 * time to live has passed without a renewal.
 */
import { type Clock, PercolatorError, type Warnings } from '../base/index.ts';
import { type RangeLock, type RangeLocks, RangeLockTable } from '../lock-service/index.ts';
import type { Context } from '../transaction/index.ts';
import type { Observer } from './observer.ts';
import { columnKey } from './worker-options.ts';

/** Milliseconds between two looks. Smaller: more reads. Larger: reported later. */
const LOOK_MS = 10_000;
/** Missing observers that one sentence names. */
const NAMED_MAX = 5;

/** The names of observers, by column. */
type ObserverNames = ReadonlyMap<string, ReadonlySet<string>>;

/** What one process says of its workers. */
interface PeerSighting {
  readonly counter: number;
  /** When this counter was first seen. */
  readonly sinceMs: number;
  /** Undefined until it was seen to renew its lease. */
  readonly workers: readonly ObserverNames[] | undefined;
}

export class Peers {
  readonly #leases: Context['leases'];
  readonly #clock: Clock;
  readonly #warnings: Warnings;
  readonly #columns: ReadonlyMap<string, Observer>;
  readonly #own: ObserverNames;
  /** What this worker says; it also tells it apart from others of its process. */
  readonly #saying: readonly (readonly string[])[];
  #sightings: ReadonlyMap<string, PeerSighting> = new Map();
  #lookedMs = -Infinity;

  constructor({ leases, clock }: Context, observers: readonly Observer[], warnings: Warnings) {
    this.#leases = leases;
    this.#clock = clock;
    this.#warnings = warnings;
    this.#columns = new Map(observers.map((one) => [columnKey(one.table, one.column), one]));
    this.#saying = observers.map(({ table, column, name }) => [table, column, name]);
    this.#own = namesIn(this.#saying);
    leases.say(this.#saying);
  }

  /** The worker runs no observers any more. */
  stop(): void {
    this.#leases.unsay(this.#saying);
  }

  /** Looks if it is time to. If the storage refuses, what was seen before counts. */
  async check(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    try {
      (await this.#leases.enter()).release(); // A process that only waits has no lease yet.
      await this.#look();
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
    for (const [key, { table, column }] of this.#columns) this.#compare(key, table, column);
  }

  async #look(): Promise<void> {
    const leases = await this.#leases.others();
    const nowMs = this.#clock.monotonicMs();
    const sightings = [...leases].map(([token, { counter, ttlMs, says }]) => {
      const before = this.#sightings.get(token);
      const isRenewed = before !== undefined && before.counter !== counter;
      if (before === undefined || isRenewed) {
        const workers = isRenewed ? says.map(namesIn) : undefined;
        return [token, { counter, sinceMs: nowMs, workers }] as const;
      }
      const isOver = nowMs - before.sinceMs > ttlMs;
      return [token, isOver ? { ...before, workers: undefined } : before] as const;
    });
    this.#sightings = new Map(sightings);
  }

  #compare(key: string, table: string, column: string): void {
    const missing = new Set<string>();
    for (const [where, workers] of this.#others()) {
      for (const names of workers) {
        const theirs = names.get(key);
        if (theirs === undefined) continue; // It does not observe the column.
        const own = this.#own.get(key) ?? new Set<string>();
        for (const name of theirs.difference(own)) missing.add(`${name} is missing in this one`);
        for (const name of own.difference(theirs)) missing.add(`${name} is missing in ${where}`);
      }
    }
    const warning = `observers of ${key}`;
    if (missing.size === 0) {
      this.#warnings.end(warning);
      return;
    }
    const sentence = `the workers of column ${column} of table ${table} have different observers, which therefore miss changes: ${list(missing)}`;
    this.#warnings.begin(warning, { kind: 'observers', sentence, table, column });
  }

  #others(): readonly (readonly [where: string, workers: readonly ObserverNames[]])[] {
    const here = this.#leases.said.filter((saying) => saying !== this.#saying).map(namesIn);
    const elsewhere = [...this.#sightings].map(
      ([token, { workers = [] }]) => [`process ${token}`, workers] as const,
    );
    return [['another one of this process', here], ...elsewhere];
  }
}

/** What a worker said; nothing, if it is not what this engine writes. */
function namesIn(saying: unknown): ObserverNames {
  const names = new Map<string, Set<string>>();
  for (const one of Array.isArray(saying) ? (saying as readonly unknown[]) : []) {
    const [table, column, name] = Array.isArray(one) ? (one as readonly unknown[]) : [];
    const key = columnKey(String(table), String(column));
    names.set(key, (names.get(key) ?? new Set()).add(String(name)));
  }
  return names;
}

function list(all: ReadonlySet<string>): string {
  const named = [...all].toSorted().slice(0, NAMED_MAX);
  const more = all.size - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/*
 * The rows that this worker's scanner has found and its observers work on, locked against other
 * scanners (section 2.4).
 *
 *     batch found ──▶ first to last row locked ──▶ queued ──▶ run ──▶ last one done: released
 *                          └ refused: another scanner works there ──▶ jump elsewhere
 *
 * "When a scanning thread discovers that it is scanning the same row as another thread, it chooses
 * a new random location in the table to scan." That is the cure for platooning: scanners that
 * follow one another find only what the front one works on, and catch up with it, because it is
 * slowed down by what it finds.
 *
 * To the lock service a process is one owner, and an owner's locks are no obstacle to itself. So
 * the workers that share the locks of one client first lock among themselves. And the service may
 * serve several databases, whose tables have the same names: a lock names its database (P75, shared
 * lock service).
 *
 * The locks are advisory (P49, scanners bunch up): they do not decide which rows are dirty or which
 * run counts.
 */

/** A cell that was found, with the worker's name for it. */
export interface FoundCell {
  readonly name: string;
  readonly table: string;
  readonly row: string;
}

interface LockedBatch {
  readonly lock: RangeLock;
  /** How many of its cells are not done yet. */
  left: number;
}

/** For each client of locks: the locks among the workers of this process that share it. */
const tables = new WeakMap<RangeLocks, RangeLockTable>();
let workers = 0;

export class ScanLocks {
  readonly #locks: RangeLocks;
  readonly #among: RangeLocks;
  /** Precedes the names of tables; no identity has a slash (P60, ambiguous names). */
  readonly #database: string;
  /** By the name of each cell that is not done yet. */
  readonly #batches = new Map<string, LockedBatch>();

  /** @param database its identity; absent: the locks are of one database only */
  constructor(locks: RangeLocks, clock: Clock, database?: string) {
    this.#locks = locks;
    this.#database = database === undefined ? '' : `${database}/`;
    const table = tables.get(locks) ?? new RangeLockTable(clock);
    tables.set(locks, table);
    this.#among = table.of(String(++workers));
  }

  /**
   * Locks the rows of a batch, which is in order and of one table.
   * False if another scanner works on one of them.
   */
  async tryLock(cells: readonly FoundCell[]): Promise<boolean> {
    const [first, last] = [cells[0], cells.at(-1)];
    if (first === undefined || last === undefined) return true;
    const table = `${this.#database}${first.table}`;
    const lock = await this.#lockTwice({ table, from: first.row, to: last.row });
    if (lock === undefined) return false;
    const batch = { lock, left: cells.length };
    for (const { name } of cells) this.#batches.set(name, batch);
    return true;
  }

  /** Among the workers of this process, then among all. */
  async #lockTwice(range: Parameters<RangeLocks['tryLock']>[0]): Promise<RangeLock | undefined> {
    const own = await this.#among.tryLock(range);
    if (own === undefined) return undefined;
    try {
      const lock = await this.#locks.tryLock(range);
      if (lock !== undefined) return { release: () => [own, lock].forEach((one) => one.release()) };
    } catch {
      return own; // As if there were no service.
    }
    own.release();
    return undefined;
  }

  /** The cell has been run, or will not be. Cells that are in no batch have no effect. */
  done(name: string): void {
    const batch = this.#batches.get(name);
    if (batch === undefined) return;
    this.#batches.delete(name);
    batch.left--;
    if (batch.left === 0) batch.lock.release();
  }

  /** Releases all locks: nothing more will be done. */
  releaseAll(): void {
    for (const { lock } of new Set(this.#batches.values())) lock.release();
    this.#batches.clear();
  }
}
