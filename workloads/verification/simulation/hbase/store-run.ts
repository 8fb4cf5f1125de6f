/**
 * A simulated run of the HBase client alone: a few processes read and write a few rows of a
 * simulated cluster (cluster.ts), and every answer is compared with what really was there
 * (truth.ts).
 *
 * A lock is a cell that a conditional mutation sets if the row has none. Another conditional
 * mutation removes that lock if it is still there, and sets a value in the same step, as in the
 * engine's protocol. Values are also set blindly, alone and in batches.
 */
import {
  type Clock,
  createRandom,
  hasCode,
  PercolatorError,
  type Random,
} from '../../../../engine/base/index.ts';
import type { Bigtable, Mutation, RangeRead, Row } from '../../../../engine/bigtable/index.ts';
import { createHBase } from '../../../../engine/bigtable/hbase/open-hbase.ts';
import { Servers } from '../../../../engine/bigtable/hbase/servers.ts';
import type { Violation } from '../../judges/history.ts';
import { jumpMs } from '../events.ts';
import { SimulatedClock, SimulatedProcess } from '../process.ts';
import { Timeline } from '../../world/event-loop.ts';
import {
  CALL_FAULTS,
  HBaseCluster,
  CLUSTER_EVENTS,
  type HBaseKnobs,
  randomRates,
} from './cluster.ts';
import { FILTERS, LOCK, plain, type Span, HBaseTruth } from './truth.ts';
import { connectTo } from './wire.ts';

const TABLE = 't';
const ROWS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const SPLITS = ['c', 'f'];
const OPERATIONS = 60;
/** Deadlines of the client's calls: its default, and a short one. */
const TIMEOUTS_MS = [10_000, 3000];
/** What a process may take for less than its deadline (base/clock.ts). */
const TOLERANCE = 1.06;
/** Longest stops of a client's machine: some are shorter than a deadline, some longer than all. */
const STOPS_MS = [6000, 25_000];
/** The mean time between two stops of a machine. */
const STOPS_EVERY_MS = 60_000;
/** Longer than all that is in flight takes to arrive. */
const REST_MS = 60_000;
/** The shortest session that the proof of servers.ts allows. */
const SESSION_MS = 3000;
const LIMIT_MS = 3_600_000;

export interface StoreRunResult {
  readonly violations: readonly Violation[];
  readonly counts: HBaseCluster['counts'];
  /** How many operations were answered, refused, in doubt. */
  readonly answers: Readonly<Record<'answered' | 'refused' | 'inDoubt', number>>;
}

/** @param favoured replaces knobs of the seed */
export async function simulateStore(
  seed: number,
  favoured: Partial<HBaseKnobs> = {},
): Promise<StoreRunResult> {
  const run = new StoreRun(seed, favoured);
  return run.run();
}

/** A random subset of what can happen, at random rates. */
function knobsOf(random: Random): HBaseKnobs {
  return {
    servers: random.integer(2, 4),
    events: randomRates(random, CLUSTER_EVENTS, 0.15),
    calls: randomRates(random, CALL_FAULTS, 0.01),
    moveInBatch: random.pick([0, 0.02, 0.1]),
    delayMsMax: random.pick([1, 20, 200, 1500]),
    sessionMs: SESSION_MS,
    pauseMsMax: random.pick([4000, 9000]),
    noticeMsMax: random.pick([50, 2000]),
    openMsMax: random.pick([50, 2000]),
    stopInRest: random.pick([0, 0.02, 0.1]),
  };
}

interface ClientProcess {
  readonly clock: SimulatedClock;
  readonly store: Bigtable;
  readonly timeoutMs: number;
}

/** One call of a client, which begins now. */
interface JudgedCall {
  /** From its beginning until now. */
  readonly span: () => Span;
  /** To be called for each write that it sends. */
  readonly sends: (row: string, timestamp: number) => void;
  /** A second call of the same operation. */
  readonly again: () => JudgedCall;
}

/** The clock of a client that rests between two tries of a call. */
function stoppingInRests(clock: SimulatedClock, onRest: (ms: number) => void): Clock {
  return {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) => {
      onRest(ms);
      return clock.sleep(ms, signal);
    },
    yield: () => clock.yield(),
  };
}

class StoreRun {
  readonly #timeline = new Timeline();
  readonly #truth = new HBaseTruth(() => this.#timeline.nowMs);
  readonly #random: Random;
  readonly #cluster: HBaseCluster;
  readonly #clients: readonly ClientProcess[];
  readonly #conditionals = new Set<string>();
  readonly #answers = { answered: 0, refused: 0, inDoubt: 0 };
  readonly #knobs: HBaseKnobs;
  readonly #stops: Random;
  #timestamp = 0;

  constructor(seed: number, favoured: Partial<HBaseKnobs>) {
    this.#random = createRandom(seed).fork('hbase');
    const knobs = (this.#knobs = { ...knobsOf(this.#random), ...favoured });
    this.#stops = createRandom(seed).fork('stops');
    const timeline = this.#timeline;
    this.#cluster = new HBaseCluster(
      { seed, knobs, timeline },
      { onApplied: (_, row, protos) => this.#truth.applied(row, protos) },
    );
    this.#clients = Array.from({ length: this.#random.integer(2, 4) }, (_, id) => {
      const process = new SimulatedProcess(timeline, { name: `client ${id}`, id }, () => {});
      const own = new SimulatedClock(timeline, process, { skewMs: 0, rate: 1 });
      const clock = stoppingInRests(own, (ms) => this.#inRest(own, process, ms));
      const connect = connectTo({ seed, knobs, timeline, cluster: this.#cluster, process });
      const timeoutMs = this.#random.pick(TIMEOUTS_MS);
      const { store } = createHBase(new Servers({ clock, connect }), {
        clock,
        servers: this.#cluster.seeds,
        timeoutMs,
        sessionTimeoutMs: knobs.sessionMs,
      });
      this.#scheduleStops(own, process);
      return { clock: own, store, timeoutMs };
    });
  }

  async run(): Promise<StoreRunResult> {
    const { store } = this.#clients[0] as ClientProcess;
    await this.#await(store.createTable(TABLE, { families: ['f'], splits: SPLITS }), 'the table');
    // From now on each client knows the families, and the time of a call begins with the call.
    const looks = this.#clients.map((one) => one.store.readRow(TABLE, 'a', FILTERS));
    await this.#await(Promise.all(looks), 'the families');
    this.#cluster.trouble();
    const loops = this.#clients.flatMap((client, i) => {
      const random = this.#random.fork(`client ${i}`);
      const restMsMax = random.pick([50, 500, 4000]);
      return Array.from({ length: random.pick([1, 1, 4]) }, (_, j) =>
        this.#loop(client, random.fork(`loop ${j}`), restMsMax),
      );
    });
    await this.#await(Promise.all(loops), 'the clients');
    this.#cluster.troubled = false;
    await this.#await(this.#settle(), 'the reads at the end');
    this.#truth.judge(this.#conditionals);
    const { violations } = this.#truth;
    return { violations, counts: this.#cluster.counts, answers: this.#answers };
  }

  async #await(work: Promise<unknown>, what: string): Promise<void> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    work.then(end, (error: unknown) => {
      this.#truth.find('client: unexpected error', (error as Error).stack ?? String(error));
      end();
    });
    const limit = this.#timeline.nowMs + LIMIT_MS;
    await this.#timeline.run(() => isOver || this.#timeline.nowMs > limit);
    if (!isOver) this.#truth.find('progress: stuck', `waited in vain for ${what}`);
  }

  /** After a rest, in which everything arrives, each client reads what is there. */
  async #settle(): Promise<void> {
    for (const { clock, store } of this.#clients) {
      await clock.sleep(REST_MS);
      const range = { limit: Infinity, reverse: this.#knobs.reverse };
      const scanned = await store.readRange(TABLE, range, FILTERS);
      this.#compare('scan', scanned, this.#truth.table.readRange(range, FILTERS));
      const read = await store.readRows(TABLE, ROWS, FILTERS);
      this.#compare(
        'rows',
        read,
        ROWS.map((row) => this.#truth.table.readRow(row, FILTERS)),
      );
    }
  }

  #compare(what: string, found: readonly (Row | undefined)[], truth: typeof found): void {
    const [seen, was] = [found.map(plain).join('; '), truth.map(plain).join('; ')];
    if (seen !== was) this.#truth.find(`reads: wrong ${what} at the end`, `${seen} is not ${was}`);
  }

  async #loop(client: ClientProcess, random: Random, restMsMax: number): Promise<void> {
    for (let i = 0; i < OPERATIONS; i++) {
      await client.clock.sleep(random.integer(0, restMsMax));
      const call = this.#callOf(client);
      try {
        await this.#operate(client.store, random, call);
        this.#answers.answered++;
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error;
        if (error.code === 'STORE_IN_DOUBT') this.#answers.inDoubt++;
        else if (error.code === 'STORE_UNAVAILABLE') this.#answers.refused++;
        else throw error;
      }
    }
  }

  #callOf(client: ClientProcess): JudgedCall {
    const { store, timeoutMs } = client;
    const begun = this.#truth.now();
    const deadlineMs = this.#timeline.nowMs + timeoutMs * TOLERANCE;
    const { messageLifetimeMs = 0 } = store.manifest;
    const endMs = deadlineMs + messageLifetimeMs - timeoutMs + this.#knobs.delayMsMax;
    return {
      span: () => ({ begun, ended: this.#truth.now(), deadlineMs }),
      sends: (row, timestamp) => this.#truth.sends(row, timestamp, endMs),
      again: () => this.#callOf(client),
    };
  }

  /** Stops machines at moments that no code of theirs knows: while it waits for something. */
  #scheduleStops(clock: SimulatedClock, process: SimulatedProcess): void {
    this.#timeline.after(this.#stops.integer(1, 2 * STOPS_EVERY_MS), () => {
      if (this.#cluster.troubled) this.#stop(clock, process);
      this.#scheduleStops(clock, process);
    });
  }

  #inRest(clock: SimulatedClock, process: SimulatedProcess, restMs: number): void {
    if (this.#stops.fraction() >= (this.#knobs.stopInRest ?? 0)) return;
    this.#timeline.after(this.#stops.integer(0, restMs), () => {
      if (this.#cluster.troubled) this.#stop(clock, process);
    });
  }

  /** Both clocks go on, or the wall clock alone; or the wall clock is set. */
  #stop(clock: SimulatedClock, process: SimulatedProcess): void {
    const ms = this.#stops.integer(1, this.#stops.pick(STOPS_MS));
    const how = this.#stops.fraction();
    if (how < 0.4) process.pause(ms);
    else if (how < 0.9) clock.suspend(ms);
    else clock.skewMs += jumpMs(2 * this.#stops.fraction() - 1);
  }

  async #operate(store: Bigtable, random: Random, call: JudgedCall): Promise<void> {
    const { span } = call;
    const rows = ROWS.filter(() => random.fraction() < 0.4);
    const row = random.pick(ROWS);
    const kind = random.fraction();
    if (kind < 0.2) return this.#truth.read(row, await store.readRow(TABLE, row, FILTERS), span());
    if (kind < 0.35) {
      await this.#look(store, rows, span);
      return;
    }
    if (kind < 0.45) {
      const limit = random.pick([3, Infinity]);
      return this.#scan(store, { limit, reverse: this.#knobs.reverse }, span);
    }
    if (kind < 0.65) return this.#write(store, kind < 0.55 ? [row] : rows, call);
    return this.#lock(store, kind < 0.8 ? [row] : rows, random, call);
  }

  async #scan(store: Bigtable, range: RangeRead, span: () => Span): Promise<void> {
    const read = await store.readRange(TABLE, range, FILTERS);
    const whole = span();
    const keys = read.map(({ key }) => key);
    const order = range.reverse === true ? ROWS.toReversed() : ROWS;
    const wanted = order.filter((key) => keys.includes(key));
    if (wanted.join() !== keys.join()) this.#truth.find('reads: rows out of order', keys.join());
    const last = read.length < range.limit ? undefined : read.at(-1)?.key;
    const covered = order.slice(0, order.findIndex((key) => key === last) + 1);
    for (const key of last === undefined ? order : covered) {
      this.#truth.read(key, read[keys.indexOf(key)], whole);
    }
  }

  async #look(
    store: Bigtable,
    rows: readonly string[],
    span: () => Span,
  ): Promise<readonly (Row | undefined)[]> {
    const read = await store.readRows(TABLE, rows, FILTERS);
    const whole = span();
    rows.forEach((row, i) => this.#truth.read(row, read[i], whole));
    return read;
  }

  async #write(
    store: Bigtable,
    rows: readonly string[],
    { span, sends }: JudgedCall,
  ): Promise<void> {
    const timestamp = ++this.#timestamp;
    for (const row of rows) sends(row, timestamp);
    try {
      await store.mutateRows(
        rows.map((row) => ({ table: TABLE, row, mutations: [value(timestamp)] })),
      );
    } catch (error) {
      // For several rows, the error does not say which of them it concerns.
      if (rows.length === 1) this.#failed(rows[0] ?? '', timestamp, error);
      throw error;
    }
    const whole = span();
    for (const row of rows) this.#truth.did(row, timestamp, whole);
  }

  /**
   * Half of the calls only lock the rows. The other half read them first, remove four in five of
   * the locks that they find, and try to lock all other rows.
   */
  async #lock(
    store: Bigtable,
    rows: readonly string[],
    random: Random,
    call: JudgedCall,
  ): Promise<void> {
    const looks = random.fraction() < 0.5;
    const read = looks ? await this.#look(store, rows, call.span) : [];
    const { span, sends } = looks ? call.again() : call;
    const plans = rows.map((row, i) => {
      const timestamp = ++this.#timestamp;
      this.#conditionals.add(`${row}@${timestamp}`);
      sends(row, timestamp);
      const held = random.fraction() < 0.8 ? lockIn(read[i]) : undefined;
      if (held === undefined) {
        const mutations = [{ ...value(timestamp), qualifier: 'lock' }];
        return { row, timestamp, filter: LOCK, mutations, applies: 'ifNotFound' as const };
      }
      const { family, qualifier = '' } = LOCK;
      const unlock: Mutation = { kind: 'erase', family, qualifier, from: held, to: held };
      const filter = { ...LOCK, from: held, to: held };
      return {
        row,
        timestamp,
        filter,
        mutations: [value(timestamp), unlock],
        applies: 'ifFound' as const,
      };
    });
    const answers = await store.checkAndMutateRows(
      plans.map(({ row, filter, mutations, applies }) => ({
        table: TABLE,
        row,
        anyOf: [filter],
        [applies]: mutations,
      })),
    );
    const whole = span();
    plans.forEach((plan, i) => {
      const found = answers[i] as boolean | Error;
      if (found instanceof Error) {
        this.#failed(plan.row, plan.timestamp, found);
        return;
      }
      const applies = found === (plan.applies === 'ifFound');
      this.#truth.decided(plan, { found, applies }, whole);
    });
    const failure = answers.find((answer) => answer instanceof Error);
    if (failure instanceof Error) throw failure;
  }

  #failed(row: string, timestamp: number, error: unknown): void {
    const isDoubtful = hasCode(error, 'STORE_IN_DOUBT');
    if (!isDoubtful) this.#truth.refused(row, timestamp, `the caller heard: ${String(error)}`);
  }
}

function lockIn(row: Row | undefined): number | undefined {
  return row?.cells.find(({ qualifier }) => qualifier === LOCK.qualifier)?.timestamp;
}

function value(timestamp: number): Mutation & { kind: 'set' } {
  const bytes = Buffer.from(String(timestamp));
  return { kind: 'set', family: 'f', qualifier: 'value', timestamp, value: bytes };
}
