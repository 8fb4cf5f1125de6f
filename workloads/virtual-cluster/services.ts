/**
 * The two small services on machines of their own: the timestamp oracle (the engine's, which hands
 * out timestamps from memory and holds a lease in the storage) and the lock service (the engine's
 * table of locks on ranges of rows).
 *
 *     client's cores ─▶ half a round trip ─▶ service's cores: asked ─▶ half a round trip ─▶ heard
 *
 * As with the engine's clients, a request is repeated if the oracle is dead or may not hand out
 * timestamps yet, and a scanner whose lock service is dead works without locks for a second. Unlike
 * those clients, a caller waits for a dead oracle until it is started again, and for a service that
 * is alive however long the answer takes.
 */
import type { RangeLocks, TimestampOracle } from '#engine';
import { hasCode } from '#engine/base';
import { type RangeLock, RangeLockTable } from '../../engine/lock-service/index.ts';
import {
  batchTimestamps,
  type LeasedAllocator,
  openLeasedAllocator,
} from '../../engine/oracle/index.ts';
import type { Caller } from './call.ts';
import { ClientStore } from './client-store.ts';
import type { Machine } from './machine.ts';
import type { Storage } from './storage.ts';

/** A request and its answer are small. */
const MESSAGE_BYTES = 64;
/** As in the oracle's client: a request without an answer is repeated after this long. */
const ATTEMPT_US = 1e6;
/** About as in the oracle's client: how soon a request is repeated that the oracle has refused. */
const REFUSED_PAUSE_US = 100_000;
/** As in the oracle's client: a request that the oracle refuses for longer is not repeated. */
const REFUSED_US_MAX = 10e6;
/** As in the lock service's client: how long a scanner waits for an answer, then goes without. */
const LOCK_DEADLINE_US = 200_000;
const WITHOUT_LOCKS_MS = 1_000;
const NO_ANSWER = 'no answer';
const NO_LOCK: RangeLock = { release: () => undefined };

/** The requests to one service, and what they cost. */
export interface ServiceCounts {
  calls: number;
  /** Processor time asked of the service and of its clients. */
  serverUs: number;
  clientUs: number;
}

export class OracleService {
  readonly counts: ServiceCounts = { calls: 0, serverUs: 0, clientUs: 0 };
  timestamps = 0;
  readonly #storage: Storage;
  readonly #machine: Machine;
  /** The allocator of the machine's present life. */
  #allocator: Promise<LeasedAllocator>;

  constructor(storage: Storage, machine: Machine) {
    this.#storage = storage;
    this.#machine = machine;
    this.#allocator = this.#open();
  }

  /** To be called after the machine has started again. */
  restart(): void {
    this.#allocator = this.#open();
  }

  /** The oracle as one process sees it: callers share requests, one of which is in flight. */
  clientOf(caller: Caller): TimestampOracle {
    const { perTimestampUs } = this.#storage.costs.calibration.oracle;
    return batchTimestamps({
      identity: undefined, // Only a server reads it.
      allocate: (count) => {
        this.timestamps += count;
        return this.#ask(caller, perTimestampUs * count, (source) => source.allocate(count));
      },
      readHorizon: () => this.#ask(caller, 0, (source) => source.readHorizon()),
      raiseHorizon: (wanted) => this.#ask(caller, 0, (source) => source.raiseHorizon(wanted)),
      announceDrop: () => this.#ask(caller, 0, (source) => source.announceDrop()),
      belongTo: (identity) => this.#ask(caller, 0, (source) => source.belongTo(identity)),
    });
  }

  #open(): Promise<LeasedAllocator> {
    const { life, clock, name } = this.#machine;
    const store = new ClientStore(this.#storage, { machine: this.#machine, life });
    return openLeasedAllocator(store, clock, { owner: `${name}/${life}` });
  }

  #ask<T>(
    caller: Caller,
    moreUs: number,
    serve: (source: LeasedAllocator) => Promise<T>,
  ): Promise<T> {
    const { perCallUs } = this.#storage.costs.calibration.oracle;
    return request(this.#storage, {
      caller,
      service: this.#machine,
      serviceUs: perCallUs + moreUs,
      counts: this.counts,
      serve: async () => serve(await this.#allocator),
    });
  }
}

export class LockService {
  readonly counts: ServiceCounts = { calls: 0, serverUs: 0, clientUs: 0 };
  readonly #storage: Storage;
  readonly #machine: Machine;
  #locks: RangeLockTable;

  constructor(storage: Storage, machine: Machine) {
    this.#storage = storage;
    this.#machine = machine;
    this.#locks = new RangeLockTable(machine.clock);
  }

  /** To be called after the machine has started again; forgets all locks, which are advisory. */
  restart(): void {
    this.#locks = new RangeLockTable(this.#machine.clock);
  }

  clientOf(caller: Caller, token: string): RangeLocks {
    const { clock } = caller.machine;
    let withoutLocksUntilMs = -Infinity;
    return {
      tryLock: async (range) => {
        if (clock.monotonicMs() < withoutLocksUntilMs) return NO_LOCK;
        const number = await this.#ask(caller, () => this.#locks.lock(token, range));
        if (number === NO_ANSWER) {
          withoutLocksUntilMs = clock.monotonicMs() + WITHOUT_LOCKS_MS;
          return NO_LOCK;
        }
        if (number === undefined) return undefined;
        return { release: () => void this.#ask(caller, () => this.#locks.unlock(number)) };
      },
    };
  }

  #ask<T>(caller: Caller, serve: () => T): Promise<T | typeof NO_ANSWER> {
    const { perCallUs } = this.#storage.costs.calibration.lockService;
    return request<T | typeof NO_ANSWER>(this.#storage, {
      caller,
      service: this.#machine,
      serviceUs: perCallUs,
      counts: this.counts,
      serve: async () => serve(),
      unanswered: { value: NO_ANSWER, afterUs: LOCK_DEADLINE_US },
    });
  }
}

interface ServiceRequest<T> {
  readonly caller: Caller;
  readonly service: Machine;
  readonly serviceUs: number;
  readonly counts: ServiceCounts;
  readonly serve: () => Promise<T>;
  /** What the caller goes on with if the service is dead. Default: it repeats the request. */
  readonly unanswered?: { readonly value: T; readonly afterUs: number } | undefined;
}

/** A request that a service has decided. */
interface Served {
  /** The life of the service's machine. */
  readonly life: number;
  readonly arrivedUs: number;
  readonly decidedUs: number;
  /** When the service finishes, but for pauses that begin after the request has arrived. */
  readonly finishUs: number;
}

function request<T>(storage: Storage, asked: ServiceRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    new ServiceCall(storage, asked, { resolve, reject }).send();
  });
}

class ServiceCall<T> {
  readonly #storage: Storage;
  readonly #asked: ServiceRequest<T>;
  readonly #settlers: { resolve: (value: T) => void; reject: (error: unknown) => void };
  /** When the service first refused it. */
  #refusedUs = Infinity;

  constructor(
    storage: Storage,
    asked: ServiceRequest<T>,
    settlers: { resolve: (value: T) => void; reject: (error: unknown) => void },
  ) {
    this.#storage = storage;
    this.#asked = asked;
    this.#settlers = settlers;
  }

  send(): void {
    const { loop, costs } = this.#storage;
    const { caller, counts } = this.#asked;
    const us = costs.callUs('clientUs') + costs.bytesUs('clientUs', MESSAGE_BYTES);
    counts.calls++;
    counts.clientUs += us;
    const leftUs = caller.machine.take(us, costs.cardUs(MESSAGE_BYTES));
    loop.at(leftUs + costs.roundTrip.next() / 2, { happen: () => this.#arrive() });
  }

  #arrive(): void {
    const { loop } = this.#storage;
    const { service, serviceUs, counts, serve } = this.#asked;
    if (!service.isAlive) return this.#goUnanswered();
    const { life } = service;
    const arrivedUs = loop.nowUs;
    const finishUs = service.work(serviceUs);
    counts.serverUs += serviceUs;
    // The answer is decided now, or once the storage has answered the service, and leaves when the
    // service has finished. If the service dies before that decision, the caller hears of none.
    const { resolve } = this.#settlers;
    const die = (): void => this.#goUnanswered();
    service.atDeath.add(die);
    const answer = (hear: () => void): void => {
      if (!service.atDeath.delete(die)) return;
      this.#answer({ life, arrivedUs, finishUs, decidedUs: loop.nowUs }, hear);
    };
    void serve().then(
      (value) => answer(() => resolve(value)),
      (error: unknown) => answer(() => this.#hearError(error)),
    );
  }

  #answer({ life, arrivedUs, finishUs, decidedUs }: Served, hear: () => void): void {
    const { loop, costs } = this.#storage;
    const { service, caller } = this.#asked;
    const wayUs = costs.roundTrip.next() / 2;
    const finishesUs = (): number => finishUs + service.delayedUs(arrivedUs, finishUs);
    const leave = (leavesUs: number): void => {
      loop.at(leavesUs + wayUs, { happen: () => hearOf(leavesUs) });
    };
    const hearOf = (leftUs: number): void => {
      const isDead = !service.isAlive || service.life !== life;
      if (isDead && service.diedUs < leftUs) this.#goUnanswered();
      else if (finishesUs() > leftUs) leave(finishesUs()); // The service was paused meanwhile.
      else caller.machine.deliver(caller.life, hear);
    };
    leave(Math.max(decidedUs, finishesUs()));
  }

  /** An oracle that may not hand out timestamps yet is asked again. */
  #hearError(error: unknown): void {
    const { nowUs } = this.#storage.loop;
    this.#refusedUs = Math.min(this.#refusedUs, nowUs);
    const isTooLong = nowUs - this.#refusedUs > REFUSED_US_MAX;
    if (hasCode(error, 'STORE_UNAVAILABLE') && !isTooLong) {
      this.#after(REFUSED_PAUSE_US, () => this.send());
    } else this.#settlers.reject(error);
  }

  #goUnanswered(): void {
    const { unanswered } = this.#asked;
    this.#refusedUs = Infinity;
    if (unanswered === undefined) this.#after(ATTEMPT_US, () => this.send());
    else this.#after(unanswered.afterUs, () => this.#settlers.resolve(unanswered.value));
  }

  #after(us: number, goOn: () => void): void {
    const { machine, life } = this.#asked.caller;
    this.#storage.loop.after(us, { happen: () => machine.deliver(life, goOn) });
  }
}
