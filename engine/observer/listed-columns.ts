/**
 * Whether the tables list the columns that a worker observes. A column that is not listed leaves no
 * notification, so its observers never run, and nothing else would ever report it.
 *
 * Definitions are in the storage, and the process keeps those that it has read. The worker asks for
 * a table's columns before its first scan of the table, when the table exists again after it was
 * dropped, and every ten seconds: the table may have been dropped and created again in between. The
 * scan notices that, and the process then reads the new definition.
 *
 * A missing column is a trouble and not a refusal: weak notifications need no listed column, and
 * the table may be about to be created.
 */
import { type Clock, PercolatorError, type Troubles } from '../base/index.ts';
import type { Context } from '../transaction/index.ts';
import type { Observer } from './observer.ts';

/** Milliseconds after which the worker asks again. Smaller: more work. Larger: reported later. */
const LOOK_MS = 10_000;

export class ListedColumns {
  readonly #clock: Clock;
  readonly #isListed: Context['isObserved'];
  readonly #troubles: Troubles;
  readonly #observers: ReadonlyMap<string, readonly Observer[]>;
  /** When the worker last asked for each table's columns; absent if it is to ask now. */
  readonly #lookedMs = new Map<string, number>();

  constructor(context: Context, observers: readonly Observer[], troubles: Troubles) {
    this.#clock = context.clock;
    this.#isListed = (table, column) => context.isObserved(table, column);
    this.#troubles = troubles;
    this.#observers = Map.groupBy(observers, ({ table }) => table);
  }

  /**
   * Asks for the table's columns if it is time to.
   * If the storage refuses, the scan meets that as well and reports it.
   */
  async check(table: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#lookedMs.get(table) ?? -Infinity) < LOOK_MS) return;
    try {
      for (const observer of this.#observers.get(table) ?? []) await this.#look(observer);
      this.#lookedMs.set(table, nowMs);
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }

  /** The table may be a different one when it can be scanned again. */
  doubt(table: string): void {
    this.#lookedMs.delete(table);
  }

  async #look({ name, table, column }: Observer): Promise<void> {
    const trouble = `column ${JSON.stringify([table, column, name])}`;
    if (await this.#isListed(table, column)) {
      this.#troubles.end(trouble);
      return;
    }
    const message = `table ${table} does not list ${column} under observedColumns`;
    const error = new PercolatorError('INVALID_ARGUMENT', message);
    const sentence = `${message}: its changes leave no notification, and do not run observer ${name}`;
    this.#troubles.begin(trouble, { kind: 'column', sentence, table, column, error });
  }
}
