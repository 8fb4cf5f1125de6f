/**
 * The state that all processes of one simulated run share: virtual time, the storage's tables, the
 * faults, and the record of what really happened.
 */
import type {
  Cell,
  CellFilter,
  ConditionalRowMutation,
  Mutation,
  Timestamp,
} from '../../../engine/bigtable/index.ts';
import { ORACLE_TABLE } from '../../../engine/oracle/oracle-row.ts';
import { companionOf } from '../../../engine/tables/definition.ts';
import {
  CELLS,
  columnOf,
  decodeWriteRecord,
  isOf,
  LOCK,
  ROLLBACK,
  WEAK,
  WRITE,
} from '../../../engine/transaction/index.ts';
import { historicCell, type HistoricRecord, type HistoricRollback } from '../judges/history.ts';
import type { ObservedColumn } from '../judges/notifications.ts';
import { Timeline } from '../world/event-loop.ts';
import { type TableData, TableSet } from '../world/table.ts';
import { chance } from './chance.ts';
import {
  type EventFault,
  type GroupFault,
  type Knobs,
  MESSAGE_FAULTS,
  type MessageFault,
} from './knobs.ts';
import type { NetworkEvent } from './network-event.ts';
import { awkwardNames, Incarnations, PLAIN, type RunNames } from './names.ts';
import type { SimulatedProcess } from './process.ts';
import { Umpire } from './umpire.ts';
import { Waits } from './waits.ts';
import { type EventListener, PROGRESS_TABLE, snapshotsOf, watchMutations } from './watched.ts';

/**
 * The longest time for which a copy of a message can be in flight; the collector waits for it (P4).
 */
export const MESSAGE_LIFETIME_MS = 400;

type Fault = MessageFault | GroupFault | EventFault;

export type FaultCounts = Partial<Record<Fault, number>>;

export class World {
  readonly seed: number;
  readonly knobs: Knobs;
  readonly names: RunNames;
  readonly timeline: Timeline = new Timeline();
  readonly owner: Owner = new Owner(this.timeline);
  readonly tables: TableSet;
  readonly incarnations: Incarnations = new Incarnations();
  readonly umpire: Umpire;
  /** Where processes stop in the middle of work outside of transactions. */
  readonly waits: Waits;
  /** What is observed, and judged. */
  observed: readonly ObservedColumn[] = [];
  /** How often each fault has happened. */
  readonly faults: FaultCounts = {};
  /**
   * Every write record and rollback record that was ever in the storage, in the order they came.
   */
  readonly records: HistoricRecord[] = [];
  readonly rollbacks: HistoricRollback[] = [];
  /** False at the end of a run, and while its tables are created: then nothing goes wrong. */
  troubled = true;
  /** Whether the storage has lost its database, at the very end of a run (final-checks.ts). */
  isLost = false;
  /** Who gives no answer any more, at the very end of a run (final-checks.ts). */
  silent: 'storage' | 'all' | undefined;
  /**
   * Every message takes equally long: only backoff keeps rivals from conflicting repeatedly.
   */
  isInStep = false;
  /** When the last copy in flight arrives. Only grows. */
  lastArrivalMs = 0;
  /** How often the storage has set a fence: what is left of the time before does not arrive. */
  fences = 0;
  /** Messages sent so far, by all processes. */
  messages = 0;
  /**
   * One number that depends on when everything was applied, in order, and on the model store also
   * on who sent it and which conditions held, but not on contents. Equal runs have equal digests.
   */
  digest = 0;
  /** Called for everything that happens, if set: for stories. */
  tell: ((who: string, what: string) => void) | undefined;
  /** Called for messages and processes, if set: for recordings. */
  record: ((event: NetworkEvent) => void) | undefined;
  /** Called for events of leases, horizon and reads, if set: for their model. */
  watch: EventListener | undefined;
  readonly #seenRecords = new Set<string>();
  /** The start timestamps of what was committed in each cell. */
  readonly #committed = new Set<string>();
  readonly #seenRollbacks = new Set<string>();
  readonly #faultsUpTo: readonly { readonly fault: MessageFault; readonly upTo: number }[];
  /** Rows whose tablet is unavailable: those from this letter on. */
  #unavailable: { readonly from: string; readonly untilMs: number } = { from: '', untilMs: 0 };

  constructor(seed: number, knobs: Knobs) {
    this.seed = seed;
    this.knobs = knobs;
    this.tables = new TableSet({ tombstones: knobs.tombstones });
    this.names = knobs.names === 'awkward' ? awkwardNames(seed) : PLAIN;
    // A simulated HBase says on its own how long collectors wait.
    this.umpire = new Umpire(knobs, knobs.hbase === undefined ? MESSAGE_LIFETIME_MS : 0);
    this.waits = new Waits(seed, knobs.stopsAtWaits === true);
    let upTo = 0;
    this.#faultsUpTo = MESSAGE_FAULTS.map((fault) => {
      upTo += knobs.messages[fault] ?? 0;
      return { fault, upTo };
    });
  }

  /** Long enough for a lock's time to live, or for a collector to give up a process and collect. */
  get longestStopMs(): number {
    const { collector, leaseTimeToLiveMs, lockTimeToLiveMs } = this.knobs;
    if (!collector) return 4 * lockTimeToLiveMs;
    return 3 * (leaseTimeToLiveMs + MESSAGE_LIFETIME_MS);
  }

  count(fault: Fault): void {
    this.faults[fault] = (this.faults[fault] ?? 0) + 1;
  }

  /** A draw for one message of a process. */
  draw(process: SimulatedProcess, message: number, purpose: number): number {
    return chance(this.seed, process.id, message, purpose);
  }

  /** The fault of a message, if it has one. */
  faultOf(process: SimulatedProcess, message: number): MessageFault | undefined {
    if (!this.troubled) return undefined;
    const drawn = this.draw(process, message, 0);
    const fault = this.#faultsUpTo.find(({ upTo }) => drawn < upTo)?.fault;
    if (fault !== undefined || !this.waits.stopsAtMessage(process, message)) return fault;
    return drawn < 0.5 ? 'pause' : 'stall';
  }

  fence(): void {
    this.fences++;
    this.umpire.fenced();
  }

  expectUntil(timeMs: number): void {
    this.lastArrivalMs = Math.max(this.lastArrivalMs, timeMs);
  }

  checkAndMutateRow(conditional: ConditionalRowMutation): boolean {
    const table = this.table(conditional.table);
    const found = table.checkAndMutateRow(conditional);
    // A refused prewrite changes nothing, so the umpire sees the cells that refused it.
    if (found) this.umpire.refused(table, conditional);
    return found;
  }

  makeUnavailable(from: string, ms: number): void {
    this.#unavailable = { from, untilMs: this.timeline.nowMs + ms };
  }

  isUnavailable(row: string): boolean {
    const { from, untilMs } = this.#unavailable;
    return this.troubled && this.timeline.nowMs < untilMs && row >= from;
  }

  table(name: string): TableData {
    return this.tables.require(name);
  }

  /** Notes what an applied mutation says about the outcome of transactions. */
  observe(table: string, row: string, mutations: readonly Mutation[] | undefined): void {
    if (this.watch !== undefined) watchMutations(this.watch, { table, row }, mutations ?? []);
    const { nowMs } = this.timeline;
    for (const mutation of mutations ?? []) {
      if (mutation.kind !== 'set') continue;
      if (mutation.family === CELLS) this.#observeCell(table, row, mutation);
      else if (table === PROGRESS_TABLE) this.umpire.collectorIsAt(mutation.value, nowMs);
      else if (table === ORACLE_TABLE && mutation.qualifier === 'horizon') {
        this.umpire.horizonIsAt(mutation.timestamp, nowMs);
      } else if (mutation.family === 'table') this.incarnations.defined(row, mutation.value);
    }
  }

  /**
   * Notes which weak notifications an unconditional mutation is about to clear. Not those of a
   * table that was created again: runs name the table, not its incarnation.
   */
  clears(companion: string, row: string, mutations: readonly Mutation[]): void {
    for (const mutation of mutations) {
      if (mutation.kind !== 'erase' || mutation.family !== WEAK) continue;
      const { family, qualifier: column, from, to } = mutation;
      const table = companionOf(companion) ?? companion;
      const observers = this.observed
        .filter((one) => one.table === table && one.column === column)
        .map(({ name }) => name);
      const notifications = this.table(companion).readRow(row, [
        { family, qualifier: column, from, to },
      ]);
      for (const { timestamp } of notifications?.cells ?? []) {
        const cell = historicCell({ table, row, column });
        this.umpire.cleared(cell, timestamp, observers);
      }
    }
  }

  /** Notes the snapshots that a read was for. */
  served(process: SimulatedProcess, filters: readonly CellFilter[]): void {
    for (const snapshot of snapshotsOf(filters)) {
      this.umpire.served(process.name, snapshot);
      this.watch?.({ kind: 'read served', process: process.name, snapshot });
    }
  }

  /** Notes that a process begins to read, and at the end whether it uses what it has read. */
  asked(process: SimulatedProcess, snapshot: Timestamp): (isUsed: boolean) => void {
    const ended = this.umpire.asked(process.name, snapshot);
    return (isUsed) => {
      ended(isUsed);
      if (isUsed) this.watch?.({ kind: 'read answered', process: process.name, snapshot });
    };
  }

  /** Mixes a number into the digest. */
  stir(value: number): void {
    this.digest = (Math.imul(this.digest ^ value, 0x01000193) + 0x9e3779b9) | 0;
  }

  #observeCell(table: string, row: string, mutation: Cell): void {
    const cell = historicCell({ table, row, column: columnOf(mutation) });
    if (isOf(LOCK, mutation)) {
      const isOver = this.#committed.has(`${cell}@${mutation.timestamp}`);
      this.umpire.locked(table, row, mutation, isOver);
    } else if (isOf(WRITE, mutation)) this.#noteRecord(cell, mutation);
    else if (isOf(ROLLBACK, mutation)) this.#noteRollback(cell, mutation.timestamp);
  }

  #noteRecord(cell: string, written: Cell): void {
    const name = `${cell}@${written.timestamp}`;
    if (this.#seenRecords.has(name)) return;
    this.#seenRecords.add(name);
    const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(written);
    this.#committed.add(`${cell}@${startTimestamp}`);
    this.records.push({ cell, startTimestamp, commitTimestamp, operation });
  }

  #noteRollback(cell: string, startTimestamp: Timestamp): void {
    const name = `${cell}@${startTimestamp}`;
    if (this.#seenRollbacks.has(name)) return;
    this.#seenRollbacks.add(name);
    this.rollbacks.push({ cell, startTimestamp });
  }
}

/*
 * The process that owns the storage, like the owner of an embedded store: it may die, and another
 * process takes its place. Everything that is in flight then meets one of two fates:
 *
 *     reads, blind mutations,          sent again to the next owner until their deadline, even if
 *     creating and dropping tables     they were applied
 *     conditional mutations            in doubt: applied if they had arrived
 */

export type FateWithOwner = 'sentAgain' | 'inDoubt';

class Owner {
  readonly #timeline: Timeline;
  readonly #inFlight = new Set<() => void>();
  #backMs = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** When the storage can be reached: now, or when the next owner serves it. */
  get reachedMs(): number {
    return Math.max(this.#backMs, this.#timeline.nowMs);
  }

  /**
   * @param onDeath called if the owner dies before the message is answered
   * @returns a function to call when the message has been answered
   */
  carry(onDeath: () => void): () => void {
    this.#inFlight.add(onDeath);
    return () => this.#inFlight.delete(onDeath);
  }

  die(downMs: number): void {
    this.#backMs = this.#timeline.nowMs + downMs;
    const lost = [...this.#inFlight];
    this.#inFlight.clear();
    for (const lose of lost) lose();
  }
}
