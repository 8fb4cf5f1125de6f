/**
 * What all clients of the virtual Bigtable share: its tables, where their tablets are, the log of
 * each server, the costs, and the counts.
 */
import type { Random } from '#engine/base';
import type { Mutation, TableSchema } from '../../engine/bigtable/index.ts';
import type { EventLoop } from '../verification/world/event-loop.ts';
import { type Background, type TableData, TableSet } from '../verification/world/table.ts';
import type { Costs, OperationKind } from './costs.ts';
import type { Machine } from './machine.ts';
import { ColdBlocks, type Tablet, Tablets } from './tablets.ts';

/** Of the calls of one kind. */
export interface CallCounts {
  /**
   * Calls sent, answered, and lost: with a server, or because a row had moved to another one. Calls
   * sent again count again.
   */
  sent: number;
  answered: number;
  lost: number;
  rows: number;
  cells: number;
  bytes: number;
  /** From sending to the answer, all calls together. */
  latencyUs: number;
  /** Processor time asked of servers and clients. */
  serverUs: number;
  clientUs: number;
  /** Rows that were read from a disk. */
  misses: number;
}

export interface StorageParts {
  readonly loop: EventLoop;
  readonly costs: Costs;
  readonly random: Random;
  readonly servers: readonly Machine[];
  /** Bytes that each byte here stands for: the factor by which a repository is scaled down. */
  readonly bytesFactor: number;
}

export class Storage {
  readonly loop: EventLoop;
  readonly costs: Costs;
  readonly servers: readonly Machine[];
  readonly tablets: Tablets;
  readonly tables: TableSet = new TableSet();
  readonly counts: Record<OperationKind, CallCounts> = {
    read: noCalls(),
    mutate: noCalls(),
    conditionalMutate: noCalls(),
    scan: noCalls(),
  };
  /** Calls without an answer, and the integral of their number over time. */
  inFlight = 0;
  inFlightUs = 0;
  #inFlightSinceUs = 0;
  /** Processor time of compactions and copies of the log, which keep no core from calls. */
  maintenanceUs = 0;
  /** Called for what a server applies, if set: for histories. */
  observe: ((table: string, row: string, mutations: readonly Mutation[]) => void) | undefined;
  readonly #logs = new Map<Machine, GroupLog>();
  readonly #random: Random;
  readonly #bytesFactor: number;
  /** Bytes of all backgrounds, each of which stands for `#bytesFactor` bytes. */
  #backgroundBytes = 0;

  constructor({ loop, costs, random, servers, bytesFactor }: StorageParts) {
    this.loop = loop;
    this.costs = costs;
    this.servers = servers;
    this.tablets = new Tablets(servers);
    this.#random = random.fork('cache');
    this.#bytesFactor = bytesFactor;
  }

  /** Processor time of all groups of mutations. */
  get groupsUs(): number {
    return [...this.#logs.values()].reduce((sum, { groupsUs }) => sum + groupsUs, 0);
  }

  /** Processor time of other threads that write groups. */
  get asideUs(): number {
    return [...this.#logs.values()].reduce((sum, { asideUs }) => sum + asideUs, 0);
  }

  /** The log of a server that writes its mutations in groups. */
  logOf(server: Machine): GroupLog {
    const known = this.#logs.get(server);
    if (known !== undefined) return known;
    const made = new GroupLog(this.loop, this.costs, server);
    this.#logs.set(server, made);
    return made;
  }

  /** @throws TABLE_MISMATCH if it exists with other families or splits */
  createTable(name: string, schema: TableSchema): void {
    const made = this.tables.create(name, schema);
    if (made !== undefined) this.tablets.create(name, made.schema.splits ?? []);
  }

  dropTable(name: string): void {
    this.tables.delete(name);
    this.tablets.drop(name);
  }

  /** @throws TABLE_NOT_FOUND */
  table(name: string): TableData {
    return this.tables.require(name);
  }

  /** Rows that have not been touched are made by `background`, and have this many bytes in all. */
  setBackground(table: string, background: Background, bytes: number): void {
    const data = this.table(table);
    data.background = background;
    data.backgroundBytes = bytes;
    this.#backgroundBytes += bytes;
  }

  /**
   * Whether reading the row needs the disk. The filter of a tablet knows which rows do not exist.
   * What a run has written is in memory, until another server has to load it. Of the rest, so much
   * is in the cache as fits.
   */
  misses(data: TableData, tablet: Tablet, row: string): boolean {
    if (tablet.cold !== undefined) return this.#missesCold(data, tablet, tablet.cold, row);
    if (data.isTouched(row) || data.background === undefined) return false;
    const { bytesPerServer } = this.costs.calibration.cache;
    const perServer = (this.#backgroundBytes * this.#bytesFactor) / this.servers.length;
    const inCache = Math.min(1, bytesPerServer / perServer);
    if (inCache === 1 || this.#random.fraction() < inCache) return false;
    return data.background(row) !== undefined;
  }

  /** From now on the cache of its server has nothing of the tablet. */
  chill(tablet: Tablet): void {
    const { bytes, backgroundBytes } = this.table(tablet.table);
    const all = (bytes + backgroundBytes) * this.#bytesFactor;
    tablet.cold = new ColdBlocks(all / this.tablets.countOf(tablet.table));
  }

  #missesCold(data: TableData, tablet: Tablet, cold: ColdBlocks, row: string): boolean {
    if (!data.isTouched(row) && data.background?.(row) === undefined) return false;
    const isMiss = cold.read(row);
    if (cold.isWarm) tablet.cold = undefined;
    return isMiss;
  }

  /** So many calls more or less are without an answer; 0 brings the integral up to date. */
  countInFlight(by: 1 | 0 | -1): void {
    const { nowUs } = this.loop;
    this.inFlightUs += this.inFlight * (nowUs - this.#inFlightSinceUs);
    this.#inFlightSinceUs = nowUs;
    this.inFlight += by;
  }
}

function noCalls(): CallCounts {
  const calls = { sent: 0, answered: 0, lost: 0, rows: 0, cells: 0, bytes: 0 };
  return { ...calls, latencyUs: 0, serverUs: 0, clientUs: 0, misses: 0 };
}

/*
 * The log of a store in one process, whose main thread does all the work but syncing: what is
 * written while a group is on its way to the disk is the next group, and shares its costs.
 *
 *     mutations ─▶ gathered ─▶ group: the thread, other threads, the wait for the disk ─▶ answered
 *                     ▲                                                                │
 *                     └── more of them come until the thread hears of it, which is ◀───┘
 *                         when it has nothing else to do
 *
 * So the busier the thread, the larger the groups. As in the embedded store (row-store.ts), a group
 * of provisional mutations alone waits for no disk, and takes none of the other threads. A group
 * waits longer for a disk that was idle before.
 */

/** A call that waits for the log. */
interface GroupedMutation {
  readonly isProvisional: boolean;
  readonly hear: (writtenUs: number) => void;
}

export class GroupLog {
  /** Processor time of all groups, of the server's cores and of other threads. */
  groupsUs = 0;
  asideUs = 0;
  readonly #loop: EventLoop;
  readonly #costs: Costs;
  readonly #server: Machine;
  #gathered: GroupedMutation[] = [];
  #isBusy = false;
  /** When the disk had nothing more to do. */
  #idleFromUs = 0;

  constructor(loop: EventLoop, costs: Costs, server: Machine) {
    this.#loop = loop;
    this.#costs = costs;
    this.#server = server;
  }

  /**
   * `hear` is called with the moment when what has been applied by now is durable; or, if all that
   * has gathered is provisional, when it is written.
   */
  add(isProvisional: boolean, hear: (writtenUs: number) => void): void {
    this.#gathered.push({ isProvisional, hear });
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#whenIdle(() => this.#write());
  }

  #write(): void {
    const group = this.#gathered;
    this.#gathered = [];
    const isSynced = !group.every(({ isProvisional }) => isProvisional);
    this.#loop.at(isSynced ? this.#sync() : this.#writeOnly(), {
      happen: () =>
        this.#whenIdle(() => {
          if (this.#gathered.length > 0) this.#write();
          else this.#isBusy = false;
          for (const { hear } of group) hear(this.#loop.nowUs);
        }),
    });
  }

  /** Returns when the group will be durable. */
  #sync(): number {
    const { perGroupUs, perGroupAsideUs } = this.#costs.calibration.log;
    this.groupsUs += perGroupUs;
    this.asideUs += perGroupAsideUs;
    const handedOverUs = this.#server.work(perGroupUs);
    const waitUs = this.#costs.logWaitUs(handedOverUs - this.#idleFromUs);
    this.#idleFromUs = handedOverUs + perGroupAsideUs + waitUs;
    return this.#idleFromUs;
  }

  /** Returns when the group will be written. */
  #writeOnly(): number {
    const { perUnsyncedGroupUs } = this.#costs.calibration.log;
    this.groupsUs += perUnsyncedGroupUs;
    return this.#server.work(perUnsyncedGroupUs);
  }

  #whenIdle(happen: () => void): void {
    const { idleUs } = this.#server.cores;
    if (idleUs <= this.#loop.nowUs) happen();
    else this.#loop.at(idleUs, { happen: () => this.#whenIdle(happen) });
  }
}
