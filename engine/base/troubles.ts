/**
 * The troubles of work that goes on in the background: of a worker, or of a collector (P56).
 *
 *     begin(name) ─▶ told once ─▶ begin(name) ... not told again ─▶ end(name) ─▶ told that it is over
 *
 * No caller waits for such work, so an error has no caller to go to. The work goes on as well as it can, and
 * tells its user through `onTrouble`; what is the matter at the moment is listed in `troubles`.
 */
import { PercolatorError } from './errors.ts';

export type TroubleKind =
  /** A table cannot be scanned: it was dropped, or the storage refuses. It is tried again at every scan. */
  | 'table'
  /** The table's definition does not list the observed column: its changes leave no notification. */
  | 'column'
  /** A run of observers has not ended for long. Until it does, it takes one of `concurrency` places. */
  | 'slow run'
  /** A call that the scan has made is without an answer for long. Nothing is scanned meanwhile. */
  | 'slow scan'
  /** A function that the user gave to be told of something threw. What it was told of is not affected. */
  | 'callback'
  /** A step of the collector fails. It is tried again after a rest. */
  | 'step'
  /** The worker, or the collector, cannot go on and has ended: the store was closed, or there is a bug. */
  | 'ended';

export interface Trouble {
  readonly kind: TroubleKind;
  /** What is the matter, and what follows from it. */
  readonly sentence: string;
  readonly table?: string | undefined;
  readonly row?: string | undefined;
  readonly column?: string | undefined;
  /** What was thrown; absent if nothing was. */
  readonly error?: unknown;
  /** False when it begins, true when it is over. What has ended is never over. */
  readonly isOver: boolean;
}

/** A trouble that begins. */
export type NewTrouble = Omit<Trouble, 'isOver'>;

/**
 * Whether work in the background ends with the error: the store was closed, or a caller gave a name that nothing can
 * have; and what is no `PercolatorError` is a bug. After everything else it tries again.
 */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof PercolatorError)) return true;
  return error.code === 'STORE_CLOSED' || error.code === 'INVALID_ARGUMENT';
}

export class Troubles {
  readonly #onTrouble: (trouble: Trouble) => unknown;
  /** Those that are not over, by name. */
  readonly #current = new Map<string, Trouble>();

  constructor(onTrouble: ((trouble: Trouble) => unknown) | undefined) {
    this.#onTrouble = onTrouble ?? (() => {});
  }

  get current(): readonly Trouble[] {
    return [...this.#current.values()];
  }

  /** Tells it, unless it has been told in the same words and is not over. */
  begin(name: string, trouble: NewTrouble): void {
    if (this.#current.get(name)?.sentence === trouble.sentence) return;
    const told = { ...trouble, isOver: false };
    this.#current.set(name, told);
    this.#tell(told);
  }

  /** Tells that it is over; harmless if there is none of that name. */
  end(name: string): void {
    const trouble = this.#current.get(name);
    if (trouble === undefined) return;
    this.#current.delete(name);
    this.#tell({ ...trouble, isOver: true });
  }

  /** The user's `callback`, called so that what it throws, or rejects with, is a trouble until it returns again. */
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
      // There is no one left to tell. The trouble stays listed in `current`.
    }
  }
}
