/**
 * Warnings: problems of background work that are still going on (P56), of a worker or a collector.
 *
 *     begin(name) ─▶ reported ─▶ begin(name): not reported again ─▶ end(name) ─▶ reported as over
 *
 * No caller waits for such work, so an error has no caller to go to. The work goes on as well as it
 * can and reports through `onWarning`; `warnings` lists the current ones. If there is no
 * `onWarning`, Node prints the first one of each kind, table and column on standard error: an
 * observer that nothing will ever run must not look like one that has nothing to do.
 */
import { type ErrorCode, PercolatorError } from './errors.ts';
import { warnOfHost } from './host.ts';

export type WarningKind =
  /**
   * A table cannot be scanned, because it was dropped or the storage refuses; or the storage
   * refuses runs for one of the table's columns. The worker tries again.
   */
  | 'table'
  /** The table's definition omits the observed column, so its changes leave no notification. */
  | 'column'
  /** Workers of one column have different observers, which therefore miss changes. */
  | 'observers'
  /** An observer throws, and its worker has no `onFailure`. The cell rests, and is run again. */
  | 'failure'
  /** A run of observers takes long. Until it ends, it occupies one of `concurrency` places. */
  | 'slow run'
  /** A cell runs repeatedly without a change from outside: observers trigger themselves. */
  | 'loop'
  /** A call of the scan has had no answer for long. Nothing is scanned meanwhile. */
  | 'slow scan'
  /** No lock service can be reached, or a server of another kind is at its address. */
  | 'lock service'
  /** The certificate that the process shows expires within a week, or has expired. */
  | 'certificate'
  /** A service talks in plaintext beyond this machine. */
  | 'insecure'
  /** A callback of the user threw. The event that it was told of is not affected. */
  | 'callback'
  /** The process cannot note which timestamp it is. It tries again. */
  | 'times'
  /** A step of the collector fails. The collector tries it again after a pause. */
  | 'step'
  /**
   * The worker or the collector has ended: the store was closed, it is no longer that of the
   * database, a caller gave an invalid name, or there is a bug.
   */
  | 'ended';

export interface Warning {
  readonly kind: WarningKind;
  /** The problem, and its consequences. */
  readonly sentence: string;
  readonly table?: string | undefined;
  readonly row?: string | undefined;
  readonly column?: string | undefined;
  /** The value that was thrown; absent if there was none. */
  readonly error?: unknown;
  /** False when the problem begins, true when it is over. `ended` is never over. */
  readonly isOver: boolean;
}

const FINAL: ReadonlySet<ErrorCode> = new Set([
  'STORE_CLOSED',
  'WRONG_DATABASE',
  'INVALID_ARGUMENT',
]);

/** A warning of a problem that begins. */
export type NewWarning = Omit<Warning, 'isOver'>;

/**
 * Whether background work ends with the error: the store was closed, it is no longer that of the
 * database, a caller gave an invalid name, or the error is no `PercolatorError`, which means a bug.
 * After any other error it tries again.
 */
export function isFinal(error: unknown): boolean {
  return !(error instanceof PercolatorError) || FINAL.has(error.code);
}

/** Of which this process has printed one: kinds, and those of a table and a column. */
const warned = new Set<string>();

/**
 * Node prints it on standard error, unless it is told not to: `--no-warnings`. Of one kind each
 * column has its own, for a name may be wrong in several places; a row has not, for there are many.
 */
function warnOnce({ kind, table, column, sentence, isOver }: Warning): void {
  const which = JSON.stringify([kind, table, column]);
  if (isOver || warned.has(which)) return;
  warned.add(which);
  const hint =
    'give onWarning to hear of every warning, or a function that does nothing to hear of none';
  warnOfHost(`${sentence} (${hint})`, { type: 'PercolatorWarning', code: kind });
}

export class Warnings {
  readonly #onWarning: (warning: Warning) => unknown;
  /** Current warnings, by name. */
  readonly #current = new Map<string, Warning>();

  constructor(onWarning: ((warning: Warning) => unknown) | undefined) {
    this.#onWarning = onWarning ?? warnOnce;
  }

  get current(): readonly Warning[] {
    return [...this.#current.values()];
  }

  /** Reports the warning, unless it is current with the same sentence. */
  begin(name: string, warning: NewWarning): void {
    if (this.#current.get(name)?.sentence === warning.sentence) return;
    const reported = { ...warning, isOver: false };
    this.#current.set(name, reported);
    this.#tell(reported);
  }

  /** Reports that the warning is over; harmless if there is none of that name. */
  end(name: string): void {
    const warning = this.#current.get(name);
    if (warning === undefined) return;
    this.#current.delete(name);
    this.#tell({ ...warning, isOver: true });
  }

  /**
   * Wraps the user's `callback`: if it throws or rejects, the warning lasts until a call succeeds.
   */
  guard<T>(name: string, callback: (value: T) => unknown): (value: T) => void {
    const sentence = `${name} failed; what it was told of is not affected`;
    const failed = (error: unknown): void =>
      this.begin(name, { kind: 'callback', sentence, error });
    return (value) => {
      try {
        const answer = callback(value);
        if (answer instanceof Promise) answer.then(() => this.end(name), failed);
        else this.end(name);
      } catch (error) {
        failed(error);
      }
    };
  }

  #tell(warning: Warning): void {
    try {
      const answer: unknown = this.#onWarning(warning);
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {
      // Nothing is left to report to. What begins stays listed in `current`.
    }
  }
}
