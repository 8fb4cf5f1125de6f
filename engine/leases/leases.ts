/**
 * The lease of this process on the versions that its transactions still read (P31, snapshot loses
 * versions).
 *
 * A garbage collector must not delete versions that a snapshot of any process sees. So every
 * process publishes its bound in a row of its own: the timestamp below which it needs nothing. The
 * collector stays below the bounds of all leases that are renewed, and a process relies on its
 * lease only as long as the collector certainly respects it.
 *
 *   1. Register before asking for the first start timestamp, with a bound that was handed out
 *      before. A collector that reads the leases and does not find ours asked for its own timestamp
 *      before we ask for ours, so ours is larger (see garbage-collection/horizon.ts).
 *   2. Renew three times per time to live. The bound is then the smallest start timestamp in use;
 *      if there is none, a fresh timestamp, asked for before looking for one in use.
 *   3. Between the request for a start timestamp and its answer, the largest timestamp known before
 *      represents it. So at every moment every bound ever sent is at or below every hold, except
 *      pins: these may come too late, and are checked against the horizon.
 *   4. Rely on the lease for its time to live, counted on our own clocks from before the renewal
 *      was sent, less a margin for clocks that run at different speeds. Other processes count it
 *      from when they saw it, which is later. Both of our clocks must agree: a suspended machine's
 *      monotonic clock stops (P59; base/clock.ts).
 *   5. A renewal that comes too late may find that the collector has given our lease up in between.
 *      Holds from before are never covered again: a new epoch begins.
 *
 * A hold older than `lifetimeMsMax` no longer counts: a snapshot that its user forgot to close must
 * not hold the horizon forever. It is removed before the bound is computed without it.
 *
 * The lease costs a transaction nothing: entering adds an entry to a set. Nothing breaks if the
 * lease cannot be registered or renewed: transactions that are not covered ask for the horizon
 * instead (transaction/snapshot-read.ts).
 *
 * Does a lease end sooner when its process is known to be dead? No: liveness is a hint, and must
 * decide nothing (P26, presumed dead, alive). Ending it would save one time to live, and lose data
 * where two containers share a host name.
 */
import { type Clock, isWithin, type Moment, momentOf, PercolatorError } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { allLeases, createLeaseTable, eraseLease, readLease, writeLease } from './lease-table.ts';

/** A transaction or snapshot that is in use, as the lease sees it. */
export interface Hold {
  /** Its start timestamp, now that it is known. */
  setTimestamp(startTimestamp: Timestamp): void;
  /**
   * True only if no collector has given up the start timestamp so far. Ask after a read has been
   * answered: what is true now was true when the read was served.
   */
  isCovered(): boolean;
  /** Ends the hold: nothing more will be read or written for it. Twice is harmless. */
  release(): void;
}

export interface Leases {
  /** Must be called before a start timestamp is asked for. */
  enter(): Promise<Hold>;
  /**
   * Holds a timestamp of the past. It may already be too late: read the horizon afterwards, and do
   * not use the hold if the horizon is above.
   */
  pin(timestamp: Timestamp): Promise<Hold>;
  /** Updates the bound now, if there is a lease; rejects if the storage does. */
  renew(): Promise<void>;
  /** Says this with each renewal from the next one on, until it is taken back. */
  say(saying: unknown): void;
  unsay(saying: unknown): void;
  /** What this process says: the same objects. */
  readonly said: readonly unknown[];
  /** Milliseconds for which the lease counts without a renewal; undefined if there is none. */
  readonly remainingMs: number | undefined;
  /** What all others say, by their tokens. */
  others(): Promise<ReadonlyMap<string, Others>>;
  /** Gives the lease up, and ends the renewing. Holds still in use are no longer covered. */
  close(): Promise<void>;
}

/** The lease of another process, which may be dead. */
export interface Others {
  /** Changes with every renewal. */
  readonly counter: number;
  readonly ttlMs: number;
  readonly says: readonly unknown[];
}

export interface LeaseServices {
  readonly store: Bigtable;
  readonly clock: Clock;
  /** From `leaseToken`: no other open database has it. */
  readonly token: string;
  /** A timestamp below every one handed out from now on, and as large as possible. */
  freshTimestamp(): Promise<Timestamp>;
  /** Milliseconds for which a collector respects the lease without a renewal. */
  readonly ttlMs: number;
  /** Milliseconds after which a hold no longer counts. */
  readonly lifetimeMsMax: number;
}

interface HoldEntry {
  /** At or below the start timestamp. Moves once, to the start timestamp. */
  bound: Timestamp;
  epoch: number;
  readonly sinceMs: number;
}

/** Renewals per time to live: one may fail, and the next one is in time. */
const RENEWALS_PER_TTL = 3;
/** The part of the time to live that we count on; clocks may differ in speed by the rest. */
const COUNTED_ON = 5 / 6;
/** The epoch of holds that no lease has ever covered. */
const NEVER = -1;

export function createLeases(services: LeaseServices): Leases {
  return new ProcessLeases(services);
}

class ProcessLeases implements Leases {
  readonly #services: LeaseServices;
  readonly #entries = new Set<HoldEntry>();
  readonly #closed = new AbortController();
  /** Resolves to whether there is a lease; undefined until one is needed. */
  #registering: Promise<boolean> | undefined;
  #isRegistered = false;
  readonly #says = new Set<unknown>();
  #counter = 0;
  /** The end of the queue of renewals: they are sent one after the other. */
  #renewing: Promise<void> = Promise.resolve();
  /** Grows when the lease is renewed after it had lapsed. */
  #epoch = 0;
  /** When the last answered renewal was sent; undefined before the first, and after the end. */
  #renewedAt: Moment | undefined;
  /** The largest timestamp known to have been handed out. */
  #largestSeen: Timestamp = 0;
  /** The largest bound ever sent: a timestamp at or above it needs no renewal to be held. */
  #largestSent: Timestamp = 0;

  constructor(services: LeaseServices) {
    this.#services = services;
  }

  async enter(): Promise<Hold> {
    const isRegistered = this.#isRegistered || (await this.#register());
    return this.#hold(this.#largestSeen, isRegistered ? this.#epoch : NEVER);
  }

  async pin(timestamp: Timestamp): Promise<Hold> {
    const isRegistered = this.#isRegistered || (await this.#register());
    const entry = this.#add(timestamp, isRegistered ? this.#epoch : NEVER);
    if (isRegistered && timestamp < this.#largestSent) {
      entry.epoch = NEVER;
      if (await this.#succeeds(this.#enqueueRenewal())) entry.epoch = this.#epoch;
    }
    return this.#holdOf(entry);
  }

  say(saying: unknown): void {
    this.#says.add(saying);
  }

  unsay(saying: unknown): void {
    this.#says.delete(saying);
  }

  get said(): readonly unknown[] {
    return [...this.#says];
  }

  get remainingMs(): number | undefined {
    const { clock, ttlMs } = this.#services;
    const sinceMs = this.#renewedAt?.monotonicMs;
    if (sinceMs === undefined) return undefined;
    return Math.max(0, sinceMs + ttlMs * COUNTED_ON - clock.monotonicMs());
  }

  async others(): Promise<ReadonlyMap<string, Others>> {
    const { store, token: own } = this.#services;
    const others = new Map<string, Others>();
    for (const [token, lease] of await allLeases(store)) {
      if (lease === undefined || token === own) continue;
      const { counter, ttlMs, says = [] } = lease;
      others.set(token, { counter, ttlMs, says: Array.isArray(says) ? says : [] });
    }
    return others;
  }

  async renew(): Promise<void> {
    if (this.#isRegistered) await this.#enqueueRenewal();
  }

  #enqueueRenewal(): Promise<void> {
    const renewal = this.#renewing.then(() => this.#renewNow());
    this.#renewing = renewal.catch(() => {});
    return renewal;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#registering;
    await this.#renewing;
    this.#renewedAt = undefined;
    if (!this.#isRegistered) return;
    this.#isRegistered = false;
    const { store, token } = this.#services;
    // If it stays, it expires.
    await this.#succeeds(eraseLease(store, { token, counter: this.#counter }));
  }

  /** Step 1. Concurrent callers share one attempt; after a failure, the next caller tries again. */
  #register(): Promise<boolean> {
    if (this.#closed.signal.aborted) return Promise.resolve(false);
    this.#registering ??= this.#succeeds(this.#registerNow()).finally(() => {
      this.#registering = undefined;
    });
    return this.#registering;
  }

  async #registerNow(): Promise<void> {
    const { store, token } = this.#services;
    await createLeaseTable(store);
    // If an earlier process had our token, we continue its counter; after an error, our own.
    const stored = await readLease(store, token);
    this.#counter = Math.max(this.#counter, stored?.counter ?? 0);
    await this.#enqueueRenewal();
    if (store.manifest.tombstones === true) await this.#passErased();
    this.#isRegistered = true; // Also if `close` waits for this: it then erases the lease.
    void this.#renewForever();
  }

  /**
   * On a storage with tombstones, what an earlier process with our token erased hides renewals up
   * to its last counter. That counter is not known, and is above our timestamp if that process
   * renewed its lease more often than timestamps were handed out. So we move on until our renewal
   * is seen (P63, tombstones hide cells).
   */
  async #passErased(): Promise<void> {
    const { store, token } = this.#services;
    for (let leap = 1; !this.#closed.signal.aborted; leap *= 2) {
      if ((await readLease(store, token)) !== undefined) return;
      this.#counter += leap;
      await this.#enqueueRenewal();
    }
  }

  async #renewForever(): Promise<void> {
    const { clock, ttlMs } = this.#services;
    const { signal } = this.#closed;
    while (this.#isRegistered) {
      await clock.sleep(ttlMs / RENEWALS_PER_TTL, signal, { background: true });
      if (signal.aborted) return;
      try {
        await this.renew();
      } catch (error) {
        if (isPassing(error)) continue;
        // The storage was closed, or this is a bug. The next `enter` registers, and meets it.
        this.#isRegistered = false;
      }
    }
  }

  /** Steps 2, 4 and 5. */
  async #renewNow(): Promise<void> {
    const { store, clock, token, ttlMs } = this.#services;
    if (this.#closed.signal.aborted) return;
    this.#forgetOld();
    const asksFresh = this.#entries.size === 0 || !this.#isRegistered;
    const fresh = asksFresh ? await this.#freshTimestamp() : 0;
    // There is no await from here to the sending: a hold that is added now is either in the bound,
    // or finds in #largestSent that it is not.
    const bound = this.#smallestInUse(fresh);
    // Starts at a timestamp, above what an earlier process with our token wrote (lease-table.ts).
    this.#counter = Math.max(this.#counter + 1, fresh);
    this.#largestSent = Math.max(this.#largestSent, bound);
    const sentAt = momentOf(clock);
    const says = this.#says.size === 0 ? undefined : this.said;
    await writeLease(store, { token, bound, counter: this.#counter, ttlMs, says });
    if (!this.#isValid()) this.#epoch += 1;
    this.#renewedAt = sentAt;
  }

  async #freshTimestamp(): Promise<Timestamp> {
    const fresh = await this.#services.freshTimestamp();
    this.#largestSeen = Math.max(this.#largestSeen, fresh);
    return fresh;
  }

  /** An entry added while the fresh timestamp was asked for may be below it, and counts instead. */
  #smallestInUse(fresh: Timestamp): Timestamp {
    let bound = this.#entries.size === 0 ? fresh : Number.POSITIVE_INFINITY;
    for (const entry of this.#entries) bound = Math.min(bound, entry.bound);
    return bound;
  }

  /** While this is true, the collector certainly respects the lease (step 4). */
  #isValid(): boolean {
    const { clock, ttlMs } = this.#services;
    const since = this.#renewedAt;
    return since !== undefined && isWithin(clock, ttlMs * COUNTED_ON, since);
  }

  #forgetOld(): void {
    for (const entry of this.#entries) if (this.#isOld(entry)) this.#entries.delete(entry);
  }

  #isOld({ sinceMs }: HoldEntry): boolean {
    return this.#services.clock.monotonicMs() - sinceMs >= this.#services.lifetimeMsMax;
  }

  #hold(bound: Timestamp, epoch: number): Hold {
    return this.#holdOf(this.#add(bound, epoch));
  }

  #add(bound: Timestamp, epoch: number): HoldEntry {
    const entry = { bound, epoch, sinceMs: this.#services.clock.monotonicMs() };
    this.#entries.add(entry);
    return entry;
  }

  #holdOf(entry: HoldEntry): Hold {
    return {
      setTimestamp: (startTimestamp) => {
        entry.bound = startTimestamp;
        this.#largestSeen = Math.max(this.#largestSeen, startTimestamp);
      },
      isCovered: () => this.#entries.has(entry) && entry.epoch === this.#epoch && this.#isValid(),
      release: () => {
        this.#entries.delete(entry);
      },
    };
  }

  async #succeeds(step: Promise<unknown>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (error) {
      if (error instanceof PercolatorError) return false;
      throw error;
    }
  }
}

/** Whether the same call may succeed later. */
function isPassing(error: unknown): boolean {
  return error instanceof PercolatorError && error.code !== 'STORE_CLOSED';
}
