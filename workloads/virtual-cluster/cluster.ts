/**
 * A cluster in virtual time: the real engine on as many machines as wanted, each operation at the
 * cost that a calibration says.
 *
 *     const cluster = new VirtualCluster({ calibration, seed: 1, tabletServers: 15 });
 *     const machine = cluster.addMachine('client');
 *     await cluster.run(async () => {
 *       const percolator = await cluster.openDatabase(machine);
 *       await percolator.createTable('accounts', { splits: evenSplits });
 *       const window = cluster.window();
 *       await work(percolator, machine.clock);        // any code that uses the engine
 *       await percolator.settled();
 *       report(window.end());                         // calls, utilisation, queues
 *       await percolator.close();
 *     });
 *
 * What runs inside `run` may wait only for the engine and for `clock.sleep` of a machine, or of
 * `cluster.clock` for what is no part of the cluster: arrivals, failures, samples. A real timer, a
 * file or a socket would never be waited for. `run` ends when its story does, whatever else is
 * still in flight, and may be called again: time goes on from there. Close databases and stop
 * workers in the story, or they go on working in the next one.
 *
 * Several databases are several processes; each has the oracle, the lock service
 * (`cluster.rangeLocks`, for `startWorker`) and the liveness of the whole cluster. Tables are
 * spread over the tablet servers by the splits that they are created with. `scale` makes a small
 * repository stand for a large one (`setBackground`).
 *
 * Machines that are killed lose all that they were doing. The tablets of a tablet server go to the
 * others after the time that the calibration says; the processes that meet a worker's locks resolve
 * them.
 *
 * `HistoryRecorder` (history.ts) records what transactions saw of a sample of rows, for the judges
 * of snapshot isolation and of notifications.
 *
 * The same seed gives the same run, bit for bit.
 */
import {
  assert,
  type Bigtable,
  type Clock,
  createRandom,
  openPercolator,
  type Percolator,
  type PercolatorOptions,
  type Random,
  type RangeLocks,
  type TimestampOracle,
} from '#engine';
import { withNext } from '../../engine/oracle/index.ts';
import { balanceTablets, loadTablets, spreadTablets } from './tablet-moves.ts';
import type { Calibration } from './calibration/calibration.ts';
import { ClientStore } from './client-store.ts';
import { Costs } from './costs.ts';
import { EventLoop } from '../verification/world/event-loop.ts';
import { Machine, type MachineKind, type MachineSize } from './machine.ts';
import { LockService, OracleService } from './services.ts';
import { Storage } from './storage.ts';
import type { Background } from '../verification/world/table.ts';
import type { Tablets } from './tablets.ts';
import { UsageWindow } from './usage.ts';

export interface ClusterOptions {
  readonly calibration: Calibration;
  /** Decides every draw of chance: delays, misses of caches, backoffs, places of scanners. */
  readonly seed: number;
  /** Default: as many as in the calibration. */
  readonly tabletServers?: number | undefined;
  /** How many bytes of a repository each byte here stands for. Default 1. */
  readonly scale?: number | undefined;
}

export type DatabaseOptions = Omit<
  PercolatorOptions,
  'store' | 'folder' | 'fsync' | 'oracle' | 'clock' | 'random' | 'liveness'
>;

export class VirtualCluster {
  readonly calibration: Calibration;
  /** For what is no part of the cluster: arrivals, failures, samples. */
  readonly clock: Clock;
  readonly tabletServers: readonly Machine[];
  readonly oracleMachine: Machine;
  readonly lockMachine: Machine;
  readonly loop: EventLoop = new EventLoop();
  readonly storage: Storage;
  readonly oracle: OracleService;
  readonly locks: LockService;
  readonly random: Random;
  /** Called with each timestamp that is handed out, and when it was asked for, if set. */
  watchTimestamp: ((timestamp: number, askedUs: number) => void) | undefined;
  /** Called with the store of each process, if set; the process uses the store that it returns. */
  wrapStore: ((store: Bigtable) => Bigtable) | undefined;
  /** Processor time that was asked of machines by `work`. */
  otherWorkUs = 0;
  readonly #machines: Machine[] = [];
  readonly #outside: Machine;

  constructor({ calibration, seed, tabletServers, scale = 1 }: ClusterOptions) {
    this.calibration = calibration;
    this.random = createRandom(seed);
    const { cluster, disk, oracle, lockService } = calibration;
    this.#outside = new Machine(
      this.loop,
      { name: 'outside', kind: 'client' },
      { cores: 1, disks: 1 },
    );
    this.clock = this.#outside.clock;
    const disks = disk.perMachine;
    this.tabletServers = Array.from({ length: tabletServers ?? cluster.tabletServers }, () =>
      this.addMachine('tablet server', { cores: cluster.tabletServerCores, disks }),
    );
    this.storage = new Storage({
      loop: this.loop,
      costs: new Costs(calibration, this.random),
      random: this.random,
      servers: this.tabletServers,
      bytesFactor: scale,
    });
    this.oracleMachine = this.addMachine('oracle', { cores: oracle.cores, disks });
    this.oracle = new OracleService(this.storage, this.oracleMachine);
    this.lockMachine = this.addMachine('lock service', { cores: lockService.cores, disks });
    this.locks = new LockService(this.storage, this.lockMachine);
  }

  get machines(): readonly Machine[] {
    return this.#machines;
  }

  get tablets(): Tablets {
    return this.storage.tablets;
  }

  /** @param size default: the cores of a worker */
  addMachine(kind: MachineKind, size: Partial<MachineSize> = {}): Machine {
    const { cluster, disk, idle } = this.calibration;
    const number = this.#machines.filter((machine) => machine.kind === kind).length + 1;
    const { cores = cluster.workerCores, disks = disk.perMachine } = size;
    const name = `${kind} ${number}`;
    // Only engine and store were measured after pauses; the services stay warm.
    const isService = kind === 'oracle' || kind === 'lock service';
    const cooling = isService ? undefined : idle;
    const machine = new Machine(this.loop, { name, kind }, { cores, disks }, cooling);
    this.#machines.push(machine);
    return machine;
  }

  /** A process on the machine opens the database. Close it before the run ends. */
  openDatabase(machine: Machine, options: DatabaseOptions = {}): Promise<Percolator> {
    const { batching = 'off' } = options;
    const caller = { machine, life: machine.life, isBatched: batching !== 'off' };
    const self = tokenOf(machine);
    const store = new ClientStore(this.storage, caller);
    return openPercolator({
      ...options,
      store: this.wrapStore?.(store) ?? store,
      oracle: this.#watched(this.oracle.clientOf(caller)),
      clock: machine.clock,
      random: this.random.fork(self),
      liveness: { self, isDead: (token) => this.#isDead(token) },
    });
  }

  /** For `startWorker`: keeps the scanners of several machines apart. */
  rangeLocks(machine: Machine): RangeLocks {
    const caller = { machine, life: machine.life };
    return this.locks.clientOf(caller, tokenOf(machine));
  }

  /**
   * Rows of this table that are not touched have the cells that `background` makes of their keys,
   * `bytes` in all. Ranges do not see them.
   */
  setBackground(table: string, background: Background, bytes: number): void {
    this.storage.setBackground(table, background, bytes);
  }

  /**
   * Runs the story and whatever it sets going, until the story ends.
   * @throws what the story throws
   */
  async run<T>(story: () => Promise<T>): Promise<T> {
    let isOver = false;
    const note = (): void => {
      isOver = true;
    };
    const told = story();
    told.then(note, note);
    const ended = await this.loop.run(() => isOver);
    assert(ended, 'the story waits for something that happens in the cluster');
    return told;
  }

  /** Takes a core of the machine for this long: work that is not a call. Resolves at its end. */
  work(machine: Machine, us: number): Promise<void> {
    const { life } = machine;
    this.otherWorkUs += us;
    const finishUs = machine.work(us);
    return new Promise((resolve) => {
      this.loop.at(finishUs, { happen: () => machine.deliver(life, resolve) });
    });
  }

  /** Counts from now on, until its `end` is called. */
  window(): UsageWindow {
    return new UsageWindow(this);
  }

  /**
   * Everything on the machine ends at once. A tablet server's tablets go to others, one of which
   * must be alive when the death is noticed.
   */
  kill(machine: Machine): void {
    machine.kill();
    if (machine.kind === 'tablet server') loadTablets(this.storage, machine);
  }

  /** The machine stands still for this long, as if it were overloaded. */
  pause(machine: Machine, seconds: number): void {
    machine.pause(seconds * 1e6);
  }

  /**
   * Starts a killed machine; a tablet server only once its death was noticed. It then has no
   * tablets until `spread`.
   */
  start(machine: Machine): void {
    if (machine.isAlive) return;
    const isServer = machine.kind === 'tablet server';
    // It would serve its old tablets at once, without a replay of their logs.
    assert(!isServer || this.#isNoticed(machine), 'its death was noticed');
    machine.start();
    if (machine === this.oracleMachine) this.oracle.restart();
    if (machine === this.lockMachine) this.locks.restart();
  }

  /**
   * The tablets of each table are moved so that every tablet server that is alive has its share.
   */
  spread(): void {
    spreadTablets(this.storage);
  }

  /** Hot tablets are split, and busy servers give tablets to idle ones (tablet-moves.ts). */
  balance(): void {
    balanceTablets(this.storage);
  }

  #watched(oracle: TimestampOracle): TimestampOracle {
    const watch = this.watchTimestamp;
    if (watch === undefined) return oracle;
    return withNext(oracle, async () => {
      const askedUs = this.loop.nowUs;
      const timestamp = await oracle.next();
      watch(timestamp, askedUs);
      return timestamp;
    });
  }

  /** The lock service knows of a death as soon as the cluster does. */
  #isDead(token: string): boolean {
    const slash = token.lastIndexOf('/');
    const name = token.slice(0, slash);
    const machine = this.#machines.find((one) => one.name === name);
    if (machine === undefined) return false;
    if (Number(token.slice(slash + 1)) < machine.life) return true;
    return !machine.isAlive && this.#isNoticed(machine);
  }

  /** Of a dead machine: whether the cluster knows of its death. */
  #isNoticed({ diedUs }: Machine): boolean {
    return this.loop.nowUs >= diedUs + this.calibration.failures.detectionMs * 1000;
  }
}

function tokenOf({ name, life }: Machine): string {
  return `${name}/${life}`;
}

export type { Machine, MachineKind, MachineSize } from './machine.ts';
export type { Background } from '../verification/world/table.ts';
export type { KindUsage, Usage } from './usage.ts';
