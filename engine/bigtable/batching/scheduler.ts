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
import type { BatchingCounters, LaneName } from './counters.ts';
import type { BatchingSettings } from './options.ts';
import { Queue, type Waiting } from './queue.ts';

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
   * @param options.goesFirst whether it overtakes the normal requests of its key (queue.ts)
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

  async #deliver(kind: Kind<unknown, unknown>, batch: readonly Waiting[]): Promise<void> {
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
