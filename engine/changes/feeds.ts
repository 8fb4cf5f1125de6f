/**
 * What a database offers to those that follow its tables: the part of `Percolator` that is about
 * changes, with the marks that keep them for readers that are not running.
 */
import { PercolatorError } from '../base/index.ts';
import { check, NAME, POSITIVE, WHOLE } from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { eraseMark, setMark } from '../leases/index.ts';
import { type CellAddress, type Context, refuseBelowHorizon } from '../transaction/index.ts';
import { cells, type CellsOptions, type TableCell } from './cells.ts';
import { type ChangeEvent, changes, type ChangesOptions } from './changes.ts';
import { watch, type WatchedValue, type WatchOptions } from './watch.ts';

export interface Feeds {
  /**
   * The committed changes of a table, in the order of their commit timestamps, each once; between
   * them, events that say up to which timestamp all have been reported (changes.ts). Without
   * `follow` it ends with the changes of now.
   * @throws INVALID_ARGUMENT for a wrong option. While it is read: STALE_SNAPSHOT if changes since
   *   `from` were collected, or the table was created again; TABLE_NOT_FOUND, LOCKED
   */
  changes(table: string, options?: ChangesOptions): AsyncGenerator<ChangeEvent, void, undefined>;
  /** The value of a cell, and then each value that is committed to it (watch.ts). */
  watch(cell: CellAddress, options?: WatchOptions): AsyncGenerator<WatchedValue, void, undefined>;
  /**
   * All cells of a table as of a timestamp, or of now, each with when it was committed, in the
   * order of rows: with the changes after that timestamp, a copy of the table.
   */
  cells(table: string, options?: CellsOptions): AsyncGenerator<TableCell, void, undefined>;
  /**
   * Keeps what was committed after a timestamp from being collected, also when no process reads it:
   * for the next backup, or a reader of changes that is not running. Each mark has a name, and
   * replaces an earlier one of that name; `unmark` ends it.
   * @param forMs how long collectors respect it, counted from when each first sees it; about twice
   *   as long at most
   * @throws STALE_SNAPSHOT if the timestamp is below the horizon already
   */
  mark(name: string, timestamp: Timestamp, forMs: number): Promise<void>;
  unmark(name: string): Promise<void>;
}

export class FeedsOfContext implements Feeds {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  changes(table: string, options?: ChangesOptions): AsyncGenerator<ChangeEvent, void, undefined> {
    return changes(this.#context, table, options);
  }

  watch(cell: CellAddress, options?: WatchOptions): AsyncGenerator<WatchedValue, void, undefined> {
    return watch(this.#context, cell, options);
  }

  cells(table: string, options?: CellsOptions): AsyncGenerator<TableCell, void, undefined> {
    return cells(this.#context, table, options);
  }

  async mark(name: string, timestamp: Timestamp, forMs: number): Promise<void> {
    check('the name of a mark', name, NAME);
    check('the timestamp of a mark', timestamp, WHOLE);
    check('the time of a mark', forMs, POSITIVE);
    await this.#checkIdentity();
    const { oracle, store, clock } = this.#context;
    const now = await oracle.next();
    if (timestamp > now) {
      const message = `the timestamp of a mark must not be in the future: at most ${now}, not ${timestamp}`;
      throw new PercolatorError('INVALID_ARGUMENT', message);
    }
    await refuseBelowHorizon(this.#context, timestamp);
    await setMark(store, { name, bound: timestamp, ttlMs: forMs, setMs: clock.wallMs() }, now);
    try {
      // Again: a collector that did not see the mark has persisted the horizon before (P31).
      await refuseBelowHorizon(this.#context, timestamp);
    } catch (error) {
      await eraseMark(store, name); // It would keep the horizon where it is, for nothing.
      throw error;
    }
  }

  async unmark(name: string): Promise<void> {
    check('the name of a mark', name, NAME);
    await this.#checkIdentity();
    await eraseMark(this.#context.store, name);
  }

  /** @throws STORE_CLOSED, WRONG_DATABASE */
  async #checkIdentity(): Promise<void> {
    this.#context.closing.refuseNew();
    await this.#context.identity?.check();
  }
}
