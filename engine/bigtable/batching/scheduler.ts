/**
 * When batches are sent.
 *
 *     caller ──▶ queue of its key ──┐  full, or waited for `delayMs`,
 *     caller ──▶ queue of its key ──┴─▶ or nothing in flight ──────▶ one RPC ──▶ an answer for each
 *
 * The rule "nothing in flight" keeps an idle system fast: once everything runnable has run, and no
 * answer is in flight that could make a caller runnable, waiting longer brings no company. Under
 * load there is always something in flight, and the delay gathers batches.
 *
 * The limit of RPCs in flight (`inFlightMax`) is per lane, so that no lane waits for another's
 * RPCs: a commit does not wait for clean-up. A caller is served only by an RPC sent after it
 * called, as promise 2 of the contract (bigtable.ts) demands.
 */
import type { Clock } from '../../base/index.ts';
import { checkOptions, COUNT, FUNCTION, type OptionRules, POSITIVE } from '../../base/options.ts';
import type { RowMutation } from '../bigtable.ts';

/** How requests of one kind are counted and sent. Those of one `key` share RPCs. */
export interface Kind<R, T> {
  readonly lane: LaneName;
  rowsOf(request: R): number;
  /**
   * Sends all requests now, in one RPC; resolves with an outcome for each, in their order. Never
   * rejects.
   */
  send(requests: readonly R[]): Promise<readonly PromiseSettledResult<T>[]>;
}

interface Line {
  readonly kind: Kind<unknown, unknown>;
  readonly queue: Queue;
}

type Reason = 'bySize' | 'byDelay' | 'byQuiet';

export class Scheduler {
  readonly #clock: Clock;
  readonly #settings: BatchingSettings;
  readonly #counters: BatchingCounters;
  /** By key: requests of one line can share an RPC. A line is removed when it has no requests. */
  readonly #lines = new Map<string, Line>();
  /** RPCs without an answer per lane; the total also counts calls that bypass the queues. */
  readonly #inFlight: Record<LaneName, number> = { reads: 0, conditionals: 0, urgent: 0, bulk: 0 };
  #inFlightTotal = 0;
  #isPumping = false;
  #isDraining = false;
  /** Makes a waiting pump check again. */
  #wake: () => void = () => {};
  /** When the sleep for the line that is due first will end; Infinity if none is known. */
  #alarmMs = Infinity;
  #onIdle: () => void = () => {};

  constructor(clock: Clock, settings: BatchingSettings, counters: BatchingCounters) {
    this.#clock = clock;
    this.#settings = settings;
    this.#counters = counters;
  }

  /**
   * Resolves with the request's own part of an RPC that is sent after this call. Requests of one
   * `key` share RPCs.
   * @param options.goesFirst whether it overtakes the normal requests of its key
   */
  submit<R, T>(
    kind: Kind<R, T>,
    request: R,
    { key, goesFirst = false }: { readonly key: string; readonly goesFirst?: boolean },
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { queue } = this.#lineOf(key, kind);
      const rows = kind.rowsOf(request);
      const sinceMs = this.#clock.monotonicMs();
      queue.add({ request, rows, sinceMs, resolve, reject }, goesFirst);
      if (!this.#isPumping) void this.#pump();
      else if (queue.length === 1 || queue.rows >= this.#settings.rowsMax) this.#wake();
    });
  }

  /** Calls the storage at once, past all queues; the pump knows that an answer is in flight. */
  async pass<T>(call: () => Promise<T>): Promise<T> {
    this.#inFlightTotal++;
    try {
      return await call();
    } finally {
      this.#inFlightTotal--;
      this.#settled();
    }
  }

  /**
   * Sends all waiting requests without waiting for company; resolves when all have been answered.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#wake();
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    this.#settled();
    await idle.promise;
  }

  #lineOf(key: string, kind: Kind<unknown, unknown>): Line {
    const existing = this.#lines.get(key);
    if (existing !== undefined) return existing;
    const line = { kind, queue: new Queue() };
    this.#lines.set(key, line);
    return line;
  }

  /** Runs while any request waits. */
  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#lines.size > 0) {
      await this.#clock.yield(); // Callers that can run now may bring company.
      this.#sendWhatIsDue();
      if (this.#lines.size > 0) await this.#untilSomethingChanges();
    }
    this.#isPumping = false;
  }

  #sendWhatIsDue(): void {
    const isQuiet = this.#inFlightTotal === 0;
    const nowMs = this.#clock.monotonicMs();
    for (const [key, line] of this.#lines) {
      const reason = this.#reasonToSend(line, { isQuiet, nowMs });
      if (reason === undefined) continue;
      this.#send(line, { reason, nowMs });
      this.#lines.delete(key);
      // The rest goes to the end, and is checked again after all other lines.
      if (line.queue.length > 0) this.#lines.set(key, line);
    }
  }

  #reasonToSend(
    { kind, queue }: Line,
    { isQuiet, nowMs }: { readonly isQuiet: boolean; readonly nowMs: number },
  ): Reason | undefined {
    const { inFlightMax, rowsMax, delayMs } = this.#settings;
    if (this.#inFlight[kind.lane] >= inFlightMax) return undefined;
    if (queue.rows >= rowsMax) return 'bySize';
    if (isQuiet || this.#isDraining) return 'byQuiet';
    return nowMs >= queue.oldestMs + delayMs ? 'byDelay' : undefined;
  }

  #send(
    { kind, queue }: Line,
    { reason, nowMs }: { readonly reason: Reason; readonly nowMs: number },
  ): void {
    const batch = queue.take(this.#settings.rowsMax);
    const counters = this.#counters[kind.lane];
    counters[reason]++;
    for (const { rows, sinceMs } of batch) {
      counters.operations++;
      counters.rows += rows;
      counters.waitedMs += nowMs - sinceMs;
    }
    void this.#deliver(kind, batch);
  }

  async #deliver(kind: Kind<unknown, unknown>, batch: readonly WaitingRequest[]): Promise<void> {
    this.#inFlight[kind.lane]++;
    this.#inFlightTotal++;
    const outcomes = await kind.send(batch.map(({ request }) => request));
    this.#inFlight[kind.lane]--;
    this.#inFlightTotal--;
    batch.forEach(({ resolve, reject }, i) => {
      const outcome = outcomes[i];
      if (outcome?.status === 'fulfilled') resolve(outcome.value as never);
      else reject(outcome?.reason);
    });
    this.#settled();
  }

  /** An answer has come: a lane has room again, or nothing is left in flight. */
  #settled(): void {
    this.#wake();
    if (this.#inFlightTotal === 0 && this.#lines.size === 0) this.#onIdle();
  }

  /** Waits until the pump is woken, or until the next line has waited long enough. */
  async #untilSomethingChanges(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const dueMs = this.#nextDueMs();
    if (dueMs < this.#alarmMs) void this.#wakeAt(dueMs);
    await woken.promise;
  }

  /** Sleeps to the end, even if the pump is woken earlier: ending a sleep early costs more. */
  async #wakeAt(dueMs: number): Promise<void> {
    this.#alarmMs = dueMs;
    const leftMs = Math.max(0, dueMs - this.#clock.monotonicMs());
    await this.#clock.sleep(leftMs);
    if (this.#alarmMs === dueMs) this.#alarmMs = Infinity;
    this.#wake();
  }

  /** Considers lines whose lane has room; for the others time changes nothing. */
  #nextDueMs(): number {
    let dueMs = Infinity;
    for (const { kind, queue } of this.#lines.values()) {
      if (this.#inFlight[kind.lane] >= this.#settings.inFlightMax) continue;
      dueMs = Math.min(dueMs, queue.oldestMs + this.#settings.delayMs);
    }
    return dueMs;
  }
}

/*
 * Requests that wait to share an RPC: first the priority requests (`goesFirst`), then the normal
 * ones, each oldest first.
 *
 * A batch begins with the oldest normal request if that has waited longer than all priority
 * requests, so that an endless stream of these cannot starve the normal ones.
 */

interface WaitingRequest<R = unknown> {
  readonly request: R;
  readonly rows: number;
  readonly sinceMs: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export class Queue<R = unknown> {
  readonly #first = new Fifo<WaitingRequest<R>>();
  readonly #others = new Fifo<WaitingRequest<R>>();
  /** Rows of all waiting requests. */
  #rows = 0;

  get length(): number {
    return this.#first.length + this.#others.length;
  }

  get rows(): number {
    return this.#rows;
  }

  /** When the oldest waiting request was added. */
  get oldestMs(): number {
    return Math.min(
      this.#first.at(0)?.sinceMs ?? Infinity,
      this.#others.at(0)?.sinceMs ?? Infinity,
    );
  }

  add(waiting: WaitingRequest<R>, goesFirst: boolean): void {
    (goesFirst ? this.#first : this.#others).push(waiting);
    this.#rows += waiting.rows;
  }

  /** Takes requests that have at most `rowsMax` rows together, but at least one request. */
  take(rowsMax: number): readonly WaitingRequest<R>[] {
    const taken: WaitingRequest<R>[] = [];
    let rows = 0;
    let [first, others] = [0, 0];
    for (let isFirst = !this.#isOthersTurn(); ; isFirst = first < this.#first.length) {
      const waiting = isFirst ? this.#first.at(first) : this.#others.at(others);
      if (waiting === undefined || (taken.length > 0 && rows + waiting.rows > rowsMax)) break;
      taken.push(waiting);
      rows += waiting.rows;
      if (isFirst) first++;
      else others++;
    }
    this.#first.drop(first);
    this.#others.drop(others);
    this.#rows -= rows;
    return taken;
  }

  /** Whether the oldest request is a normal one. */
  #isOthersTurn(): boolean {
    const [first, other] = [this.#first.at(0), this.#others.at(0)];
    return first === undefined || (other !== undefined && other.sinceMs < first.sinceMs);
  }
}

/**
 * First in, first out. `Array.shift` moves all other elements of a large array, and a large
 * transaction has many requests: to send them would take time that grows with the square.
 */
class Fifo<T> {
  readonly #items: T[] = [];
  /** Where the first one is; those before it have left. */
  #start = 0;

  get length(): number {
    return this.#items.length - this.#start;
  }

  at(index: number): T | undefined {
    return this.#items[this.#start + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes the first ones. */
  drop(count: number): void {
    this.#start += count;
    if (2 * this.#start < this.#items.length) return;
    this.#items.splice(0, this.#start);
    this.#start = 0;
  }
}

/* The options of batching: unit, default and the cost of a wrong value; validated in one place. */

export interface BatchingOptions {
  /**
   * Milliseconds that an operation waits for company while others are in flight. Default 1; 0 waits
   * only for work that is already runnable. Too small: batches of one. Too large: that much latency
   * for each step of a transaction, whose locks are held as long. The paper's delay was seconds.
   */
  readonly delayMs?: number | undefined;
  /**
   * Rows at which a batch stops waiting, and the maximum in one RPC, unless a single caller brings
   * more. Default 256. Too small: more RPCs. Too large: the first row of an answer waits for the
   * last.
   */
  readonly rowsMax?: number | undefined;
  /**
   * Batches in flight at a time in each lane: reads, conditional mutations, urgent and other blind
   * mutations. Default 8. Too small: the storage idles between two batches. Too large: batches stay
   * small. Conditional mutations are not limited where the storage cannot take many in one RPC. If
   * the storage refuses a batch of reads or of blind mutations, its requests are sent again, each
   * alone, all at the same time.
   */
  readonly inFlightMax?: number | undefined;
  /**
   * Selects blind mutations that a caller's commit may wait for. They have a lane of their own, so
   * that they never wait because other blind mutations have reached `inFlightMax`. Default: none.
   */
  readonly isUrgent?: ((row: RowMutation) => boolean) | undefined;
}

/** The options with their defaults. */
export type BatchingSettings = {
  readonly [K in keyof BatchingOptions]-?: NonNullable<BatchingOptions[K]>;
};

const KINDS: OptionRules<BatchingOptions> = {
  delayMs: {
    expected: 'a number of at least 0',
    accepts: (value) => value === 0 || POSITIVE.accepts(value),
  },
  rowsMax: COUNT,
  inFlightMax: COUNT,
  isUrgent: FUNCTION,
};

/** @throws INVALID_ARGUMENT naming the wrong option */
export function settingsOf(options: BatchingOptions): BatchingSettings {
  checkOptions('batching', options, KINDS);
  const { delayMs = 1, rowsMax = 256, inFlightMax = 8, isUrgent = () => false } = options;
  return { delayMs, rowsMax, inFlightMax, isUrgent };
}

/* The effect of batching: counts for each lane since the store was wrapped. */

/**
 * Each count grows when a batch is sent. `operations`, `rows`, `rowsSent` and `rpcs` also grow when
 * a conditional mutation is passed on without waiting, `rowsSent` and `rpcs` when a part of a batch
 * is sent again.
 */
export interface LaneCounters {
  /**
   * Calls of callers: one read, one conditional mutation, one caller's blind mutations of one
   * table.
   */
  operations: number;
  /**
   * Rows that the callers named, and rows that were sent: one that several callers read is sent
   * once.
   */
  rows: number;
  rowsSent: number;
  /** Calls of the storage. */
  rpcs: number;
  /** Total time that operations waited for company, in milliseconds. */
  waitedMs: number;
  /**
   * Why batches were sent: full; waited long enough; or nothing in flight that could bring company,
   * or the store is being closed.
   */
  bySize: number;
  byDelay: number;
  byQuiet: number;
}

export interface BatchingCounters {
  readonly reads: LaneCounters;
  readonly conditionals: LaneCounters;
  /** Blind mutations: those that a commit may wait for, and all others. */
  readonly urgent: LaneCounters;
  readonly bulk: LaneCounters;
  /**
   * Rows that were read again for one caller, because a version that it wanted may have been
   * hidden.
   */
  readAgain: number;
}

type LaneName = 'reads' | 'conditionals' | 'urgent' | 'bulk';

export function noCounts(): BatchingCounters {
  return {
    reads: noLaneCounts(),
    conditionals: noLaneCounts(),
    urgent: noLaneCounts(),
    bulk: noLaneCounts(),
    readAgain: 0,
  };
}

function noLaneCounts(): LaneCounters {
  return {
    operations: 0,
    rows: 0,
    rowsSent: 0,
    rpcs: 0,
    waitedMs: 0,
    bySize: 0,
    byDelay: 0,
    byQuiet: 0,
  };
}
