/**
 * The outcomes of the transactions that ended in the measured interval, by type.
 *
 * Response times count from the moment at which a transaction should have begun, so they include
 * waiting for a busy system. A timer may end a millisecond or two early: then they count from the
 * moment at which the transaction did begin, so nothing that the system takes is left out.
 * Transactions that end before or after the interval are not measured, but a failure counts at any
 * time: numbers are worthless if a transaction was lost.
 */
import { assert, type Clock } from '#engine';
import { live, LiveTimes } from '#harness';
import { createLatencyHistogram, type Histogram } from '#results';
import {
  type Brokerage,
  type Inputs,
  type Results,
  TRANSACTIONS,
  type TransactionType,
} from '../transactions/index.ts';

export interface TypeRecord {
  /** Includes intended roll-backs. */
  ended: number;
  rolledBack: number;
  /** Attempts that lost to another transaction and were run again. */
  conflicts: number;
  /** Transactions that met one or more conflicts. */
  retried: number;
  /** Failures at any time. */
  failed: number;
  /** In microseconds. */
  readonly histogram: Histogram;
}

export type TransactionRecords = Readonly<Record<TransactionType, TypeRecord>>;

/** Times of the clock. */
export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Recorder {
  readonly #clock: Clock;
  readonly #brokerage: Brokerage;
  #interval: Interval = { fromMs: 0, toMs: 0 };
  #records: TransactionRecords = emptyRecords();
  /** Since the beginning. */
  #firstFailure: string | null = null;
  #tradeResults = 0;
  /** For the page of a run that is watched. */
  #ended = 0;
  #conflicts = 0;
  readonly #times = new LiveTimes();

  constructor(clock: Clock, brokerage: Brokerage) {
    this.#clock = clock;
    this.#brokerage = brokerage;
    live.show([
      { panel: 'throughput', series: 'transactions', rate: () => this.#ended },
      { panel: 'throughput', series: 'Trade-Results', rate: () => this.#tradeResults },
      { panel: 'latency', series: 'transactions', times: this.#times },
      { panel: 'conflicts', series: 'attempts that lost', rate: () => this.#conflicts },
    ]);
  }

  get records(): TransactionRecords {
    return this.#records;
  }

  get firstFailure(): string | null {
    return this.#firstFailure;
  }

  /** Trade-Results that the brokerage has acknowledged since the beginning. */
  get tradeResults(): number {
    return this.#tradeResults;
  }

  /** Starts a new measurement, and forgets the last one. */
  measure(interval: Interval): void {
    this.#interval = interval;
    this.#records = emptyRecords();
  }

  /** Resolves to null if the transaction has failed. */
  async execute<T extends TransactionType>(
    type: T,
    input: Inputs[T],
    dueMs: number,
  ): Promise<Results[T] | null> {
    const fromMs = Math.min(dueMs, this.#clock.monotonicMs());
    try {
      const { result, attempts } = await this.#brokerage.execute(type, input, fromMs);
      assert(attempts >= 1, 'a transaction that ended has run');
      if (type === 'tradeResult') this.#tradeResults++;
      this.#end(type, { attempts, fromMs, isRolledBack: isRolledBack(result) });
      return result;
    } catch (error) {
      this.#records[type].failed++;
      this.noteFailure(type, wordsOf(error));
      return null;
    }
  }

  noteFailure(type: TransactionType, words: string): void {
    this.#firstFailure ??= `${TRANSACTIONS[type].title}: ${words}`;
  }

  #end(
    type: TransactionType,
    ended: { readonly attempts: number; readonly fromMs: number; readonly isRolledBack: boolean },
  ): void {
    const nowMs = this.#clock.monotonicMs();
    const us = Math.round((nowMs - ended.fromMs) * 1_000);
    this.#ended++;
    this.#conflicts += ended.attempts - 1;
    if (live.isWatched) this.#times.record(us);
    if (nowMs < this.#interval.fromMs || nowMs >= this.#interval.toMs) return;
    const record = this.#records[type];
    record.ended++;
    record.conflicts += ended.attempts - 1;
    if (ended.attempts > 1) record.retried++;
    if (ended.isRolledBack) record.rolledBack++;
    record.histogram.recordValue(us);
  }
}

function emptyRecords(): TransactionRecords {
  const types = Object.keys(TRANSACTIONS) as readonly TransactionType[];
  const empty = (): TypeRecord => ({
    ended: 0,
    rolledBack: 0,
    conflicts: 0,
    retried: 0,
    failed: 0,
    histogram: createLatencyHistogram(),
  });
  return Object.fromEntries(types.map((type) => [type, empty()])) as TransactionRecords;
}

/** Only a Trade-Order can be rolled back. */
function isRolledBack(result: Results[TransactionType]): boolean {
  return 'outcome' in result && result.outcome !== 'committed';
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
