/**
 * The troubles of background work: of a worker, or of a collector (P56).
 *
 *     begin(name) ─▶ reported ─▶ begin(name): not reported again ─▶ end(name) ─▶ reported as over
 *
 * No caller waits for such work, so an error has no caller to go to. The work goes on as well as it
 * can and reports through `onTrouble`; `troubles` lists the current ones. If there is no
 * `onTrouble`, a warning on standard error tells the first trouble of each kind: an observer that
 * nothing will ever run must not look like one that has nothing to do.
 */
import { emitWarning } from 'node:process';
import { type ErrorCode, PercolatorError } from './errors.ts';

export type TroubleKind =
  /**
   * A table cannot be scanned, because it was dropped or the storage refuses; or the storage
   * refuses runs for one of the table's columns. The worker tries again.
   */
  | 'table'
  /** The table's definition omits the observed column, so its changes leave no notification. */
  | 'column'
  /** Workers of one column have different observers, which therefore miss changes. */
  | 'observers'
  /** A run of observers takes long. Until it ends, it occupies one of `concurrency` places. */
  | 'slow run'
  /** A cell runs again and again without a change from outside: observers trigger themselves. */
  | 'loop'
  /** A call of the scan has had no answer for long. Nothing is scanned meanwhile. */
  | 'slow scan'
  /** No lock service can be reached, or a server of another kind is at its address. */
  | 'lock service'
  /** A callback of the user threw. The event that it was told of is not affected. */
  | 'callback'
  /** A step of the collector fails. The collector tries it again after a pause. */
  | 'step'
  /**
   * The worker or the collector has ended: the store was closed, it is no longer that of the
   * database, a caller gave an invalid name, or there is a bug.
   */
  | 'ended';

export interface Trouble {
  readonly kind: TroubleKind;
  /** The problem, and its consequences. */
  readonly sentence: string;
  readonly table?: string | undefined;
  readonly row?: string | undefined;
  readonly column?: string | undefined;
  /** The value that was thrown; absent if there was none. */
  readonly error?: unknown;
  /** False when the trouble begins, true when it is over. `ended` is never over. */
  readonly isOver: boolean;
}

const FINAL: ReadonlySet<ErrorCode> = new Set([
  'STORE_CLOSED',
  'WRONG_DATABASE',
  'INVALID_ARGUMENT',
]);

/** A trouble that begins. */
export type NewTrouble = Omit<Trouble, 'isOver'>;

/**
 * Whether background work ends with the error: the store was closed, it is no longer that of the
 * database, a caller gave an invalid name, or the error is no `PercolatorError`, which means a bug.
 * After any other error it tries again.
 */
export function isFinal(error: unknown): boolean {
  return !(error instanceof PercolatorError) || FINAL.has(error.code);
}

/** The kinds of troubles that this process has warned of. */
const warned = new Set<TroubleKind>();

/** Node prints it on standard error, unless it is told not to: `--no-warnings`. */
function warnOnce({ kind, sentence, isOver }: Trouble): void {
  if (isOver || warned.has(kind)) return;
  warned.add(kind);
  const hint =
    'give onTrouble to hear of every trouble, or a function that does nothing to hear of none';
  emitWarning(`${sentence} (${hint})`, { type: 'PercolatorWarning', code: kind });
}

export class Troubles {
  readonly #onTrouble: (trouble: Trouble) => unknown;
  /** Current troubles, by name. */
  readonly #current = new Map<string, Trouble>();

  constructor(onTrouble: ((trouble: Trouble) => unknown) | undefined) {
    this.#onTrouble = onTrouble ?? warnOnce;
  }

  get current(): readonly Trouble[] {
    return [...this.#current.values()];
  }

  /** Reports the trouble, unless it is current with the same sentence. */
  begin(name: string, trouble: NewTrouble): void {
    if (this.#current.get(name)?.sentence === trouble.sentence) return;
    const reported = { ...trouble, isOver: false };
    this.#current.set(name, reported);
    this.#tell(reported);
  }

  /** Reports that the trouble is over; harmless if there is none of that name. */
  end(name: string): void {
    const trouble = this.#current.get(name);
    if (trouble === undefined) return;
    this.#current.delete(name);
    this.#tell({ ...trouble, isOver: true });
  }

  /**
   * Wraps the user's `callback`: if it throws or rejects, that is a trouble until a call succeeds.
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

  #tell(trouble: Trouble): void {
    try {
      const answer: unknown = this.#onTrouble(trouble);
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {
      // Nothing is left to report to. A trouble that begins stays listed in `current`.
    }
  }
}
