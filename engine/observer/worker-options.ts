/** The options of a worker: unit, default, cost of a wrong value; validated in one place. */
import { PercolatorError, type Trouble } from '../base/index.ts';
import {
  check,
  checkOptions,
  COUNT,
  FUNCTION,
  type Kinds,
  LIST,
  objectWith,
  oneOf,
  POSITIVE,
  TEXT,
} from '../base/options.ts';
import { checkUserColumn } from '../transaction/index.ts';
import type { RangeLocks } from '../lock-service/index.ts';
import type { DirtyCell, Observer } from './observer.ts';
import type { CommittedRun } from './run-observer.ts';

export interface WorkerOptions {
  /**
   * Observer runs in flight at a time, shared by the columns that have work. Default 64. While they
   * are taken, a column that has none may begin one more, so that it does not wait for the
   * observers of others (P82): with n columns, at most n - 1 more are in flight. Too small: the
   * storage idles. Too large: memory, and more runs meet one another's locks.
   */
  readonly concurrency?: number | undefined;
  /**
   * Rows per scanned batch. Default 256; with `rangeLocks`, at most 32. Too small: scans cost more
   * than runs. Too large: a cell found later waits in the queue until a whole batch has run.
   */
  readonly scanRows?: number | undefined;
  /**
   * Milliseconds of rest after a scan that found nothing new, while there is work. Default 5. It is
   * the latency of changes made by other processes. Too small: a worker burns CPU on empty scans.
   */
  readonly idleMs?: number | undefined;
  /**
   * Longest rest, in milliseconds: rests grow while there is nothing to do (rest.ts). Default 250;
   * if `idleMs` is given, the same as `idleMs`, so that rests do not grow. It is the latency of the
   * first change after a long pause, where the storage gives no hint. Too small: even an idle
   * worker burns CPU.
   */
  readonly idleMsMax?: number | undefined;
  /**
   * Failures of the observers of one cell before the cell is parked. Default 8. Too small: an error
   * that would have passed parks cells, and an operator has to replay them. Too large: a cell that
   * cannot be processed is run, and reported, for that much longer.
   */
  readonly failuresMax?: number | undefined;
  /**
   * First rest of a cell whose observer failed, in milliseconds; each failure doubles it, up to a
   * minute. Default 50. Too small: the failures are used up before a passing error is over. Too
   * large: the change waits although its observer would succeed.
   */
  readonly failureBackoffMs?: number | undefined;
  /**
   * Milliseconds after which a run, or a call of the scan, that has not ended is reported as a
   * trouble. Default 60,000. Too small: runs that are merely long are reported. Too large: an
   * observer that hangs occupies its place unreported.
   */
  readonly slowMs?: number | undefined;
  /**
   * Runs of one cell in a row, each caused by the one before and none by a change from outside,
   * after which an endless loop is reported as a trouble (P83). Default 1,000. Too small: observers
   * that trigger themselves until their work is done are reported. Too large: a loop goes on that
   * much longer unreported.
   */
  readonly loopRuns?: number | undefined;
  /**
   * Advisory locks that keep this worker's scanner off the rows that other workers are working on
   * (scan-locks.ts): those of a lock service, or of this process. Default: none. They cost a call
   * per batch and prevent several workers from running the same rows, which pays off with more than
   * a few workers.
   */
  readonly rangeLocks?: RangeLocks | undefined;
  /**
   * What the scanner does when it meets another one: go on at a random place (`jump`), or after the
   * locked rows (`skip`). Default `jump`. `skip` is what the paper did first; it is how scanners
   * come to follow one another (section 2.4), and is kept for comparison.
   */
  readonly onMeeting?: 'jump' | 'skip' | undefined;
  /**
   * Called once when something keeps the worker from a part of its work, and once more when that is
   * over (P56): a table that is gone, scans or runs that the storage refuses, an observed column
   * that its table does not list, workers that have different observers, a scan or an observer that
   * hangs, observers that trigger themselves without end, a callback that throws, and the error
   * that ended the worker. Default: a warning on standard error for the first trouble of each
   * kind; a function that does nothing silences it. `Worker.troubles` lists all troubles anyway.
   */
  readonly onTrouble?: ((trouble: Trouble) => void) | undefined;
  /** Called for every failure of an observer. Default: none. */
  readonly onFailure?: ((failure: ObserverFailure) => void) | undefined;
  /**
   * Called for every run that has committed, as soon as it has. Default: none. Not called for a run
   * whose commit got no answer, if this worker does not learn its outcome later: the process dies,
   * another worker runs the observer of the cell next, or a weak notification began the run.
   */
  readonly onCommitted?: ((run: CommittedRun) => void) | undefined;
}

export interface ObserverFailure {
  readonly cell: DirtyCell;
  /** What the observer threw. */
  readonly error: unknown;
  /** How often the observers of this cell have failed in this worker, this failure included. */
  readonly failures: number;
  /**
   * Whether `failuresMax` was reached. Then the cell is parked, except that it rests if the storage
   * refuses to park it, and nothing is parked if its mark is gone.
   */
  readonly parked: boolean;
}

/** The numeric options, with their defaults filled in. */
export interface Settings {
  readonly concurrency: number;
  readonly scanRows: number;
  readonly idleMs: number;
  readonly idleMsMax: number;
  readonly failuresMax: number;
  readonly failureBackoffMs: number;
  readonly slowMs: number;
  readonly loopRuns: number;
}

const KINDS: Kinds<WorkerOptions> = {
  concurrency: COUNT,
  scanRows: COUNT,
  idleMs: POSITIVE,
  idleMsMax: POSITIVE,
  failuresMax: COUNT,
  failureBackoffMs: POSITIVE,
  slowMs: POSITIVE,
  loopRuns: COUNT,
  rangeLocks: objectWith('the range locks of a lock service', { tryLock: FUNCTION }),
  onMeeting: oneOf('jump', 'skip'),
  onTrouble: FUNCTION,
  onFailure: FUNCTION,
  onCommitted: FUNCTION,
};

/** @throws INVALID_ARGUMENT; the message names the wrong option */
export function settingsOf(options: WorkerOptions): Settings {
  checkOptions('startWorker', options, KINDS);
  const { idleMs = 5, idleMsMax = options.idleMs ?? 250 } = options;
  if (idleMsMax < idleMs) {
    const message = `idleMsMax must be at least idleMs (${idleMs}), not ${idleMsMax}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return {
    concurrency: options.concurrency ?? 64,
    scanRows: options.scanRows ?? 256,
    idleMs,
    idleMsMax,
    failuresMax: options.failuresMax ?? 8,
    failureBackoffMs: options.failureBackoffMs ?? 50,
    slowMs: options.slowMs ?? 60_000,
    loopRuns: options.loopRuns ?? 1_000,
  };
}

const OBSERVER = objectWith('an object with the texts name, table and column, and a function run', {
  name: TEXT,
  table: TEXT,
  column: TEXT,
  run: FUNCTION,
});

/** @throws INVALID_ARGUMENT for what is no observer, or one of a column that no cell can have */
export function checkObservers(observers: readonly Observer[]): void {
  check('the observers of startWorker', observers, LIST);
  for (const observer of observers) {
    check('an observer', observer, OBSERVER);
    checkUserColumn(observer.column);
  }
}

/**
 * Observers by table and column. Two with one name would share an acknowledgment: a run of one
 * would count as a run of the other.
 * @throws INVALID_ARGUMENT if there are none, or if two of one column have one name
 */
export function byColumn(observers: readonly Observer[]): Map<string, Observer[]> {
  if (observers.length === 0) {
    throw new PercolatorError('INVALID_ARGUMENT', 'startWorker needs at least one observer');
  }
  const names = new Set<string>();
  for (const { table, column, name } of observers) {
    const full = JSON.stringify([table, column, name]);
    if (names.has(full)) {
      throw new PercolatorError(
        'INVALID_ARGUMENT',
        `observers of one column must have different names, but two of ${table}:${column} are called ${name}`,
      );
    }
    names.add(full);
  }
  return Map.groupBy(observers, ({ table, column }) => columnKey(table, column));
}

/** Unambiguous, because the name of a table has no NUL. */
export function columnKey(table: string, column: string): string {
  return `${table}\0${column}`;
}
