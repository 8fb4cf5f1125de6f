/**
 * The state that all processes of one simulated run share: virtual time, the storage's tables, the
 * faults, and the record of what really happened.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import {
  type Cell,
  type CellFilter,
  type ConditionalRowMutation,
  type Mutation,
  type TableSchema,
  type Timestamp,
} from '../../../engine/bigtable/index.ts';
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
import { ORACLE_TABLE } from '../../../engine/oracle/oracle-row.ts';
import { historicCell, type HistoricMarker, type HistoricRecord } from '../judges/history.ts';
import type { ObservedColumn } from '../judges/notifications.ts';
import { companionOf } from '../../../engine/tables/names.ts';
import { chance } from './chance.ts';
import {
  type EventFault,
  type GroupFault,
  type Knobs,
  MESSAGE_FAULTS,
  type MessageFault,
} from './knobs.ts';
import { ModelTable } from './model-table.ts';
import { Incarnations } from './incarnations.ts';
import { awkwardNames, type Names, PLAIN } from './names.ts';
import { Owner } from './owner.ts';
import type { SimulatedProcess } from './process.ts';
import { Timeline } from './timeline.ts';
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
  readonly names: Names;
  readonly timeline: Timeline = new Timeline();
  readonly owner: Owner = new Owner(this.timeline);
  readonly tables: Map<string, ModelTable> = new Map();
  readonly incarnations: Incarnations = new Incarnations();
  readonly umpire: Umpire;
  /** Where processes stop in the middle of work outside of transactions. */
  readonly waits: Waits;
  /** What is observed, and judged. */
  observed: readonly ObservedColumn[] = [];
  /** How often each fault has happened. */
  readonly faults: FaultCounts = {};
  /** Every write record and marker that was ever in the storage, in the order they came. */
  readonly records: HistoricRecord[] = [];
  readonly markers: HistoricMarker[] = [];
  /** False at the end of a run, and while its tables are created: then nothing goes wrong. */
  troubled = true;
  /** Whether the storage has lost its database, at the very end of a run (final-checks.ts). */
  isLost = false;
  /** Who gives no answer any more, at the very end of a run (durations.ts). */
  silent: 'storage' | 'all' | undefined;
  /**
   * Every message takes equally long: only backoff keeps rivals from conflicting again and again.
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
  /** Called for events of leases, horizon and reads, if set: for their model. */
  watch: EventListener | undefined;
  readonly #seenRecords = new Set<string>();
  readonly #seenMarkers = new Set<string>();
  readonly #faultsUpTo: readonly { readonly fault: MessageFault; readonly upTo: number }[];
  /** Rows whose tablet is unavailable: those from this letter on. */
  #unavailable: { readonly from: string; readonly untilMs: number } = { from: '', untilMs: 0 };

  constructor(seed: number, knobs: Knobs) {
    this.seed = seed;
    this.knobs = knobs;
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

  /** @throws TABLE_MISMATCH if it exists with other families or splits */
  createTable(name: string, { families, splits = [] }: TableSchema): void {
    const existing = this.tables.get(name);
    if (existing === undefined) {
      this.tables.set(name, new ModelTable(splits, families, this.knobs.tombstones));
      return;
    }
    if (existing.isLike(families, splits)) return;
    throw new PercolatorError('TABLE_MISMATCH', `table ${name} exists with another schema`);
  }

  table(name: string): ModelTable {
    const table = this.tables.get(name);
    if (table !== undefined) return table;
    throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${name}`);
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
   * Notes which weak marks an unconditional mutation is about to clear. Not those of a table that
   * was created again: runs name the table, not its incarnation.
   */
  clears(companion: string, row: string, mutations: readonly Mutation[]): void {
    for (const mutation of mutations) {
      if (mutation.kind !== 'erase' || mutation.family !== WEAK) continue;
      const { family, qualifier: column, from, to } = mutation;
      const table = companionOf(companion) ?? companion;
      const observers = this.observed
        .filter((one) => one.table === table && one.column === column)
        .map(({ name }) => name);
      const marks = this.table(companion).readRow(row, [{ family, qualifier: column, from, to }]);
      for (const { timestamp } of marks?.cells ?? []) {
        const cell = historicCell({ table, row, column });
        this.umpire.cleared(cell, timestamp, observers);
      }
    }
  }

  /** Notes the snapshots that a read was for. */
  served(process: SimulatedProcess, filters: readonly CellFilter[]): void {
    for (const snapshot of snapshotsOf(filters)) {
      this.umpire.served(process.name, snapshot, this.timeline.ticks);
      this.watch?.({ kind: 'read served', process: process.name, snapshot });
    }
  }

  /** Notes that a process has used what it read since the tick `since`, without an error. */
  answered(process: SimulatedProcess, snapshot: Timestamp, since: number): void {
    this.umpire.answered(process.name, snapshot, since);
    this.watch?.({ kind: 'read answered', process: process.name, snapshot });
  }

  /** Mixes a number into the digest. */
  stir(value: number): void {
    this.digest = (Math.imul(this.digest ^ value, 0x01000193) + 0x9e3779b9) | 0;
  }

  #observeCell(table: string, row: string, mutation: Cell): void {
    const cell = historicCell({ table, row, column: columnOf(mutation) });
    if (isOf(LOCK, mutation)) this.umpire.locked(table, row, mutation);
    else if (isOf(WRITE, mutation)) this.#noteRecord(cell, mutation);
    else if (isOf(ROLLBACK, mutation)) this.#noteMarker(cell, mutation.timestamp);
  }

  #noteRecord(cell: string, written: Cell): void {
    const name = `${cell}@${written.timestamp}`;
    if (this.#seenRecords.has(name)) return;
    this.#seenRecords.add(name);
    const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(written);
    this.records.push({ cell, startTimestamp, commitTimestamp, operation });
  }

  #noteMarker(cell: string, startTimestamp: Timestamp): void {
    const name = `${cell}@${startTimestamp}`;
    if (this.#seenMarkers.has(name)) return;
    this.#seenMarkers.add(name);
    this.markers.push({ cell, startTimestamp });
  }
}
