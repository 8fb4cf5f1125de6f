/** The options of a worker: unit, default, cost of a wrong value; validated in one place. */
import { PercolatorError, type Warning } from '../base/index.ts';
import {
  check,
  checkOptions,
  COUNT,
  filledIn,
  FUNCTION,
  type Given,
  option,
  type OptionDefaults,
  type OptionRules,
  LIST,
  objectWith,
  oneOf,
  POSITIVE,
  SIGNAL,
  TEXT,
} from '../base/options.ts';
import { checkUserColumn } from '../transaction/index.ts';
import type { RangeLocks } from '../lock-service/index.ts';
import type { DirtyCell, Observer } from './observer.ts';
import type { CommittedRun } from './run-observer.ts';

/** The options that are numbers. */
export interface WorkerSettings {
  /**
   * Observer runs in flight at a time, shared by the columns that have work. Default 64. While they
   * are taken, a column that has none may begin one more, so that it does not wait for the
   * observers of others (P82, one column takes all): with n columns, at most n - 1 more are in
   * flight. Too small: the storage idles. Too large: memory, and more runs meet one another's
   * locks.
   */
  readonly concurrency: number;
  /**
   * Rows per scanned batch. Default 256; with `rangeLocks`, at most 32. Too small: scans cost more
   * than runs. Too large: a cell found later waits in the queue until a whole batch has run.
   */
  readonly scanRows: number;
  /**
   * Milliseconds of rest after a scan that found nothing new, while there is work. Default 5. It is
   * the latency of changes made by other processes. Too small: a worker burns CPU on empty scans.
   */
  readonly idleMs: number;
  /**
   * Longest rest, in milliseconds: rests grow while there is nothing to do (scans.ts). Default 250;
   * if `idleMs` is given, the same as `idleMs`, so that rests do not grow. It is the latency of the
   * first change after a long pause, where the storage gives no hint; also of one whose own process
   * was to run its observers, and did not: it died, stopped its worker, or heard COMMIT_UNKNOWN.
   * Too small: even an idle worker burns CPU.
   */
  readonly idleMsMax: number;
  /**
   * Failures of the observers of one cell before the cell is parked. Default 8. Too small: an error
   * that would have passed parks cells, and an operator has to replay them. Too large: a cell that
   * cannot be processed is run, and reported, for that much longer.
   */
  readonly failuresMax: number;
  /**
   * First rest of a cell whose observer failed, in milliseconds; each failure doubles it, up to a
   * minute. Default 50. Too small: the failures are used up before a passing error is over. Too
   * large: the change waits although its observer would succeed.
   */
  readonly failureBackoffMs: number;
  /**
   * Milliseconds after which a run, or a call of the scan, that has not ended is reported as a
   * warning. Default 60,000. Too small: runs that are merely long are reported. Too large: an
   * observer that hangs occupies its place unreported.
   */
  readonly slowMs: number;
  /**
   * Runs of one cell in a row, each caused by the one before and none by a change from outside,
   * after which an endless loop is reported as a warning (P83, endless loop). Default 1,000. Too
   * small: observers that trigger themselves until their work is done are reported. Too large: a
   * loop goes on that much longer unreported.
   */
  readonly loopRuns: number;
}

export interface WorkerOptions extends Given<WorkerSettings> {
  /**
   * Advisory locks that keep this worker's scanner off the rows that other workers are working on
   * (peers.ts): those of a lock service, or of this process. Default: none. They cost a call
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
   * over (P56, silent background failures): a table that is gone, scans or runs that the storage
   * refuses, an observed column that its table does not list, workers that have different
   * observers, a scan or an observer that hangs, observers that trigger themselves without end, a
   * callback that throws, and the error that ended the worker. Default: Node prints the first one
   * of each kind, table and column on standard error; a function that does nothing silences it.
   * `Worker.warnings` lists all warnings anyway.
   */
  readonly onWarning?: ((warning: Warning) => void) | undefined;
  /** Stops the worker when it aborts, as `stop` does. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called for every failure of an observer. Default: a warning for each column whose observers
   * fail, until none of its cells does.
   */
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
   * refuses to park it, and nothing is parked if its notification is gone.
   */
  readonly parked: boolean;
}

const SETTINGS: OptionDefaults<WorkerSettings> = {
  concurrency: option(COUNT, 64),
  scanRows: option(COUNT, 256),
  idleMs: option(POSITIVE, 5),
  idleMsMax: option(POSITIVE, 250),
  failuresMax: option(COUNT, 8),
  failureBackoffMs: option(POSITIVE, 50),
  slowMs: option(POSITIVE, 60_000),
  loopRuns: option(COUNT, 1_000),
};

const RULES: OptionRules<WorkerOptions> = {
  ...SETTINGS,
  rangeLocks: objectWith('the range locks of a lock service', { tryLock: FUNCTION }),
  onMeeting: oneOf('jump', 'skip'),
  onWarning: FUNCTION,
  signal: SIGNAL,
  onFailure: FUNCTION,
  onCommitted: FUNCTION,
};

/** @throws INVALID_ARGUMENT; the message names the wrong option */
export function settingsOf(options: WorkerOptions): WorkerSettings {
  checkOptions('startWorker', options, RULES);
  const { idleMs, idleMsMax = idleMs } = options;
  const settings = filledIn(SETTINGS, { ...options, idleMsMax });
  if (settings.idleMsMax < settings.idleMs) {
    const message = `idleMsMax must be at least idleMs (${settings.idleMs}), not ${settings.idleMsMax}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return settings;
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
