/**
 * The committed changes of a table, in the order of their commit timestamps, each once:
 *
 *     for await (const event of percolator.changes('accounts', { from: cursor, follow: true })) {
 *       if (event.kind === 'change') apply(event);
 *       await keep(event.cursor);
 *     }
 *
 *     place ──▶ hold it ──▶ T ──▶ look (look.ts) ──▶ horizon below the place? ──▶ changes, resolved
 *       ▲                                               └ above: STALE_SNAPSHOT        │
 *       └──────────────── rest, until something may have changed ◀─────────────────────┘
 *
 * Nothing is stored for a reader. What it needs is in the cells of the table: locks and write
 * records. So any number of readers cost the writers nothing, and a reader that is gone leaves
 * nothing. Its place is the cursor, which any process may go on from.
 *
 * While it reads, the lease of its process keeps what comes after its place from being collected,
 * for at most `snapshotLifetimeMsMax` without progress. A cursor that no process reads from keeps
 * nothing: after a collection, STALE_SNAPSHOT says that the past is gone. Then read a snapshot, and
 * the changes from its timestamp on.
 *
 * Not here: what a bulk load writes is there at timestamps from when the loader was opened, so load
 * before you read changes. What changes a cell twice in one transaction is one change. A touch,
 * `lock(cell)`, is none.
 */
import { hasCode, isRetryable, PercolatorError } from '../base/index.ts';
import {
  check,
  checkOptions,
  COUNT,
  FLAG,
  type OptionRule,
  type OptionRules,
  POSITIVE,
  SIGNAL,
  TEXT,
  TEXTS,
  WHOLE,
} from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Hold } from '../leases/index.ts';
import {
  backoffMs,
  type Context,
  type Incarnation,
  isTableNotFound,
} from '../transaction/index.ts';
import {
  findTable,
  type FoundChange,
  look,
  placeAfter,
  type Scope,
  type Sight,
  valueBefore,
} from './look.ts';
import { type Cursor, decodeCursor, encodeCursor, type Place } from './place.ts';
import { Rest } from './rest.ts';

export interface ChangesOptions {
  /**
   * A cursor, to go on where it was given out; or a timestamp, for all changes that were committed
   * after it. Default: now, with an event that says when that was.
   */
  readonly from?: string | Timestamp | undefined;
  /** The last timestamp wanted; not in the future. Default: now, or with `follow` none. */
  readonly to?: Timestamp | undefined;
  /** Whether to wait for more when all changes were reported. Default false. */
  readonly follow?: boolean | undefined;
  /** The first row, inclusive, and the row before which the range ends. Default: all rows. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  /** Default: all columns. */
  readonly columns?: readonly string[] | undefined;
  /** Whether each change says what value was there before: a read of its own. Default false. */
  readonly before?: boolean | undefined;
  /** Whether what observers have acknowledged is reported, too, for a backup. Default false. */
  readonly acknowledgments?: boolean | undefined;
  /**
   * Milliseconds between two looks at a table that does not change, where the storage does not say
   * that it does. Default 250. Too small: each look costs the storage a scan. Too large: changes
   * are seen late.
   */
  readonly restMsMax?: number | undefined;
  /**
   * Milliseconds between two resolved timestamps while nothing changes. Default: one for each look.
   * Too large: where changes are rare, the last cursor is old, and what comes after it may have
   * been collected.
   */
  readonly resolvedMs?: number | undefined;
  /**
   * Bytes of changes in memory. Default 64 MiB. Too small: the table is scanned many times, where a
   * reader goes on from long ago. Too large: as much memory.
   */
  readonly bytesMax?: number | undefined;
  /** Ends the changes, also while they wait. Default: only the caller's `break` does. */
  readonly signal?: AbortSignal | undefined;
}

/** A value that a transaction has committed. */
export interface Change {
  readonly kind: 'change';
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** Undefined: the value was deleted. */
  readonly value: Uint8Array | undefined;
  /** With `before`: the value that was there; undefined if there was none. */
  readonly before?: Uint8Array | undefined;
  /** The same for all changes of one transaction, and for those of no other one. */
  readonly commitTimestamp: Timestamp;
  readonly startTimestamp: Timestamp;
  /** To go on with the next change. */
  readonly cursor: string;
}

/** All changes up to the timestamp have been reported, and no other one will be added below it. */
export interface Resolved {
  readonly kind: 'resolved';
  readonly table: string;
  readonly timestamp: Timestamp;
  readonly cursor: string;
}

export type ChangeEvent = Change | Resolved;

const FROM: OptionRule = {
  expected: 'a cursor or a timestamp',
  accepts: (value) => typeof value === 'string' || WHOLE.accepts(value),
};

export const CHANGES_RULES: OptionRules<ChangesOptions> = {
  from: FROM,
  to: WHOLE,
  follow: FLAG,
  start: TEXT,
  end: TEXT,
  columns: TEXTS,
  before: FLAG,
  acknowledgments: FLAG,
  restMsMax: POSITIVE,
  resolvedMs: POSITIVE,
  bytesMax: COUNT,
  signal: SIGNAL,
};

const BYTES_MAX = 2 ** 26;

/**
 * @throws INVALID_ARGUMENT at once for a wrong option. While it is read: TABLE_NOT_FOUND;
 *   STALE_SNAPSHOT if changes since the place were collected, or the table was created again;
 *   WRONG_DATABASE for a cursor of another one; LOCKED if, without `follow`, a live transaction has
 *   kept its lock for longer than `lockWaitMsMax`; and what the storage says, after
 *   `unansweredMsMax`
 */
export function changes(
  context: Context,
  table: string,
  options: ChangesOptions = {},
): AsyncGenerator<ChangeEvent, void, undefined> {
  check('the table of changes', table, TEXT);
  checkOptions('changes', options, CHANGES_RULES);
  const { from } = options;
  const cursor = typeof from === 'string' ? decodeCursor(from) : undefined;
  if (cursor !== undefined && cursor.table !== table) {
    const message = `the cursor is of table ${cursor.table}, not of ${table}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const columns = options.columns && [...options.columns]; // Its caller may change them.
  return new ChangeReader(context, table, { ...options, columns }, cursor).events();
}

class ChangeReader {
  readonly #context: Context;
  readonly #table: string;
  readonly #options: ChangesOptions;
  readonly #cursor: Cursor | undefined;
  /** Whether looks see all that a look of any other reader would see (P88). */
  readonly #isWhole: boolean;
  #incarnation: Pick<Incarnation, 'stored' | 'createdAt'> | undefined;
  #place: Place = { timestamp: 0 };
  #locksFrom: Timestamp = 0;
  /** Keeps what comes after the place. */
  #hold: Hold | undefined;
  /** Whether a change was reported since the last resolved timestamp, and when that was. */
  #hasNews = false;
  #resolvedAtMs = -Infinity;
  /** The last timestamp wanted. */
  #to: Timestamp | undefined;

  constructor(
    context: Context,
    table: string,
    options: ChangesOptions,
    cursor: Cursor | undefined,
  ) {
    const { start, end, columns } = options;
    this.#context = context;
    this.#table = table;
    this.#options = options;
    this.#cursor = cursor;
    this.#to = options.to;
    this.#isWhole = start === undefined && end === undefined && columns === undefined;
  }

  async *events(): AsyncGenerator<ChangeEvent, void, undefined> {
    if (this.#isAborted()) return;
    try {
      await this.#begin();
      using rest = new Rest(this.#context, this.#storedName, this.#options);
      if (this.#options.from === undefined) yield this.#resolved();
      while (!this.#isAborted()) {
        rest.lookBegins();
        const { changes: found, resolved } = await this.#try(() => this.#look());
        for (const change of found) {
          yield await this.#changeOf(change);
          if (this.#isAborted()) return;
        }
        const isEnd = yield* this.#moveTo(resolved, rest, found.length);
        if (isEnd) return;
      }
    } finally {
      this.#hold?.release();
    }
  }

  /** Goes on from the place, at once if the look was cut short. Whether that is the end. */
  async *#moveTo(
    resolved: Place,
    rest: Rest,
    found: number,
  ): AsyncGenerator<Resolved, boolean, undefined> {
    const before = this.#place;
    this.#place = resolved;
    if (resolved.row !== undefined) return false;
    const isEnd = this.#to !== undefined && resolved.timestamp >= this.#to;
    if (resolved.timestamp > before.timestamp || isEnd) {
      rest.gotFurther(found);
      if (isEnd || this.#isDue()) yield this.#resolved();
    }
    if (!isEnd) await (this.#options.follow === true ? rest.sleep() : rest.untilUnlocked());
    return isEnd;
  }

  #isDue(): boolean {
    const { resolvedMs = 0 } = this.#options;
    return this.#hasNews || this.#context.clock.monotonicMs() - this.#resolvedAtMs >= resolvedMs;
  }

  #isAborted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  async #begin(): Promise<void> {
    const { closing, leases, oracle } = this.#context;
    closing.refuseNew();
    await this.#bind();
    const { from } = this.#options;
    if (from === undefined) {
      const hold = (this.#hold = await leases.enter());
      const timestamp = await oracle.next();
      hold.setTimestamp(timestamp);
      this.#place = { timestamp };
    } else if (this.#cursor === undefined) this.#place = { timestamp: Number(from) };
    else {
      this.#place = this.#cursor.place;
      this.#locksFrom = this.#cursor.locksFrom;
    }
    await this.#checkEnd();
  }

  /** Finds the table, and compares it with the cursor's. */
  async #bind(): Promise<void> {
    const { identity } = this.#context;
    const cursor = this.#cursor;
    if (cursor !== undefined && cursor.database !== (identity?.name ?? '')) {
      const message = `the cursor is of the database ${cursor.database}, and this is ${identity?.name}`;
      throw new PercolatorError('WRONG_DATABASE', message);
    }
    this.#incarnation = await findTable(this.#context, this.#table);
    if (cursor !== undefined && cursor.stored !== this.#storedName) throw createdAgain(this.#table);
  }

  /** Without `to`, and without `follow`, the end is now. */
  async #checkEnd(): Promise<void> {
    const now = await this.#context.oracle.next();
    if (this.#to === undefined && this.#options.follow !== true) this.#to = now;
    const { timestamp } = this.#place;
    const { to = now } = this.#options;
    if (to < timestamp || to > now) {
      const message = `changes from ${timestamp} to ${to} must not end before they begin, nor in the future; it is ${now}`;
      throw new PercolatorError('INVALID_ARGUMENT', message);
    }
    // They would be those of an earlier table of that name.
    if (to < (this.#incarnation?.createdAt ?? 0)) throw createdAgain(this.#table);
  }

  get #storedName(): string {
    return this.#incarnation?.stored ?? this.#table;
  }

  get #scope(): Scope {
    const { start, end, columns, acknowledgments } = this.#options;
    return { stored: this.#storedName, start, end, columns, acknowledgments };
  }

  /** Goes on trying while nothing answers, but not for long (P79). */
  async #try<T>(read: () => Promise<T>): Promise<T> {
    const { clock, options, closing } = this.#context;
    const beganMs = clock.monotonicMs();
    for (let attempt = 1; ; attempt++) {
      try {
        return await read();
      } catch (error) {
        if (isTableNotFound(error)) throw await this.#explain(error);
        const isPassing = isRetryable(error) && !hasCode(error, 'STALE_SNAPSHOT');
        if (!isPassing || clock.monotonicMs() - beganMs >= options.unansweredMsMax) throw error;
        await closing.sleep(clock, backoffMs(this.#context, attempt));
      }
    }
  }

  /** What if the process stops here for an hour? The horizon tells, after the rows were read. */
  async #look(): Promise<Sight> {
    const { oracle, closing } = this.#context;
    closing.refuseNew();
    const after = this.#place;
    await this.#holdAt(after.timestamp);
    const now = await oracle.next();
    const { horizon } = oracle; // Persisted before `now` was handed out, or since.
    const upTo = Math.min(now, this.#to ?? now);
    const { bytesMax = BYTES_MAX } = this.#options;
    const search = { after, upTo, locksFrom: this.#locksFrom, bytesMax };
    const sight = await look(this.#context, this.#scope, search);
    await this.#refuseCollected();
    if (this.#isWhole) this.#locksFrom = Math.min(horizon, sight.settledBelow);
    return sight;
  }

  /** What was committed before the table was created is not missing. @throws STALE_SNAPSHOT */
  async #refuseCollected(): Promise<void> {
    const { timestamp } = this.#place;
    const oldest = Math.max(timestamp, this.#incarnation?.createdAt ?? 0);
    const horizon = await this.#context.oracle.readHorizon();
    if (horizon <= oldest) return;
    const message = `changes of table ${this.#table} since ${timestamp} may have been collected, below the horizon ${horizon}: ${ANEW}`;
    throw new PercolatorError('STALE_SNAPSHOT', message);
  }

  /** The new hold comes before the old one goes, so that the bound of the lease never passes it. */
  async #holdAt(timestamp: Timestamp): Promise<void> {
    const hold = await this.#context.leases.pin(timestamp);
    this.#hold?.release();
    this.#hold = hold;
  }

  async #explain(error: unknown): Promise<unknown> {
    try {
      const { stored } = await findTable(this.#context, this.#table);
      return stored === this.#storedName ? error : createdAgain(this.#table);
    } catch (better) {
      return better;
    }
  }

  async #changeOf(found: FoundChange): Promise<Change> {
    const { row, column, value, record } = found;
    const { commitTimestamp, startTimestamp } = record;
    const isWanted = this.#options.before === true;
    const before = isWanted ? await this.#try(() => this.#valueBefore(found)) : undefined;
    const cursor = this.#cursorAt(placeAfter(found));
    this.#hasNews = true;
    const change = { kind: 'change', table: this.#table, row, column, value } as const;
    return {
      ...change,
      ...(isWanted ? { before } : {}),
      commitTimestamp,
      startTimestamp,
      cursor,
    };
  }

  async #valueBefore(found: FoundChange): Promise<Uint8Array | undefined> {
    const value = await valueBefore(this.#context, this.#scope, found);
    await this.#refuseCollected(); // Since the look: the hold may have lapsed.
    return value;
  }

  #resolved(): Resolved {
    this.#hasNews = false;
    this.#resolvedAtMs = this.#context.clock.monotonicMs();
    const { timestamp } = this.#place;
    const cursor = this.#cursorAt(this.#place);
    return { kind: 'resolved', table: this.#table, timestamp, cursor };
  }

  #cursorAt(place: Place): string {
    const database = this.#context.identity?.name ?? '';
    const stored = this.#storedName;
    const locksFrom = this.#locksFrom;
    return encodeCursor({ database, table: this.#table, stored, place, locksFrom });
  }
}

const ANEW = 'read a snapshot of it, and the changes from its timestamp on';

function createdAgain(table: string): PercolatorError {
  const message = `table ${table} was dropped, and created again: ${ANEW}`;
  return new PercolatorError('STALE_SNAPSHOT', message);
}
