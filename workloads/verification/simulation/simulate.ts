/**
 * The simulator: one run of the real engine, from a plan, with everything around it simulated.
 *
 *     plan ──▶ trouble: clients work, faults happen
 *          ──▶ peace: no more faults; messages in flight arrive; locks are resolved, observers run
 *          ──▶ judgement: the history, and what is left in the storage
 *
 * The same plan gives the same run, bit for bit: time is virtual, chance is drawn from the seed,
 * and nothing else decides anything. `digest` is the evidence: it depends on when everything was
 * applied, in order, and on the model store also on who sent it and which conditions held.
 */
import type { History, Violation } from '../judges/history.ts';
import { FinalChecks, judge, judgeDurations, judgeSilence } from './final-checks.ts';
import { SimulatedClient } from './client.ts';
import { scheduleEvents } from './events.ts';
import type { HBaseCluster } from './hbase/cluster.ts';
import { calmCluster, clusterOf } from './hbase/database-run.ts';
import { judgeMischief } from './mischief.ts';
import { isOfStranger, observersOf } from './observers.ts';
import { OracleService, ScanLockService } from './services.ts';
import { leftLocks, setFirstTimestamp } from './storage.ts';
import { type SimulationPlan, type ProcessPlan } from './plan.ts';
import type { NetworkEvent } from './network-event.ts';
import type { SimulatedProcess } from './process.ts';
import { type SimulatedRun, SimulatedLiveness } from './run.ts';
import type { WatchedEvent } from './watched.ts';
import { type FaultCounts, World } from './world.ts';

export interface Result {
  readonly plan: SimulationPlan;
  readonly violations: readonly Violation[];
  readonly history: History;
  readonly counts: RunCounts;
  readonly faults: FaultCounts;
  /** How often a process was stopped at each place of work outside of transactions (waits.ts). */
  readonly stopped: Readonly<Record<string, number>>;
  /** What happened to the simulated HBase, if that is the store. */
  readonly cluster?: HBaseCluster['counts'] | undefined;
  readonly digest: number;
  /** Milliseconds of virtual time. */
  readonly lastedMs: number;
  /** Sent by all processes together. */
  readonly messages: number;
}

export interface RunCounts {
  transactions: number;
  commits: number;
  conflicts: number;
  unknown: number;
  rolledForward: number;
  rolledBack: number;
  observerRuns: number;
  /** Observer runs that hung for a while. */
  hung: number;
  /** Cells whose observers failed too often. */
  parked: number;
  /** Parked cells that were notified again. */
  replayed: number;
  tablesDropped: number;
  /** Cells erased by the collector. */
  cellsCollected: number;
}

export interface SimulationOptions {
  /** Called for everything that happens: for stories. Default: not called. */
  readonly tell?: ((timeMs: number, who: string, what: string) => void) | undefined;
  /** Called for messages and processes, with the world as it is then. Default: not called. */
  readonly record?: ((world: World, event: NetworkEvent) => void) | undefined;
  /** Called for events of leases, horizon and reads. Default: not called. */
  readonly watch?: ((timeMs: number, event: WatchedEvent) => void) | undefined;
  /** Called when the run is over and the judges begin: for benchmarks. Default: not called. */
  readonly onJudging?: (() => void) | undefined;
}

/**
 * Processes that begin no transaction of their plans for this long, in virtual time, wait forever.
 * A whole run may last longer: where many requests for timestamps meet a fault, a transaction takes
 * seconds.
 */
const LIMIT_MS = 400_000;
const RESTART_MS = 25;
/**
 * A death is known after this many times to live of a lock, at the latest: some waits end only
 * then.
 */
const KNOWN_AFTER_TTLS = 20;
/** A late message may set a lock or a notification again; the second round finds it. */
const SETTLING_ROUNDS = 2;

export async function simulate(
  plan: SimulationPlan,
  options: SimulationOptions = {},
): Promise<Result> {
  const simulation = new Simulation(plan, options);
  try {
    await simulation.run();
  } catch (error) {
    // An error outside of the clients: the storage got an impossible request.
    simulation.fail(error);
  }
  options.onJudging?.();
  return simulation.result();
}

interface ProcessSlot {
  readonly plan: ProcessPlan;
  /** Transactions begun. Only grows, also from life to life. */
  begun: number;
  lives: number;
  client: SimulatedClient;
}

class Simulation {
  readonly #world: World;
  readonly #run: SimulatedRun;
  readonly #slots: ProcessSlot[] = [];
  readonly #clients: SimulatedClient[] = [];
  readonly #violations: Violation[] = [];

  constructor(plan: SimulationPlan, { tell, record, watch }: SimulationOptions) {
    const world = new World(plan.seed, plan.knobs);
    this.#world = world;
    if (tell !== undefined) {
      world.tell = (who, what) => {
        tell(world.timeline.nowMs, who, what);
      };
    }
    if (record !== undefined) {
      world.record = (event) => {
        record(world, event);
      };
    }
    if (watch !== undefined) {
      world.watch = (event) => {
        watch(world.timeline.nowMs, event);
      };
    }
    setFirstTimestamp(world);
    world.observed = observersOf(world.names);
    this.#run = {
      plan,
      world,
      liveness: new SimulatedLiveness(),
      oracles: plan.knobs.oracleProcesses ? new OracleService(world) : undefined,
      scanLocks: plan.knobs.scanLocks === true ? new ScanLockService(world) : undefined,
      transactions: [],
      answers: [],
      followed: new Map(),
      collector: undefined,
      unknowns: 0,
      replayed: 0,
      dropped: 0,
      hung: 0,
      isMischievous: true,
      hasWeak: plan.processes.some(({ transactions }) =>
        transactions.some(({ operations }) => operations.some((one) => one.do === 'weak')),
      ),
      observerFailures: new Map(),
      died: (process) => {
        this.#died(process);
      },
      fail: (error, who) => {
        const message = `${who}: ${error instanceof Error ? error.stack : String(error)}`;
        this.#violations.push({ claim: 'engine: unexpected error', message });
      },
    };
  }

  async run(): Promise<void> {
    const { plan } = this.#run;
    await this.#createTables();
    plan.processes.forEach((process) => {
      const slot = { plan: process, begun: 0, lives: 0 };
      const client = this.#newClient(process, `client ${this.#slots.length}`, 0);
      this.#slots.push({ ...slot, client });
    });
    for (const slot of this.#slots) this.#start(slot);
    clusterOf(this.#world)?.trouble();
    scheduleEvents(this.#run, () => this.#slots.map(({ client }) => client));
    await this.#until(() => this.#isDone(), 'the clients to finish');
    await this.#settle();
  }

  /** Creates the tables before anything can go wrong. */
  async #createTables(): Promise<void> {
    this.#world.troubled = false;
    const founder = this.#newClient(
      { transactions: [], concurrency: 1, worker: false },
      'founder',
      0,
    );
    await this.#await(founder.open(), 'the tables to be created');
    founder.process.kill();
    this.#world.troubled = true;
  }

  fail(error: unknown): void {
    this.#run.fail(error, 'the run');
  }

  /** A client that is about to exit has not finished: nothing starts its next life in peace. */
  #isDone(): boolean {
    if (this.#violations.length > 0) return true;
    return this.#slots.every(({ plan, begun, client: { loops, process, isLeaving } }) => {
      const hasBegunAll = begun >= plan.transactions.length;
      return hasBegunAll && loops === 0 && process.isAlive && !isLeaving;
    });
  }

  /** Runs on until `isOver`; a run that cannot get there is a finding. */
  async #until(isOver: () => boolean, what: string): Promise<void> {
    const { timeline } = this.#world;
    let [begun, limit] = [this.#begun, timeline.nowMs + LIMIT_MS];
    const isStuck = (): boolean => {
      if (begun !== this.#begun) [begun, limit] = [this.#begun, timeline.nowMs + LIMIT_MS];
      return timeline.nowMs > limit;
    };
    const ended = await timeline.run(() => isOver() || isStuck());
    if (ended && !isStuck()) return;
    this.#violations.push({
      claim: 'progress: stuck',
      message: `waited in vain for ${what}, until ${timeline.nowMs} ms of virtual time`,
    });
  }

  /** Transactions of the plans that have begun. */
  get #begun(): number {
    return this.#slots.reduce(
      (sum, { begun, plan }) => sum + Math.min(begun, plan.transactions.length),
      0,
    );
  }

  /** Awaits work that needs virtual time to pass. */
  async #await(work: Promise<unknown>, what: string): Promise<void> {
    let isOver = this.#violations.length > 0;
    work.then(
      () => {
        isOver = true;
      },
      (error: unknown) => {
        isOver = true;
        this.#run.fail(error, what);
      },
    );
    await this.#until(() => isOver, what);
  }

  /** Peace: nothing goes wrong any more, and later processes finish everything that was begun. */
  async #settle(): Promise<void> {
    if (this.#violations.length > 0) return;
    this.#world.troubled = false;
    calmCluster(this.#world);
    for (const { client } of this.#slots) this.#run.liveness.trust(client.process.name);
    await judgeMischief(this.#run, {
      clients: this.#slots.map(({ client }) => client),
      until: (isOver, what) => this.#until(isOver, what),
      await: (work, what) => this.#await(work, what),
    });
    if (this.#violations.length > 0) return;
    const stopping = this.#slots.map(({ client }) => client.stopBackground());
    await this.#await(Promise.all(stopping), 'workers and collector to stop');
    await this.#await(this.#judgeDebris(), 'background work to end');
    const last = this.#newClient({ transactions: [], concurrency: 1, worker: true }, 'last', 0);
    const opened = last.open();
    await this.#await(opened, 'the last client to open');
    if (this.#violations.length > 0) return;
    const percolator = await opened;
    const checks = new FinalChecks(this.#world, last, percolator);
    await this.#runChecks(checks);
    if (this.#world.knobs.hbase === undefined) {
      const judging = judgeDurations(this.#run, last, percolator);
      await this.#await(judging, 'the locks of a dead process');
      await this.#await(judgeSilence(this.#run), 'a caller to hear that nothing answers');
      await this.#await(checks.loseStore(), 'a lost store to be noticed');
    }
    for (const client of this.#clients) client.process.kill();
  }

  async #runChecks(checks: FinalChecks): Promise<void> {
    await this.#await(checks.writeBlindly(), 'every cell to be written');
    for (let round = 0; round < SETTLING_ROUNDS; round++) {
      await this.#await(checks.readEverything(), 'everything to be read');
      await this.#await(checks.idle(), 'observers to be idle');
      await this.#untilArrived();
    }
    await this.#await(checks.seeWhenIdle(), 'a last change to be seen');
    await this.#await(checks.follow(this.#run), 'the changes to be read');
    if (this.#world.umpire.isCalm) await this.#await(checks.contend(), 'rivals to succeed');
    const left = leftLocks(this.#world);
    // Of an observer that no process has any more, only a collector resolves the locks.
    const areStrange = left.length > 0 && left.every(isOfStranger);
    if (this.#world.knobs.collector || areStrange) {
      await this.#await(checks.audit(), 'the audit'); // What it finds might be collected.
      await this.#await(checks.collect(), 'the last collection');
      await this.#await(checks.readEverything(), 'everything to be read');
    }
    await this.#await(checks.audit(), 'the audit');
    const harm = await this.#run.oracles?.harmDone();
    if (harm !== undefined) this.#world.umpire.find('identity: another database changed', harm);
  }

  /** When all clients have finished a run in which nothing went wrong, no locks may be left. */
  async #judgeDebris(): Promise<void> {
    for (const { client } of this.#slots) {
      client.runs?.close();
      await client.percolator?.settled();
    }
    const { umpire } = this.#world;
    if (!umpire.isCalm) return;
    for (const lock of leftLocks(this.#world)) {
      umpire.find('debris: lock left', `${lock} is left, although nothing has gone wrong`);
    }
  }

  /** Waits until no copy of a message is in flight any more. */
  async #untilArrived(): Promise<void> {
    const { timeline, lastArrivalMs } = this.#world;
    timeline.at(lastArrivalMs + 1, () => {});
    await this.#until(() => timeline.nowMs > lastArrivalMs, 'messages to arrive');
  }

  result(): Result {
    const run = this.#run;
    const history: History = {
      transactions: run.transactions,
      records: this.#world.records,
      rollbacks: this.#world.rollbacks,
    };
    if (this.#violations.length === 0) this.#violations.push(...judge(run, history));
    return {
      plan: run.plan,
      violations: this.#violations,
      history,
      counts: this.#counts(),
      faults: this.#world.faults,
      stopped: this.#world.waits.stopped,
      cluster: clusterOf(this.#world)?.counts,
      digest: this.#world.digest,
      lastedMs: this.#world.timeline.nowMs,
      messages: this.#world.messages,
    };
  }

  #counts(): RunCounts {
    const sum = (of: (client: SimulatedClient) => number): number =>
      this.#clients.reduce((total, client) => total + of(client), 0);
    return {
      transactions: this.#run.transactions.length,
      commits: sum(({ percolator }) => percolator?.counters.committed ?? 0),
      conflicts: sum(({ percolator }) => percolator?.counters.conflicts ?? 0),
      unknown: this.#run.unknowns,
      rolledForward: sum(({ percolator }) => percolator?.counters.rolledForward ?? 0),
      rolledBack: sum(({ percolator }) => percolator?.counters.rolledBack ?? 0),
      observerRuns: sum(({ worker }) => worker?.counters.runs ?? 0),
      hung: this.#run.hung,
      parked: sum(({ worker }) => worker?.counters.parked ?? 0),
      replayed: this.#run.replayed,
      tablesDropped: this.#run.dropped,
      cellsCollected: sum(({ collector }) => collector?.counters.cellsDeleted ?? 0),
    };
  }

  #newClient(plan: ProcessPlan, role: string, life: number): SimulatedClient {
    const names = {
      name: life === 0 ? role : `${role}, life ${life}`,
      id: this.#clients.length + 1,
      life,
    };
    const client = new SimulatedClient(this.#run, plan, names);
    this.#clients.push(client);
    return client;
  }

  #start(slot: ProcessSlot): void {
    if (slot.plan.collector === true) this.#run.collector = slot.client;
    slot.client.start(() => slot.plan.transactions[slot.begun++]);
  }

  /** Starts the process again. The lock service learns of its death at once, or later. */
  #died(process: SimulatedProcess): void {
    const { world, liveness } = this.#run;
    if (world.troubled) world.record?.({ kind: 'died', process: process.name });
    const bury = (): void => liveness.bury(process.name);
    if (world.knobs.deathIsKnown || !world.troubled) bury();
    else world.timeline.after(KNOWN_AFTER_TTLS * world.knobs.lockTimeToLiveMs, bury);
    const slot = this.#slots.find(({ client }) => client.process === process);
    if (slot === undefined || !world.troubled) return;
    world.timeline.after(RESTART_MS, () => {
      slot.lives++;
      slot.client = this.#newClient(slot.plan, `client ${this.#slots.indexOf(slot)}`, slot.lives);
      this.#start(slot);
    });
  }
}
