/**
 * The store as seen by a process that does not own it, until it does.
 *
 *     request ─▶ waiting ─▶ sent to the owner ─▶ answered
 *                   ▲            │ the owner ends or dies
 *                   └────────────┤ sent again, in the same order, except
 *                                └ conditional mutations: STORE_IN_DOUBT, they may be applied (P12)
 *
 * When the owner is gone, the next request of each process competes for the folder's lock. The
 * winner opens the store, serves the others, and needs no socket for itself any more.
 *
 * An owner that is stopped keeps the lock: no other process can know that it will not go on. So
 * each request has a deadline, after which the owner does not take it either (service.ts).
 */
import { PercolatorError, systemClock } from '../../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ChangeListener,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RangeRead,
  TableSchema,
} from '../../bigtable.ts';
import { anotherStore, codeOf, reasonOf } from '../disk.ts';
import { Listeners } from '../listeners.ts';

import { Connection } from './connection.ts';
import {
  type Answer,
  type Frame,
  type Method,
  MUTATIONS,
  PROTOCOL,
  receivedError,
} from './messages.ts';

/** How often the deadlines are looked at. */
const LOOK_MS = 250;
/** How often an owner is looked for. */
const RETRY_MS = 5;
/** How long an owner may take to greet, even after `attachMs`, if this process was stopped. */
const GREETING_MS_MIN = 250;

/** Requests that find their own effect when they are sent twice (P12). */
const CONDITIONAL: ReadonlySet<Method> = new Set(['checkAndMutateRow', 'checkAndMutateRows']);

export interface ClientSettings {
  readonly manifest: Manifest;
  readonly fsync: boolean;
  readonly readOnly: boolean;
  readonly attachMs: number;
  readonly requestMs: number;
  /** Where the owner listens. */
  readonly socketPath: () => string;
  /**
   * Opens and serves the store, which must be that of the number if one is given; undefined if
   * another process has the folder's lock. Absent: this process may not own it.
   */
  readonly own: ((store: number | undefined) => Promise<Bigtable | undefined>) | undefined;
  /** In milliseconds, from any moment; never goes back. Default: the system's. */
  readonly nowMs?: (() => number) | undefined;
  /** The error if this process can neither reach an owner nor become the owner. */
  readonly refusal: (reason: string, cause?: unknown) => PercolatorError;
}

interface Waiting {
  readonly id: number;
  readonly method: Method;
  readonly given: unknown[];
  /** The deadline of a read moves on while the owner reports that it works. */
  deadlineMs: number;
  readonly answered: PromiseWithResolvers<unknown>;
  isSent: boolean;
  /** Whether it was sent to an owner that may have taken it, and will not answer any more. */
  wasLost: boolean;
}

const OWNER_GONE = 'the process that owns it has ended';
const NO_OWNER = 'no process that owns it answers, and this one may not own it';
const LOCKED_BY_SILENT = 'it is in use by another process, which does not answer';
const TOO_LARGE = 'the requests of one moment are too large to be sent together';
const OWNER_SILENT =
  'the process that owns it, or the one that is to own it next, is stopped or busy';

export class Client implements Bigtable {
  readonly manifest: Manifest;
  readonly #settings: ClientSettings;
  readonly #nowMs: () => number;
  readonly #listeners = new Listeners();
  /** In the order in which the callers asked. */
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;
  /** The deadline of the requests of this turn of the event loop, if there were any. */
  #turnDeadlineMs: number | undefined;
  #connection: Connection | undefined;
  /** Defined once this process owns the store. */
  #owned: Bigtable | undefined;
  #attaching: Promise<void> | undefined;
  /** The number of the store, once it is known: another one in its place has other data. */
  #store: number | undefined;
  #isWatching = false;
  #closed: Promise<void> | undefined;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#nowMs = settings.nowMs ?? (() => systemClock.monotonicMs());
    this.manifest = settings.manifest;
  }

  readRow(table: string, row: string, filters: readonly CellFilter[]): Promise<Row | undefined> {
    return this.#ask('readRow', table, row, filters);
  }

  readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    return this.#ask('readRows', table, rows, filters);
  }

  readRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    const limit = Math.min(range.limit, Number.MAX_SAFE_INTEGER); // JSON has no Infinity.
    return this.#ask('readRange', table, { ...range, limit }, filters);
  }

  checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    return this.#ask('checkAndMutateRow', conditional);
  }

  async checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    try {
      return await this.#ask('checkAndMutateRows', conditionals);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      return conditionals.map(() => failure);
    }
  }

  mutateRows(rows: readonly RowMutation[]): Promise<void> {
    return this.#ask('mutateRows', rows);
  }

  sampleRowKeys(table: string): Promise<readonly string[]> {
    return this.#ask('sampleRowKeys', table);
  }

  createTable(table: string, schema: TableSchema): Promise<void> {
    return this.#ask('createTable', table, schema);
  }

  listTables(): Promise<readonly string[]> {
    return this.#ask('listTables');
  }

  dropTable(table: string): Promise<void> {
    return this.#ask('dropTable', table);
  }

  fence(): Promise<void> {
    return this.#ask('fence');
  }

  readonly onChange = (listener: ChangeListener): (() => void) => {
    const end = this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#connection?.listen();
    return end;
  };

  /** Resolves when there is an owner: another process, or this one. @throws STORE_UNAVAILABLE */
  attach(): Promise<void> {
    this.#attaching ??= this.#lookForOwner().finally(() => {
      this.#attaching = undefined;
    });
    return this.#attaching;
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    while (this.#waiting.size > 0) {
      await Promise.allSettled([...this.#waiting.values()].map(({ answered }) => answered.promise));
    }
    await this.#attaching?.catch(() => undefined);
    this.#connection?.end();
    this.#connection?.setIdle(true); // A stopped owner would never let this process end.
    await this.#owned?.close();
  }

  async #ask<T>(method: Method, ...given: unknown[]): Promise<T> {
    if (this.#closed !== undefined) {
      throw new PercolatorError('STORE_CLOSED', 'the embedded store was closed');
    }
    if (this.#settings.readOnly && MUTATIONS.has(method)) {
      throw new PercolatorError('READ_ONLY', 'the embedded store was opened for reading only');
    }
    if (this.#owned !== undefined) return (await callOf(this.#owned, method, given)) as T;
    const waiting: Waiting = {
      id: this.#nextId++,
      method,
      given,
      deadlineMs: this.#deadlineMs(),
      answered: Promise.withResolvers(),
      isSent: false,
      wasLost: false,
    };
    this.#waiting.set(waiting.id, waiting);
    this.#send(waiting);
    void this.#watchDeadlines();
    return (await waiting.answered.promise) as T;
  }

  /**
   * One deadline for all requests of a turn: if it were later for a commit than for the marks sent
   * before it, an owner could find the marks late, and take the commit (P61).
   */
  #deadlineMs(): number {
    if (this.#turnDeadlineMs === undefined) {
      this.#turnDeadlineMs = this.#nowMs() + this.#settings.requestMs;
      void systemClock.yield().then(() => (this.#turnDeadlineMs = undefined));
    }
    return this.#turnDeadlineMs;
  }

  #send(waiting: Waiting): void {
    const { id, method, given, deadlineMs } = waiting;
    if (this.#owned !== undefined) {
      const call = callOf(this.#owned, method, given);
      call.then(
        (answer) => this.#settle(waiting).resolve(answer),
        (error: unknown) => this.#reject(waiting, error as Error),
      );
      waiting.isSent = true;
    } else if (this.#connection === undefined) {
      this.#attachOrRefuse();
    } else if (this.#connection.isEnding) {
      // The next owner gets it; until then the process must not end.
      this.#connection.setIdle(false);
    } else {
      try {
        this.#connection.setIdle(false);
        this.#connection.send([id, method, deadlineMs, given]);
        waiting.isSent = true;
      } catch (error) {
        this.#settle(waiting).reject(error);
      }
    }
  }

  /** Forgets the request. Returns what its caller waits for, which nothing else will settle. */
  #settle({ id, answered }: Waiting): PromiseWithResolvers<unknown> {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#connection?.setIdle(true);
    return answered;
  }

  #receive(answer: Answer, frame: Frame): void {
    const [id, value, error] = answer;
    if (id === 'changed') this.#listeners.tell(value === null ? undefined : new Set(value));
    if (id === 'working' && this.#closed === undefined) this.#waitForReads();
    if (typeof id === 'string') return;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return; // Its deadline has passed.
    if (error === null) {
      // Not taken: the next owner gets it.
      waiting.isSent = false;
    } else if (error === 'fenced') {
      waiting.isSent = false;
      this.#send(waiting);
    } else if (error === 'late') {
      // On the owner's clock as we knew it; the connection knows it better now.
      waiting.isSent = false;
      if (this.#nowMs() > waiting.deadlineMs) this.#refuse(waiting, OWNER_SILENT);
      else this.#send(waiting);
    } else if (error === undefined) {
      // Before `#settle` forgets the request: if this throws, the request goes to the next owner.
      const received = frame.answer(waiting.method, value);
      this.#settle(waiting).resolve(received);
    } else {
      this.#reject(waiting, receivedError(error));
    }
  }

  /**
   * A late mutation could do harm (P62), a late read cannot. While this store is being closed, the
   * deadlines of reads stay, too, so that closing ends.
   */
  #waitForReads(): void {
    const deadlineMs = this.#nowMs() + this.#settings.requestMs;
    for (const waiting of this.#waiting.values()) {
      if (!MUTATIONS.has(waiting.method)) waiting.deadlineMs = deadlineMs;
    }
  }

  /** Sent again, they would be too large again. All requests of a turn fail together (P61). */
  #refuseUnsent(ids: readonly number[], error: unknown): void {
    for (const id of ids) {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) continue; // Its deadline has passed.
      waiting.isSent = false;
      this.#refuse(waiting, TOO_LARGE, error);
    }
  }

  #lost(): void {
    this.#connection = undefined;
    for (const waiting of this.#waiting.values()) {
      if (!waiting.isSent) continue;
      waiting.isSent = false;
      waiting.wasLost = true;
      if (CONDITIONAL.has(waiting.method)) this.#refuse(waiting, OWNER_GONE);
    }
    this.#listeners.tell(); // The owner may not have told its last changes.
    if (this.#waiting.size > 0) this.#attachOrRefuse();
  }

  #attachOrRefuse(): void {
    this.attach().catch((error: unknown) => {
      for (const waiting of this.#waiting.values()) {
        if (!waiting.isSent) this.#refuse(waiting, reasonOf(error), error);
      }
    });
  }

  async #lookForOwner(): Promise<void> {
    const { own, refusal } = this.#settings;
    const untilMs = this.#nowMs() + this.#settings.attachMs;
    while (this.#connection === undefined && this.#owned === undefined) {
      this.#owned = await own?.(this.#store);
      if (this.#owned === undefined) this.#connection = await this.#connect(untilMs);
      else this.#owned.onChange?.((tables) => this.#listeners.tell(tables));
      if (this.#connection !== undefined || this.#owned !== undefined) break;
      if (this.#nowMs() > untilMs) {
        throw refusal(own === undefined ? NO_OWNER : LOCKED_BY_SILENT);
      }
      await systemClock.sleep(RETRY_MS);
    }
    this.#refuseOverdue(); // This process may have been stopped for an hour (P62).
    for (const waiting of this.#waiting.values()) if (!waiting.isSent) this.#send(waiting);
  }

  async #connect(untilMs: number): Promise<Connection | undefined> {
    const { socketPath, refusal, fsync, readOnly } = this.#settings;
    const leftMs = Math.max(GREETING_MS_MIN, untilMs - this.#nowMs());
    let isRefused = false;
    const events = {
      onAnswer: (answer: Answer, frame: Frame): void => {
        if (!isRefused) this.#receive(answer, frame);
      },
      onUnsent: (ids: readonly number[], error: unknown): void => this.#refuseUnsent(ids, error),
      // A refused connection may end when the next one is in use.
      onLost: (): void => {
        if (!isRefused) this.#lost();
      },
    };
    const connection = await Connection.open(socketPath(), leftMs, events, this.#nowMs);
    if (connection === undefined) return undefined;
    const { greeting } = connection;
    const isDifferent = greeting.protocol !== PROTOCOL;
    const isAnother = greeting.store !== (this.#store ?? greeting.store);
    if (!isDifferent && !isAnother && (readOnly || greeting.fsync === fsync)) {
      this.#store = greeting.store;
      connection.setIdle(true);
      if (this.#listeners.size > 0) connection.listen();
      return connection;
    }
    isRefused = true;
    connection.end();
    if (isAnother && !isDifferent) throw refusal(reasonOf(anotherStore()), anotherStore());
    const reason = isDifferent
      ? `process ${greeting.process} uses it with another version of this library: use one version`
      : `process ${greeting.process} uses it with fsync ${greeting.fsync}, and this one with ${fsync}: all must use the same`;
    throw refusal(reason, new PercolatorError('STORE_REFUSED', reason));
  }

  /** The last owner's error does not tell what an earlier owner has done. */
  #reject(waiting: Waiting, error: Error): void {
    const isInDoubt = waiting.wasLost && MUTATIONS.has(waiting.method);
    if (isInDoubt) this.#refuse(waiting, error.message, error);
    else this.#settle(waiting).reject(error);
  }

  /** In doubt if the request is a mutation that was sent: an owner may have applied it. */
  #refuse(waiting: Waiting, reason: string, cause?: unknown): void {
    const isInDoubt = (waiting.isSent || waiting.wasLost) && MUTATIONS.has(waiting.method);
    const message = `the embedded store did not answer (${reason}); ${
      isInDoubt ? 'whether the mutation was applied is not known' : 'nothing was applied'
    }`;
    const code = isInDoubt ? 'STORE_IN_DOUBT' : codeOf(cause);
    this.#settle(waiting).reject(new PercolatorError(code, message, { cause }));
  }

  async #watchDeadlines(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (this.#waiting.size > 0) {
      await systemClock.sleep(LOOK_MS, undefined, { background: true });
      this.#refuseOverdue();
    }
    this.#isWatching = false;
  }

  #refuseOverdue(): void {
    const nowMs = this.#nowMs();
    for (const waiting of this.#waiting.values()) {
      if (nowMs > waiting.deadlineMs) this.#refuse(waiting, OWNER_SILENT);
    }
  }
}

function callOf(store: Bigtable, method: Method, given: readonly unknown[]): Promise<unknown> {
  const call = store[method] as (...given: readonly unknown[]) => Promise<unknown>;
  return call.apply(store, [...given]);
}
