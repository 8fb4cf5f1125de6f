/**
 * The umpire watches a run in progress, for rules that no history shows afterwards:
 *
 *   - a prewrite is refused only for a reason that the rules name (P6)
 *   - a client that was told how a transaction ended, in a run without faults, finds none of its
 *     locks (P7, P16)
 *   - a live transaction whose process keeps up its heartbeat is not rolled back by others (P24,
 *     P25)
 *   - a process knows that its own transactions have ended (P29)
 *   - observers rest after failures (P45), do not run twice for one cell at the same time (P48),
 *     and do not commit after their worker has reported that it has stopped (P50)
 *   - a weak notification is cleared only when each observer of the cell has begun a run that sees
 *     it (P41): a later run, for another reason, would hide the loss from a judge of the history
 *   - a transaction that locked its primary leaves a trace there of how it ended (P1, P8)
 *   - a collector begins to delete below a horizon only when that horizon has been persisted for as
 *     long as a message may be in flight (P4), or a fence was set since (P84)
 *   - no read is answered from a snapshot below the deletion horizon that a collector had announced
 *     when the read was served, even if the values are right (P31)
 */
import type {
  CellFilter,
  ConditionalRowMutation,
  Timestamp,
} from '../../../engine/bigtable/index.ts';
import {
  placeOf,
  columnOf,
  decodeLock,
  isOf,
  isPrimary,
  isSharedLock,
  LOCK,
  protectedBy,
  ROLLBACK,
  sharedLockColumn,
  WRITE,
} from '../../../engine/transaction/index.ts';
import { historicCell, type History, type Violation } from '../judges/history.ts';
import type { Knobs } from './knobs.ts';
import type { TableData } from '../world/table.ts';

interface Reading {
  /** Of each answer below the deletion horizon: the reads that it may be for and that are used. */
  readonly late: Set<Set<Reading>>;
}

/** Violations kept of each claim: one mistake in the engine causes many. */
const VIOLATIONS_MAX = 5;

/** A lock that was set. */
interface SetLock {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly startTimestamp: Timestamp;
  readonly value: Uint8Array;
}

/** What may go wrong in a run. */
export type UmpireKnobs = Pick<
  Knobs,
  | 'messages'
  | 'groups'
  | 'events'
  | 'hbase'
  | 'stopsAtWaits'
  | 'drift'
  | 'lockTimeToLiveMs'
  | 'delayMsMax'
>;

export class Umpire {
  readonly violations: Violation[] = [];
  /** Nothing goes wrong in this run. */
  readonly isCalm: boolean;
  /** At most databases are closed and opened again. */
  readonly isGentle: boolean;
  /** At most answers are slow and messages repeated: no process may be presumed dead. */
  readonly isPatient: boolean;
  /** All locks that were ever set, to check at the end. */
  readonly #locks: SetLock[] = [];

  /** Horizons in the order in which they were persisted, and when; each above the one before it. */
  readonly #horizons: { readonly horizon: Timestamp; readonly atMs: number }[] = [];
  /** How many of them were persisted before the last fence. */
  #fenced = 0;
  /** How long a collector waits at least, in virtual time, whatever its clock says. */
  readonly #waitMsMin: number;
  /** Collectors delete below it, or are about to. Only grows. */
  #deletionHorizon: Timestamp = 0;
  /** Reads in progress, by process and snapshot. */
  readonly #reading = new Map<string, Set<Reading>>();

  /** By cell, and by observer: the newest snapshot of a run. */
  readonly #seen = new Map<string, Map<string, Timestamp>>();

  /** @param messageLifetimeMs for which collectors wait; 0 if that is not judged */
  constructor(knobs: UmpireKnobs, messageLifetimeMs: number) {
    this.#waitMsMin = messageLifetimeMs / (1 + (knobs.drift ?? 0)) - 1;
    this.isCalm = isCalm(knobs);
    const { reopen: _, ...events } = knobs.events;
    this.isGentle = isCalm({ ...knobs, events });
    this.isPatient = isPatient(knobs);
  }

  /** Checks a conditional mutation that found an offending cell, before anything is changed. */
  refused(table: TableData, conditional: ConditionalRowMutation): void {
    const grounds = groundsOf(conditional);
    if (grounds.length === 0) return; // Not a prewrite.
    this.judgeRefusal(conditional, table.readRow(conditional.row, grounds) !== undefined);
  }

  /** @param isGrounded whether the row had a cell that is among the grounds of the refusal */
  judgeRefusal(conditional: ConditionalRowMutation, isGrounded: boolean): void {
    if (isGrounded) return;
    const where = `${conditional.table}/${conditional.row}`;
    this.find('conflicts: groundless', `a prewrite of ${where} was refused without a reason`);
  }

  /**
   * Notes that a lock was set.
   * @param isOver whether its transaction has committed in that cell before (P14)
   */
  locked(
    table: string,
    row: string,
    lock: { readonly qualifier: string; readonly timestamp: Timestamp; readonly value: Uint8Array },
    isOver = false,
  ): void {
    const { timestamp: startTimestamp, value } = lock;
    if (isOver) {
      const what = historicCell({ table, row, column: columnOf(lock) });
      this.find('locks: after their commit', `${what} is locked again by ${startTimestamp}`);
    }
    this.#locks.push({ table, row, column: columnOf(lock), startTimestamp, value });
  }

  /**
   * A client was told that its transaction committed; its second phase must end soon after (P16).
   */
  committed(startTimestamp: Timestamp, locksLeft: () => readonly string[]): void {
    if (!this.isCalm) return;
    const left = locksLeft().filter((lock) => lock.endsWith(`@${startTimestamp}`));
    if (left.length === 0) return;
    const message = `${left.join(', ')} is still there although its transaction has committed`;
    this.find('debris: lock left', message);
  }

  /**
   * A client was told that its transaction failed, with this code. Before its primary is locked,
   * nothing shows others that a process is alive (P25): it may be rolled back then (P2).
   */
  failed(startTimestamp: Timestamp, code: string, locksLeft: () => readonly string[]): void {
    if (this.isPatient && code === 'ROLLED_BACK' && this.#hadPrimary(startTimestamp)) {
      this.find(
        'liveness: rolled back while alive',
        `the transaction of ${startTimestamp} was rolled back although its process was alive`,
      );
    }
    if (!this.isCalm) return;
    const left = locksLeft().filter((lock) => lock.endsWith(`@${startTimestamp}`));
    if (left.length === 0) return;
    this.find(
      'debris: lock left',
      `${left.join(', ')} is still there although its transaction has failed`,
    );
  }

  /**
   * After a run: every cell that was locked as a primary has a rollback record of its transaction,
   * unless the transaction has committed or the table is gone.
   */
  judgeTraces({ records, rollbacks }: History, isThere: (table: string) => boolean): void {
    const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
    const traces = new Set(
      rollbacks.map(({ cell, startTimestamp }) => `${cell}@${startTimestamp}`),
    );
    for (const one of this.#locks) {
      const { table, row, column, startTimestamp } = one;
      if (committed.has(startTimestamp) || !isThere(table)) continue;
      const cell = historicCell({ table, row, column });
      if (traces.has(`${cell}@${startTimestamp}`)) continue;
      if (!isPrimaryLock(one)) continue;
      const what = `${cell} was the primary of ${startTimestamp}`;
      this.find('debris: no trace', `${what}, and does not show how it ended`);
    }
  }

  #hadPrimary(startTimestamp: Timestamp): boolean {
    return this.#locks.some((one) => one.startTimestamp === startTimestamp && isPrimaryLock(one));
  }

  /**
   * A collector has recorded its progress. It also does so before it deletes anything, with the
   * horizon below which it will.
   */
  collectorIsAt(progress: Uint8Array, nowMs: number): void {
    const { deletionHorizon, phase } = JSON.parse(new TextDecoder().decode(progress)) as {
      readonly deletionHorizon: Timestamp;
      readonly phase: string;
    };
    const found = this.#horizons.findIndex(({ horizon }) => horizon >= deletionHorizon);
    const waitedMs = nowMs - (this.#horizons[found]?.atMs ?? -Infinity);
    if (phase === 'resolving' && found >= this.#fenced && waitedMs < this.#waitMsMin) {
      const what = `a collector begins to delete below ${deletionHorizon}`;
      this.find('collector: too soon', `${what} ${waitedMs} ms after the horizon was persisted`);
    }
    this.#deletionHorizon = Math.max(this.#deletionHorizon, deletionHorizon);
  }

  /** A fence was set. */
  fenced(): void {
    this.#fenced = this.#horizons.length;
  }

  /** A horizon was persisted, or is there again. */
  horizonIsAt(horizon: Timestamp, nowMs: number): void {
    if (horizon <= (this.#horizons.at(-1)?.horizon ?? 0)) return;
    this.#horizons.push({ horizon, atMs: nowMs });
  }

  /**
   * The storage has answered a read for a snapshot; the process may still find out that the read
   * came too late.
   */
  served(process: string, snapshot: Timestamp): void {
    if (snapshot >= this.#deletionHorizon) return;
    const suspects = new Set(this.#reading.get(`${process} ${snapshot}`));
    for (const reading of suspects) reading.late.add(suspects);
  }

  /**
   * A process begins to read. Call what is returned at the end: whether it uses what it has read.
   * Several reads at one snapshot may be in progress, and a late answer may be for any of them: one
   * that fails explains it. If all of them are answered, one has used it.
   */
  asked(process: string, snapshot: Timestamp): (isUsed: boolean) => void {
    const key = `${process} ${snapshot}`;
    const reading: Reading = { late: new Set() };
    const all = this.#reading.get(key) ?? new Set();
    this.#reading.set(key, all.add(reading));
    return (isUsed) => {
      all.delete(reading);
      if (all.size === 0) this.#reading.delete(key);
      for (const suspects of reading.late) {
        if (!isLast(suspects, reading, isUsed)) continue;
        const what = `a read of ${process} at ${snapshot} was answered, although collectors had announced the deletion horizon`;
        this.find('leases: read below the deletions', `${what} ${this.#deletionHorizon} before`);
      }
    };
  }

  /** A run of an observer has begun. */
  ran(observer: string, cell: string, startTimestamp: Timestamp): void {
    const seen = this.#seen.get(cell) ?? new Map<string, Timestamp>();
    this.#seen.set(cell, seen);
    seen.set(observer, Math.max(seen.get(observer) ?? 0, startTimestamp));
  }

  /** A weak notification is about to be cleared by a process that observes its cell. */
  cleared(cell: string, timestamp: Timestamp, observers: readonly string[]): void {
    for (const observer of observers) {
      if ((this.#seen.get(cell)?.get(observer) ?? 0) >= timestamp) continue;
      const what = `the weak notification of ${cell} at ${timestamp} was cleared`;
      this.find(
        'observers: unseen notification cleared',
        `${what} before a run of ${observer} had seen it`,
      );
    }
  }

  find(claim: string, message: string): void {
    const found = this.violations.filter((violation) => violation.claim === claim).length;
    if (found < VIOLATIONS_MAX) this.violations.push({ claim, message });
  }
}

/** The cells that may refuse a prewrite; none if the mutation is no prewrite. */
export function groundsOf({ ifNotFound = [] }: ConditionalRowMutation): readonly CellFilter[] {
  return ifNotFound.flatMap((lock) => {
    if (lock.kind !== 'set' || !isOf(LOCK, lock)) return [];
    const { timestamp } = lock;
    const column = columnOf(lock);
    const isShared = isSharedLock(column);
    const written = isShared ? protectedBy(column) : column;
    const shared = sharedLockColumn(column);
    const others = isShared
      ? []
      : [placeOf(LOCK, shared), { ...placeOf(WRITE, shared), from: timestamp }];
    return [
      placeOf(LOCK, written),
      { ...placeOf(WRITE, written), from: timestamp },
      { ...placeOf(ROLLBACK, column), from: timestamp, to: timestamp },
      ...others,
    ];
  });
}

function isPrimaryLock({ table, row, column, startTimestamp, value }: SetLock): boolean {
  const lock = decodeLock({ ...placeOf(LOCK, column), timestamp: startTimestamp, value });
  return isPrimary(lock, { table, row, column });
}

function isCalm({ messages, groups = {}, events, hbase, stopsAtWaits }: UmpireKnobs): boolean {
  if (hbase !== undefined || stopsAtWaits === true) return false;
  return [messages, groups, events].every((faults) => Object.keys(faults).length === 0);
}

/** A heartbeat must have the time to be seen. */
function isPatient(knobs: UmpireKnobs): boolean {
  const { messages, lockTimeToLiveMs, delayMsMax } = knobs;
  const harmless = new Set(['slow', 'duplicate', 'replay']);
  const isHarmless = Object.keys(messages).every((fault) => harmless.has(fault));
  return isHarmless && isCalm({ ...knobs, messages: {} }) && lockTimeToLiveMs >= 20 * delayMsMax;
}

/** Whether no other read explains a late answer: the suspects that have failed clear the rest. */
function isLast(suspects: Set<Reading>, reading: Reading, isUsed: boolean): boolean {
  if (!isUsed) {
    suspects.clear();
    return false;
  }
  return suspects.delete(reading) && suspects.size === 0;
}
