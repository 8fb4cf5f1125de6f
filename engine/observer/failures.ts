/**
 * Runs that did not commit: who is to blame, how long the cell rests, and what is reported.
 *
 *     error ─▶ whose? ─┬─ the observer's ─▶ counts towards parking; rests, each time twice as long
 *                      └─ the storage's ──▶ only rests; if it refuses: a warning for the column
 *
 * `Failures` remembers the cells whose runs did not commit, how often their observers failed, and
 * until when each cell is left alone (P45, observer keeps failing). A cell that fails too often is
 * parked (`park`): workers leave it alone until an operator replays it.
 *
 * Another worker may finish a cell that fails here; this worker then never meets it again. So a
 * worker forgets each cell that a whole scan has not found: it is no longer notified. Where other
 * workers' scanners prevent whole scans, the worker also forgets a cell, along with its count, that
 * it has not met for a long time.
 */
import { type Clock, hasCode, type Warnings } from '../base/index.ts';
import { check, COUNT, FLAG, objectWith, TEXT } from '../base/options.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';
import {
  type Context,
  placeOf,
  WRITE,
  decodeParked,
  encodeParked,
  NOTIFY,
  notifyTable,
  PARKED,
  PARKED_WEAK,
  type ParkedEntry,
  WEAK,
} from '../transaction/index.ts';
import type { DirtyCell } from './observer.ts';
import { isNoFailure, isRefusal, type Notified } from './run-observer.ts';
import { columnKey } from './worker-options.ts';

interface Failing {
  readonly failures: number;
  /** How often the storage has refused its runs since its last failure. */
  readonly refusals: number;
  readonly untilMs: number;
}

const NONE: Omit<Failing, 'untilMs'> = { failures: 0, refusals: 0 };
/** The longest rest, in milliseconds: after a repair, an observer should soon run again. */
const REST_MS_MAX = 60_000;
/**
 * Milliseconds from the end of its rest until a cell is forgotten although no scan was whole.
 * A cell that the worker meets less often than that is never parked.
 */
const FORGOTTEN_MS = 1_800_000;
/** Milliseconds between two searches for cells to forget: each search visits all failing cells. */
const SWEEP_MS = 1_000;

export class Failures {
  readonly #clock: Clock;
  readonly #firstRestMs: number;
  readonly #failing = new Map<string, Failing>();
  #sweptMs = -Infinity;

  constructor(clock: Clock, firstRestMs: number) {
    this.#clock = clock;
    this.#firstRestMs = firstRestMs;
  }

  /** Counts a failure and lets the cell rest, each time twice as long. Returns the count. */
  add(name: string): number {
    const failures = (this.#failing.get(name)?.failures ?? 0) + 1;
    this.#restFor(failures, name, { failures, refusals: 0 });
    return failures;
  }

  /** Lets the cell rest without counting a failure. */
  rest(name: string): void {
    const { failures, refusals } = this.#failing.get(name) ?? NONE;
    this.#restFor(1, name, { failures, refusals });
  }

  /**
   * The storage has refused a run. That is no failure, but it may go on for long: the cell rests
   * twice as long each time.
   */
  refuse(name: string): void {
    const { failures, refusals } = this.#failing.get(name) ?? NONE;
    this.#restFor(refusals + 1, name, { failures, refusals: refusals + 1 });
  }

  /**
   * Ends the rests of all refused cells. The extra try does not count: if it is refused, too, the
   * cell rests for as long again.
   */
  wakeRefused(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [name, { failures, refusals, untilMs }] of this.#failing) {
      if (refusals === 0 || untilMs <= nowMs) continue;
      this.#failing.set(name, { failures, refusals: Math.max(1, refusals - 1), untilMs: nowMs });
    }
  }

  /** Lets the cell rest as after this many failures in a row. */
  #restFor(times: number, name: string, counts: Omit<Failing, 'untilMs'>): void {
    const restMs = Math.min(REST_MS_MAX, this.#firstRestMs * 2 ** (times - 1));
    this.#failing.set(name, { ...counts, untilMs: this.#clock.monotonicMs() + restMs });
  }

  forget(name: string): void {
    this.#failing.delete(name);
  }

  get size(): number {
    return this.#failing.size;
  }

  /**
   * A scan has ended. Forgets the cells that it would have found if they were still notified: those
   * whose rest was over when it began and for which `isInFlight` is false. After a scan that was
   * not whole, forgets those of them whose rest had been over for `FORGOTTEN_MS`.
   */
  sweep(
    { beganMs, isWhole }: { readonly beganMs: number; readonly isWhole: boolean },
    isInFlight: (name: string) => boolean,
  ): void {
    if (beganMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = beganMs;
    const upToMs = isWhole ? beganMs : beganMs - FORGOTTEN_MS;
    for (const [name, { untilMs }] of this.#failing) {
      if (untilMs <= upToMs && !isInFlight(name)) this.#failing.delete(name);
    }
  }

  /**
   * False for a cell that only rests after a conflict or a refusal: it is work that is still to be
   * done.
   */
  hasFailed(name: string): boolean {
    return (this.#failing.get(name)?.failures ?? 0) > 0 && !this.isRefused(name);
  }

  /** Whether the storage has refused the cell's runs, and no run has succeeded or failed since. */
  isRefused(name: string): boolean {
    return (this.#failing.get(name)?.refusals ?? 0) > 0;
  }

  isResting(name: string): boolean {
    const failing = this.#failing.get(name);
    return failing !== undefined && failing.untilMs > this.#clock.monotonicMs();
  }
}

/*
 * The cells whose runs the storage refuses, and a warning for each column that has some (P56,
 * silent background failures).
 *
 *     first refused cell of a column ─▶ the warning begins ─▶ last one is over ─▶ the warning ends
 *
 * A refusal is STORE_REFUSED, STORE_FULL, STORE_DAMAGED, or what the storage says of a table that
 * no run can use. It may concern one cell only: its observer uses a table that no other run uses.
 * So the warning lasts as long as one cell is refused, however many others run meanwhile.
 */

export class Refusals {
  readonly #warnings: Warnings;
  /** Names of refused cells, by the warning of their column. No set is empty. */
  readonly #refused = new Map<string, Set<string>>();
  #count = 0;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /** How many runs were refused. Only grows. */
  get count(): number {
    return this.#count;
  }

  /** The names of the refused cells. */
  get names(): readonly string[] {
    return [...this.#refused.values()].flatMap((names) => Array.from(names));
  }

  begin(name: string, { table, column }: DirtyCell, error: unknown): void {
    this.#count++;
    const warning = `refused runs of ${columnKey(table, column)}`;
    const names = this.#refused.get(warning) ?? new Set<string>();
    this.#refused.set(warning, names.add(name));
    const sentence = `the observer runs of column ${column} of table ${table} are refused; they are tried again`;
    this.#warnings.begin(warning, { kind: 'table', sentence, table, column, error });
  }

  /** Harmless if the cell is not refused. */
  end(name: string): void {
    for (const [warning, names] of this.#refused) {
      if (!names.delete(name) || names.size > 0) continue;
      this.#refused.delete(warning);
      this.#warnings.end(warning);
    }
  }
}

/*
 * Who is to blame for a run that did not commit: its observer, or the storage (P45, P56)?
 *
 *     a conflict, a lost answer, a refusal    the storage
 *     a table, or a store that is closed      the storage, if it says the same of the cell's table
 *     another database, where ours was        the storage, or the oracle: it may be over again
 *     anything else                           the observer
 *
 * A failure of the observer counts towards parking. After one of the storage the cell only rests,
 * and its observers run again.
 */

/** Why a run that did not commit is no failure of its observer. */
export interface StoreError {
  readonly error: unknown;
  /** Whether the storage will refuse such a run until the cause is fixed. */
  readonly isRefusal: boolean;
}

/**
 * Asks the store and the oracle if the error may be theirs, and resolves with what they throw.
 * Undefined if the failure is the observer's.
 */
export async function findStoreError(
  context: Context,
  cell: Notified,
  error: unknown,
): Promise<StoreError | undefined> {
  if (isNoFailure(error)) return { error, isRefusal: isRefusal(error) };
  if (!isAboutTable(error) && !isAboutStore(error)) return undefined;
  let isNotifiedNow = false;
  try {
    await isNotified(context.storeByUserName, cell);
    isNotifiedNow = true; // The table has not been dropped, at least not whole.
    if (isAboutTable(error)) await useTable(context, cell);
    else await context.oracle.readHorizon();
    await context.identity?.check();
    if (hasCode(error, 'WRONG_DATABASE')) return { error, isRefusal: true };
    return undefined; // The observer asked for another table, or another store.
  } catch (storeError) {
    return { error: storeError, isRefusal: isNotifiedNow && isAboutTable(storeError) };
  }
}

/** Whether it says that no run can ever succeed: if it is the cell's own store. */
export function isAboutStore(error: unknown): boolean {
  return hasCode(error, 'STORE_CLOSED') || hasCode(error, 'WRONG_DATABASE');
}

/** What the storage says of a table that no run can use, and of one that only the observer uses. */
function isAboutTable(error: unknown): boolean {
  const codes = ['TABLE_NOT_FOUND', 'TABLE_MISMATCH', 'FAMILY_NOT_FOUND'] as const;
  return codes.some((code) => hasCode(error, code));
}

/** Does with the cell's table what every run does: looks up its definition, and reads from it. */
async function useTable(context: Context, { table, row, column }: Notified): Promise<void> {
  await context.isObserved(table, column);
  const filter = { ...placeOf(WRITE, column), versions: 1 };
  await context.storeByUserName.readRow(table, row, [filter]);
}

/*
 * Parking: what happens to a cell whose observer keeps failing (P45, observer keeps failing).
 *
 * Without it, workers would run the observer forever, for a cell that it cannot process. Scanners
 * do not find a parked cell. It is in a list, with the error, until an operator replays it. If the
 * cell changes meanwhile, it is notified again, and the observer runs.
 *
 * Parking is one row mutation: it erases the notification that was seen and sets the entry, so that
 * a crash loses neither, and a notification that came later stays. If the notification that was
 * seen is gone, nothing is parked: another worker has finished or parked the cell, or its table was
 * dropped and created again, and the cell of the new table has never failed.
 */

export interface ParkedCell extends DirtyCell, ParkedEntry {
  /** Whether it was notified by a weak notification. */
  readonly weak: boolean;
}

const PARKED_CELL = objectWith('one of those that listParked returns', {
  table: TEXT,
  row: TEXT,
  column: TEXT,
  weak: FLAG,
});

/**
 * Moves the cell from the notifications to the list of parked cells. Resolves to whether the
 * notification was still there.
 */
export async function park(store: Bigtable, cell: Notified, failed: ParkedEntry): Promise<boolean> {
  const { table, row, column: qualifier, weak, timestamp } = cell;
  const value = encodeParked(failed);
  const { notification, parked } = familiesOf(weak);
  return store.checkAndMutateRow({
    table: notifyTable(table),
    row,
    anyOf: [{ family: notification, qualifier, from: timestamp, to: timestamp }],
    ifFound: [
      { kind: 'set', family: parked, qualifier, timestamp, value },
      { kind: 'erase', family: notification, qualifier, from: 0, to: timestamp },
    ],
  });
}

/** Whether the cell is notified: weakly if `cell.weak`, otherwise strongly. */
export async function isNotified(
  store: Bigtable,
  cell: DirtyCell & { readonly weak: boolean },
): Promise<boolean> {
  const { notification: family } = familiesOf(cell.weak);
  const filter = { family, qualifier: cell.column, versions: 1 };
  return (await store.readRow(notifyTable(cell.table), cell.row, [filter])) !== undefined;
}

/** The parked cells of a table, at most `limit`, in row order. */
export async function listParked(
  store: Bigtable,
  table: string,
  limit: number,
): Promise<readonly ParkedCell[]> {
  check('the table of listParked', table, TEXT);
  check('the limit of listParked', limit, COUNT);
  const rows = await store.readRange(notifyTable(table), { limit }, [
    { family: PARKED, versions: 1 },
    { family: PARKED_WEAK, versions: 1 },
  ]);
  const parked = rows.flatMap(({ key: row, cells }) =>
    cells.map(({ family, qualifier: column, value }): ParkedCell => {
      return { table, row, column, weak: family === PARKED_WEAK, ...decodeParked(value) };
    }),
  );
  return parked.slice(0, limit); // A row may have several.
}

/** Makes a parked cell dirty again, at a fresh timestamp, and takes it off the list. */
export async function replayParked(
  { store, oracle }: { readonly store: Bigtable; readonly oracle: TimestampOracle },
  cell: ParkedCell,
): Promise<void> {
  check('the cell of replayParked', cell, PARKED_CELL);
  const { table, row, column: qualifier, weak } = cell;
  const timestamp = await oracle.next();
  const { notification, parked } = familiesOf(weak);
  await store.mutateRows([
    {
      table: notifyTable(table),
      row,
      mutations: [
        { kind: 'set', family: notification, qualifier, timestamp, value: new Uint8Array() },
        // Not up to the notification itself, at which the cell may be parked again (P63, tombstones
        // hide cells).
        { kind: 'erase', family: parked, qualifier, from: 0, to: timestamp - 1 },
      ],
    },
  ]);
}

/** A cell can be notified, and parked, in both ways at once; each is cleared and replayed alone. */
function familiesOf(weak: boolean): { readonly notification: string; readonly parked: string } {
  return weak
    ? { notification: WEAK, parked: PARKED_WEAK }
    : { notification: NOTIFY, parked: PARKED };
}
