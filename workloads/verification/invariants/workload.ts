/**
 * A workload with an invariant: data and transactions that keep a sentence true, in every snapshot
 * or at rest, unless isolation, atomicity or durability is broken. After FoundationDB's workloads:
 * the load that runs under faults is simple, and what must hold afterwards fits in a sentence.
 *
 *     setup ─▶ many clients, each one step after another ─▶ check
 *                         ▲
 *                   watch, meanwhile, in any snapshot
 *
 * A workload causes no faults and starts no processes; its caller does:
 * workloads/verification/chaos kills real ones.
 */
import type { Observer, Random, Reader, TableDefinition, Transaction } from '#engine';

export interface Workload {
  readonly name: string;
  /** The invariant, for reports: one sentence. */
  readonly invariant: string;
  readonly tables: Readonly<Record<string, WorkloadTable>>;
  /** Writes the initial data, if there is any, in one transaction. */
  setup(work: Work): Promise<void>;
  /**
   * One step of one client: one transaction, or a few, one after the other; the loop around it is
   * the caller's.
   */
  step(client: WorkloadClient, random: Random): Promise<void>;
  readonly observers: readonly WorkloadObserver[];
  /** The violations in a snapshot, one sentence each. Must be cheap: it runs all the time. */
  watch(reader: Reader): Promise<readonly string[]>;
  /**
   * The violations when everything has come to rest: no client runs, and observers have nothing
   * left to do.
   */
  check(reader: Reader): Promise<readonly string[]>;
}

export interface WorkloadTable extends TableDefinition {
  /** All columns that are written. */
  readonly columns: readonly string[];
}

/** What a workload may do in a transaction: everything except ending it. */
export type Work = Pick<
  Transaction,
  'startTimestamp' | 'get' | 'getMany' | 'scan' | 'set' | 'delete' | 'lock' | 'notifyWeakly'
>;

export interface WorkloadObserver extends Omit<Observer, 'run'> {
  /** Whether its column is only ever notified weakly, so that every run of it is weak. */
  readonly weak: boolean;
  run(work: Work, row: string): Promise<void>;
}

/** How a workload's step reaches the database. */
export interface WorkloadClient {
  /** The name of one life of one process. */
  readonly process: string;
  /** Milliseconds on a clock that all processes share. */
  nowMs(): number;
  /**
   * One transaction, tried once: losing a conflict is an outcome, and the next step tries another.
   */
  attempt(body: (work: Work) => Promise<void>): Promise<void>;
}

/*
 * Values that name the transaction that wrote them. A number alone would repeat, and a stale read
 * of an equal value would look right; with the writer's start timestamp no two values of one cell
 * are equal.
 */

/** `998 @1234`: the number 998, written by the transaction of 1234. */
export function signed(number: number, work: Work): string {
  return `${number} @${work.startTimestamp}`;
}

/** The number of a signed value; 0 if there is no value. */
export function numberOf(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number.parseInt(Buffer.from(value).toString(), 10);
}
