/**
 * The two services of a simulated run: the timestamp oracle, and below it the locks of scanners.
 *
 * The oracle has two processes, with the real allocator in each, on the same row, and the real
 * client of the service on the simulated network.
 *
 *     client ──▶ the oracle it believes in ──▶ the allocator ──▶ the storage's row
 *            └─▶ the oracle of another database, if it is misled
 *
 * After a fail-over most clients ask the other oracle; the old one does not know this, keeps its
 * range, and answers clients that still ask it. Either may die and come back. In some runs the
 * oracle with the lease hands out timestamps from memory.
 *
 * In some runs there is a second database in the network (P73): its oracle never dies, and its
 * timestamps are far below or above. A client meets it if its configuration is wrong, or if that
 * oracle listens, for a while, at an address of this database's.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import {
  type RangeLock,
  type RangeLocks,
  RangeLockTable,
} from '../../../engine/lock-service/index.ts';
import { ScanLocks } from '../../../engine/observer/peers.ts';
import { type OracleConnection, oracleOf } from '../../../engine/oracle/client.ts';
import {
  type LeasedAllocator,
  openAllocator,
  openLeasedAllocator,
  type TimestampOracle,
  type TimestampSource,
} from '../../../engine/oracle/index.ts';
import { answersFrom, type OracleAnswers } from '../../../engine/oracle/server.ts';
import { createMemoryBigtable } from '../../../engine/testing/index.ts';
import { GivenOracle } from './given-oracle.ts';
import { hbaseOf } from './hbase/database-run.ts';
import type { MessageFault } from './knobs.ts';
import { clockOf, type Machine, untilOpen } from './machine.ts';
import { send } from './network.ts';
import { TABLES } from './plan.ts';
import { SimulatedClock, SimulatedProcess } from './process.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import type { World } from './world.ts';

interface Oracle extends Machine {
  readonly source: Promise<TimestampSource | LeasedAllocator>;
  /** The source, once it is open. */
  opened: TimestampSource | LeasedAllocator | undefined;
}

interface Question<T> {
  readonly serve: (answers: OracleAnswers) => Promise<T>;
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * While faults happen, this percentage of requests goes to the oracle that is not active, also
 * before the first fail-over.
 */
const STALE_PERCENT = 20;
/** For draws of chance: which oracle a request goes to. */
const WHICH_ORACLE = 9;
const RESTART_MS = 10;
/**
 * For oracles that hand out timestamps from memory: how long after the death of one no timestamp is
 * handed out.
 */
export const LEASE_TTL_MS = 100;
/** For draws of chance: the addresses in a client's configuration. */
const CONFIGURATION = 11;
/**
 * Shares of the clients that are given the second database's address, alone or before the right
 * one.
 */
const SWAPPED = 0.15;
const MIXED = 0.4;
/** How far above the first timestamp of the run those of the second database may be. */
const FAR_ABOVE = 1_000_000;

/**
 * What the second database's oracle is spared: nothing would start it again, and a client that
 * knows only its address would never hear that the address is wrong.
 */
const DEATHS: ReadonlySet<MessageFault> = new Set(['crashBefore', 'crashAfter']);

/** Where a client sends its requests: to this database's oracles, or to the second one's. */
type Address = 'the oracle' | 'the other oracle';

export class OracleService {
  readonly #world: World;
  readonly #oracles: Oracle[];
  /** The oracle of the second database, if there is one. */
  readonly #foreign: Oracle | undefined;
  #lives = 0;
  #active = 0;
  /** Until then, the second database's oracle answers at this one's address. */
  #isForeignUntilMs = 0;

  constructor(world: World) {
    this.#world = world;
    this.#oracles = [0, 1].map((index) => this.#start(index));
    const { secondDatabase } = world.knobs;
    if (secondDatabase !== undefined) this.#foreign = this.#startForeign(secondDatabase);
  }

  get machines(): readonly Machine[] {
    return this.#oracles;
  }

  failOver(): void {
    const old = this.#oracles[this.#active];
    this.#active = 1 - this.#active;
    // As long as the old oracle lives it keeps its lease, and the other one has nothing to hand
    // out.
    if (this.#isLeased) this.#world.timeline.after(LEASE_TTL_MS / 2, () => old?.process.kill());
  }

  restart(): void {
    this.#oracles[this.#active]?.process.kill();
  }

  /** Lets the second database's oracle answer at this one's address for a while. */
  mislead(ms: number): void {
    this.#isForeignUntilMs = this.#world.timeline.nowMs + ms;
  }

  /**
   * The client of the service, with the addresses in the configuration of the process.
   * @param given closes it. Default: it is never closed
   */
  clientFor(
    { process, clock }: Machine,
    given: GivenOracle = new GivenOracle(() => {}),
  ): TimestampOracle {
    const { knobs } = this.#world;
    const attemptMs = 3 * knobs.deadlineMs + 8 * knobs.delayMsMax;
    const connections = this.#addressesOf(process).map((address) =>
      this.#connect(process, address, given),
    );
    return oracleOf(connections, { attemptMs, timeoutMs: attemptMs, clock });
  }

  #addressesOf(process: SimulatedProcess): readonly Address[] {
    if (this.#foreign === undefined || !this.#world.troubled) return ['the oracle'];
    const drawn = this.#world.draw(process, 0, CONFIGURATION);
    // If that one has died, no answer would ever tell the process, and it would wait forever.
    const isThere = this.#foreign.process.isAlive;
    if (drawn < SWAPPED) return isThere ? ['the other oracle'] : ['the oracle'];
    return drawn < MIXED ? ['the other oracle', 'the oracle'] : ['the oracle'];
  }

  #connect(client: SimulatedProcess, address: Address, given: GivenOracle): OracleConnection {
    return {
      address,
      close: () => {},
      call: <Answer>(method: string, request: object) => {
        const serve = (answers: OracleAnswers): Promise<unknown> =>
          (answers as unknown as Record<string, (request: object) => Promise<unknown>>)[method]?.(
            request,
          ) ?? Promise.reject(new Error(`there is no method ${method}`));
        const what = `${method} ${JSON.stringify(request)}`;
        return given.refusal() ?? (this.#ask(client, address, what, serve) as Promise<Answer>);
      },
    };
  }

  /** What this database's clients have changed at the second one's oracle: nothing (P73). */
  async harmDone(): Promise<string | undefined> {
    const source = await this.#foreign?.source;
    if (source === undefined) return undefined;
    const { horizon, drops } = await source.allocate(1);
    return horizon + drops === 0 ? undefined : `its horizon is ${horizon}, and its drops ${drops}`;
  }

  get #isLeased(): boolean {
    return this.#world.knobs.leasedOracles === true;
  }

  /**
   * The oracle to ask: the active one. In peace, with leased oracles, the one that has the lease
   * becomes the active one.
   */
  #meant(): number {
    if (this.#world.troubled || !this.#isLeased) return this.#active;
    const leading = this.#oracles.findIndex(
      ({ opened }) => opened !== undefined && 'isLeading' in opened && opened.isLeading,
    );
    if (leading >= 0) this.#active = leading;
    return this.#active;
  }

  #start(index: number): Oracle {
    const life = this.#lives++;
    const names = { name: `oracle ${index}, life ${life}`, id: 10_000 + life };
    const process = new SimulatedProcess(this.#world.timeline, names, () => {
      this.#world.timeline.after(RESTART_MS, () => {
        this.#oracles[index] = this.#start(index);
      });
    });
    const clock = clockOf(this.#world, process);
    const store =
      hbaseOf(this.#world, process, clock) ?? new SimulatedBigtable(this.#world, process);
    const { rangeSize } = this.#world.knobs;
    const options = { rangeSize, owner: names.name };
    const source = untilOpen(clock, () =>
      this.#isLeased
        ? openLeasedAllocator(store, clock, { ...options, leaseTimeToLiveMs: LEASE_TTL_MS })
        : openAllocator(store, { ...options, clock }),
    );
    const oracle: Oracle = { process, clock, source, opened: undefined };
    source.then(
      (opened) => {
        oracle.opened = opened;
      },
      () => {}, // Callers that wait for the source hear the error.
    );
    return oracle;
  }

  #startForeign(secondDatabase: 'below' | 'above'): Oracle {
    const { timeline, knobs } = this.#world;
    const process = new SimulatedProcess(timeline, { name: 'other oracle', id: 9_999 }, () => {});
    const clock = clockOf(this.#world, process);
    const open = async (): Promise<TimestampSource> => {
      const source = await openAllocator(createMemoryBigtable(), { clock });
      if (secondDatabase === 'above') await source.allocate(knobs.firstTimestamp + FAR_ABOVE);
      return source;
    };
    return { process, clock, source: open(), opened: undefined };
  }

  /**
   * The oracle that answers, as an index of this database's oracles, or the second database's: from
   * a wrong address, or because it listens at this one.
   */
  #oracleAt(client: SimulatedProcess, address: Address): () => Oracle | undefined {
    const { troubled, timeline } = this.#world;
    const drawn = this.#world.draw(client, client.messages, WHICH_ORACLE) * 100;
    const meant = this.#meant();
    const index = troubled && drawn < STALE_PERCENT ? 1 - meant : meant;
    return () => {
      const isForeign = this.#world.troubled && timeline.nowMs < this.#isForeignUntilMs;
      return address === 'the other oracle' || isForeign ? this.#foreign : this.#oracles[index];
    };
  }

  /**
   * One request. A caller that gets no answer in time may ask again: lost timestamps cost nothing,
   * and the horizon and the count of drops only grow.
   */
  #ask<T>(
    client: SimulatedProcess,
    address: Address,
    what: string,
    serve: (answers: OracleAnswers) => Promise<T>,
  ): Promise<T> {
    const { knobs, timeline } = this.#world;
    const oracleThen = this.#oracleAt(client, address);
    return new Promise((resolve, reject) => {
      const noAnswer = (): PercolatorError =>
        new PercolatorError('STORE_UNAVAILABLE', 'the oracle did not answer');
      timeline.after(3 * knobs.deadlineMs + 8 * knobs.delayMsMax, () => {
        client.deliver(() => {
          reject(noAnswer());
        });
      });
      const request = send(this.#world, client, {
        arrive: () => {
          const oracle = oracleThen();
          oracle?.process.deliver(() => {
            void this.#serve(oracle, client, { serve, resolve, reject });
          });
        },
        gaveUp: noAnswer,
        describe: () => `asks ${oracleThen()?.process.name}: ${what}`,
        request: { kind: 'timestamp' },
      });
      request.catch(reject);
    });
  }

  /** The answer, a value or an error, travels back as the oracle's own message. */
  async #serve<T>(oracle: Oracle, client: SimulatedProcess, question: Question<T>): Promise<void> {
    const hear = await answerOf(oracle, question);
    const reply = send(this.#world, oracle.process, {
      arrive: () => client.deliver(hear),
      gaveUp: () => new PercolatorError('STORE_UNAVAILABLE', 'no process waits for it'),
      describe: () => `answers ${client.name}`,
      immuneTo: oracle === this.#foreign ? DEATHS : undefined,
    });
    reply.catch(() => {});
  }
}

/** What the client does when the answer has arrived. */
async function answerOf<T>(
  { source }: Oracle,
  { serve, resolve, reject }: Question<T>,
): Promise<() => void> {
  try {
    const answer = await serve(answersFrom(await source));
    return () => resolve(answer);
  } catch (error) {
    return () => reject(error);
  }
}

/*
 * The lock service's advisory locks for scanners (P49), over the same bad network: the real table
 * of locks, which may be lost at any moment. If there is a second database, it uses the same
 * service, and its scanners are always somewhere in tables of the same names (P75).
 */

/** Dead processes release nothing; their rows must become free within the patience of a run. */
const TTL_MS = 150;
/** Every process must have an id. Nothing is drawn with this one: the service sends no message. */
const ID = 20_000;
const NO_LOCK: RangeLock = { release: () => {} };

export class ScanLockService {
  readonly #world: World;
  readonly #clock: SimulatedClock;
  #locks: RangeLockTable;

  constructor(world: World) {
    this.#world = world;
    const process = new SimulatedProcess(world.timeline, { name: 'locks', id: ID }, () => {});
    this.#clock = new SimulatedClock(world.timeline, process, { skewMs: 0, rate: 1 });
    this.#locks = new RangeLockTable(this.#clock, TTL_MS);
  }

  /** Restarts empty. */
  lose(): void {
    this.#locks = new RangeLockTable(this.#clock, TTL_MS);
  }

  locksFor(process: SimulatedProcess): RangeLocks {
    return {
      tryLock: async (range) => {
        const what = `${range.table} from ${range.from} to ${range.to}`;
        const lock = (): number => {
          this.#lockElsewhere();
          return this.#locks.lock(process.name, range) ?? 0;
        };
        try {
          const number = await this.#ask(process, lock, `locks ${what} against scanners`);
          return number === 0 ? undefined : { release: () => this.#release(process, number) };
        } catch {
          return NO_LOCK; // As in the real client: without an answer, the rows count as free.
        }
      },
    };
  }

  /** The scanners of the second database work on all its rows. */
  #lockElsewhere(): void {
    if (this.#world.knobs.secondDatabase === undefined) return;
    const other = this.#locks.of('scanner of the second database');
    for (const name of TABLES) {
      const rows = ['', '\u{10ffff}'].map((row) => ({
        name,
        table: this.#world.names.table(name),
        row,
      }));
      void new ScanLocks(other, this.#clock, 'second-database').tryLock(rows);
    }
  }

  #release(process: SimulatedProcess, number: number): void {
    const unlock = (): void => this.#locks.unlock(number);
    this.#ask(process, unlock, `releases lock ${number}`).catch(() => {});
  }

  #ask<T>(process: SimulatedProcess, arrive: () => T, what: string): Promise<T> {
    return send(this.#world, process, {
      arrive,
      gaveUp: () => new PercolatorError('STORE_UNAVAILABLE', 'the lock service did not answer'),
      describe: () => what,
    });
  }
}
