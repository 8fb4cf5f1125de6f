/**
 * One call of a client to a tablet server, with one row or many, and what it costs on its way:
 *
 *     client's cores ─▶ its card ─▶ half a round trip ─▶ server: applied ─▶ disk, if not in the cache
 *                                                                 ─▶ server's cores ─▶ log
 *     client's cores ◀─ half a round trip ◀─ server's card ◀──────────────────────────────┘
 *
 * A row is applied when its call arrives, which is one moment between sending and answer, in the
 * order of arrival. Queues are first come first served, so the same moment decides when the call
 * will be finished, and most calls have only two events: their arrival and their answer. The
 * client's work on the answer makes its cores busy, but does not delay that answer.
 *
 * If the server dies before it has finished, the answer is lost. The client hears of that when the
 * cluster does, and then sends reads and blind mutations again; the outcome of a conditional
 * mutation is in doubt. What was applied stays: its log survives.
 */
import { PercolatorError } from '#engine/base';
import type { Machine } from './machine.ts';
import type { OperationKind } from './costs.ts';
import type { Storage } from './storage.ts';
import type { VirtualEvent } from '../verification/world/event-loop.ts';
import type { Tablet } from './tablets.ts';

/** The part of an operation that concerns one row, or one tablet of a scan. */
export abstract class RowWork {
  readonly table: string;
  readonly row: string;
  /** Cells and bytes that go to the server. */
  readonly cells: number;
  readonly bytes: number;
  /**
   * Whether a power failure may undo it. Where the log has groups (storage.ts), a group of such
   * mutations alone waits for no disk.
   */
  readonly isProvisional: boolean;
  /** Cells, bytes and rows of the answer, set by `serve`. */
  answerCells = 0;
  answerBytes = 0;
  rows = 1;
  error: unknown;

  constructor(
    table: string,
    row: string,
    size: { readonly cells: number; readonly bytes: number },
    isProvisional = false,
  ) {
    this.table = table;
    this.row = row;
    this.cells = size.cells;
    this.bytes = size.bytes;
    this.isProvisional = isProvisional;
  }

  /** Called before each `serve`: an earlier call may have been lost after it was served. */
  forgetAnswer(): void {
    this.answerCells = 0;
    this.answerBytes = 0;
    this.error = undefined;
  }

  /** At the server. May throw errors of the engine. */
  abstract serve(storage: Storage, tablet: Tablet): void;
  /** At the client: the answer, or the error that `serve` has thrown. */
  abstract settle(): void;
  abstract fail(error: unknown): void;
}

/** A machine that calls, in one of its lives. */
export interface Caller {
  readonly machine: Machine;
  readonly life: number;
  /** Whether it gathers its operations in batches. Default false. */
  readonly isBatched?: boolean | undefined;
}

/** Bytes of the head of a message. */
export const HEAD_BYTES = 64;

export function sendRows(
  storage: Storage,
  caller: Caller,
  kind: OperationKind,
  works: readonly RowWork[],
): void {
  const [only] = works;
  if (works.length === 1 && only !== undefined) {
    const tablet = storage.tablets.find(only.table, only.row);
    new TabletCall(storage, caller, { kind, works, server: tablet?.server }).send();
    return;
  }
  const byServer = Map.groupBy(works, ({ table, row }) => storage.tablets.find(table, row)?.server);
  for (const [server, group] of byServer) {
    new TabletCall(storage, caller, { kind, works: group, server }).send();
  }
}

class TabletCall implements VirtualEvent {
  readonly #storage: Storage;
  readonly #caller: Caller;
  readonly #kind: OperationKind;
  readonly #works: readonly RowWork[];
  /** The tablet's; if there is no such table, any server, which says so. */
  readonly #server: Machine;
  readonly #serverLife: number;
  #state: 'arriving' | 'served' | 'moved' | 'lost' = 'arriving';
  #sentUs = 0;
  /** When `#finishUs` was computed. Pauses of the server that begin after that are not in it. */
  #knownUs = 0;
  #finishUs = 0;
  /** How much later than `#finishUs` the server finishes, because of its pauses since then. */
  #delayedUs = 0;
  #answerBytes = HEAD_BYTES;
  #answerCells = 0;

  constructor(
    storage: Storage,
    caller: Caller,
    given: {
      readonly kind: OperationKind;
      readonly works: readonly RowWork[];
      readonly server: Machine | undefined;
    },
  ) {
    this.#storage = storage;
    this.#caller = caller;
    this.#kind = given.kind;
    this.#works = given.works;
    this.#server = given.server ?? (storage.servers[0] as Machine);
    this.#serverLife = this.#server.life;
  }

  send(): void {
    const { loop, costs } = this.#storage;
    const { machine, isBatched = false } = this.#caller;
    let bytes = HEAD_BYTES;
    let cells = 0;
    for (const work of this.#works) {
      bytes += work.bytes;
      cells += work.cells;
    }
    const rows = this.#works.length;
    const us =
      costs.callUs('clientUs') +
      costs.bytesUs('clientUs', bytes) +
      costs.rowUs('clientUs', this.#kind) * rows +
      (isBatched ? costs.batchedUs(rows) : 0) +
      costs.cellsUs('clientUs', this.#kind, cells);
    const counts = this.#storage.counts[this.#kind];
    counts.sent++;
    counts.bytes += bytes;
    counts.cells += cells;
    counts.clientUs += us;
    this.#storage.countInFlight(1);
    this.#sentUs = loop.nowUs;
    const leftUs = machine.take(us, costs.cardUs(bytes));
    loop.at(leftUs + costs.roundTrip.next() / 2, this);
  }

  happen(): void {
    if (this.#state === 'arriving') this.#arrive();
    else if (this.#state === 'served') this.#answer();
    else this.#sendAgain();
  }

  #arrive(): void {
    const { loop, tablets, costs } = this.#storage;
    if (this.#isServerDead()) return this.#lose();
    let availableUs = 0;
    for (const { table, row } of this.#works) {
      const tablet = tablets.find(table, row);
      if (tablet === undefined) continue;
      if (tablet.server !== this.#server) {
        this.#state = 'moved';
        loop.after(costs.roundTrip.next() / 2, this);
        return;
      }
      if (tablet.availableUs > availableUs) ({ availableUs } = tablet);
    }
    // The server holds what has come for a tablet that it is still loading.
    if (availableUs > loop.nowUs) loop.at(availableUs, this);
    else this.#serve();
  }

  #serve(): void {
    const { costs } = this.#storage;
    const kind = this.#kind;
    const counts = this.#storage.counts[kind];
    let us = costs.callUs('serverUs');
    let bytes = HEAD_BYTES;
    let misses = 0;
    for (const work of this.#works) {
      if (this.#serveRow(work)) misses++;
      this.#answerBytes += work.answerBytes;
      this.#answerCells += work.answerCells;
      bytes += work.bytes + work.answerBytes;
      us += this.#rowUs(work);
      counts.rows += work.rows;
    }
    us += costs.bytesUs('serverUs', bytes);
    counts.cells += this.#answerCells;
    counts.bytes += this.#answerBytes;
    counts.serverUs += us;
    this.#state = 'served';
    const workedUs = this.#work(us, misses);
    const isMutation = isMutating(kind);
    if (isMutation && costs.hasGroups) {
      const isProvisional = this.#works.every((work) => work.isProvisional);
      this.#storage.logOf(this.#server).add(isProvisional, (writtenUs) => this.#send(writtenUs));
    } else this.#send(workedUs + (isMutation ? costs.logWait.next() : 0));
  }

  /** The answer is on its way from this moment. */
  #send(finishUs: number): void {
    const { loop, costs } = this.#storage;
    this.#knownUs = loop.nowUs;
    this.#finishUs = finishUs;
    loop.at(finishUs + costs.roundTrip.next() / 2, this);
  }

  /** @returns whether the row had to be read from the disk */
  #serveRow(work: RowWork): boolean {
    const { tablets, tables } = this.#storage;
    const tablet = tablets.find(work.table, work.row);
    const data = tables.get(work.table);
    work.forgetAnswer();
    try {
      if (tablet === undefined || data === undefined) {
        throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${work.table}`);
      }
      const needsRead = this.#kind === 'read' || this.#kind === 'conditionalMutate';
      const isMiss = needsRead && this.#storage.misses(data, tablet, work.row);
      tablet.operations++;
      if (isMutating(this.#kind)) {
        tablet.logBytes += work.bytes;
        this.#storage.maintenanceUs += this.#storage.costs.maintenanceUs(work.bytes);
      }
      work.serve(this.#storage, tablet);
      tablet.recent.note(work.row, this.#rowUs(work));
      return isMiss;
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
      work.error = error;
      return false;
    }
  }

  /** Processor time of a row at the server, after it was served. */
  #rowUs({ rows, cells, answerCells, bytes }: RowWork): number {
    const { costs } = this.#storage;
    const kind = this.#kind;
    return (
      costs.rowUs('serverUs', kind) * rows +
      costs.cellsUs('serverUs', kind, cells + answerCells) +
      (isMutating(kind) ? costs.writtenUs(bytes) : 0)
    );
  }

  /** @returns when card, cores and disk will have done the work */
  #work(us: number, misses: number): number {
    const { costs, counts } = this.#storage;
    const { missCpuUs, missDiskUs } = costs.calibration.cache;
    const server = this.#server;
    let diskUs = 0;
    for (let i = 0; i < misses; i++) diskUs = server.afterCoreUs(server.disks, missDiskUs);
    counts[this.#kind].misses += misses;
    return server.take(us + misses * missCpuUs, costs.cardUs(this.#answerBytes)) + diskUs;
  }

  #answer(): void {
    const { loop, costs } = this.#storage;
    const finishUs = this.#finishUs + this.#delayedUs;
    if (this.#isServerDead() && this.#server.diedUs < finishUs) return this.#lose();
    const moreUs = this.#server.delayedUs(this.#knownUs, this.#finishUs) - this.#delayedUs;
    if (moreUs > 0) {
      this.#delayedUs += moreUs;
      loop.after(moreUs, this);
      return;
    }
    const counts = this.#storage.counts[this.#kind];
    counts.answered++;
    counts.latencyUs += loop.nowUs - this.#sentUs;
    this.#storage.countInFlight(-1);
    const { machine, life } = this.#caller;
    const us =
      costs.bytesUs('clientUs', this.#answerBytes) +
      costs.cellsUs('clientUs', this.#kind, this.#answerCells);
    if (us > 0 && machine.isAlive && machine.life === life) {
      machine.work(us);
      counts.clientUs += us;
    }
    machine.deliver(life, () => {
      for (const work of this.#works) settle(work);
    });
  }

  #isServerDead(): boolean {
    return !this.#server.isAlive || this.#server.life !== this.#serverLife;
  }

  #lose(): void {
    const { loop, costs } = this.#storage;
    this.#state = 'lost';
    const { detectionMs } = costs.calibration.failures;
    loop.at(this.#server.diedUs + detectionMs * 1000, this);
  }

  /** The client has heard that its call did not arrive where it should, or was lost. */
  #sendAgain(): void {
    const { loop, counts } = this.#storage;
    const { machine, life } = this.#caller;
    counts[this.#kind].lost++;
    counts[this.#kind].latencyUs += loop.nowUs - this.#sentUs;
    this.#storage.countInFlight(-1);
    machine.deliver(life, () => {
      if (this.#state === 'lost' && this.#kind === 'conditionalMutate') {
        const error = new PercolatorError('STORE_IN_DOUBT', 'the tablet server has died');
        for (const work of this.#works) work.fail(error);
      } else sendRows(this.#storage, this.#caller, this.#kind, this.#works);
    });
  }
}

function isMutating(kind: OperationKind): boolean {
  return kind === 'mutate' || kind === 'conditionalMutate';
}

function settle(work: RowWork): void {
  if (work.error === undefined) work.settle();
  else work.fail(work.error);
}
