/**
 * The leases that still count for the collector. As with locks, it trusts no clock but its own
 * (P24).
 *
 * A lease has lapsed when it has not changed for its time to live, counted from when we first saw
 * its current version. Its owner counts from before it sent that version, so it has stopped relying
 * on the lease earlier. Our count ends when we send the read, not when the answer arrives: a slow
 * answer shows the lease as it was long ago. An owner that comes back later finds itself in a new
 * epoch (leases.ts).
 */
import { type Clock, PercolatorError } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { createLeaseTable, eraseLease, type Lease, readLeases } from './lease-table.ts';

interface Sighting {
  readonly lease: Lease;
  /** On our clock, after it was read. */
  readonly sinceMs: number;
}

export class LeaseWatch {
  readonly #store: Bigtable;
  readonly #clock: Clock;
  #sightings = new Map<string, Sighting>();

  constructor(store: Bigtable, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The leases that count now; one that has not changed is the same object as before.
   * Erases the lapsed ones.
   */
  async liveLeases(): Promise<readonly Lease[]> {
    await createLeaseTable(this.#store);
    const askedMs = this.#clock.monotonicMs();
    const leases = await readLeases(this.#store);
    const nowMs = this.#clock.monotonicMs();
    const sightings = leases.map((lease) => this.#sighting(lease, nowMs));
    this.#sightings = new Map(sightings.map((sighting) => [sighting.lease.token, sighting]));
    const live = sightings.filter(({ lease, sinceMs }) => askedMs - sinceMs < lease.ttlMs);
    const lapsed = sightings.filter((sighting) => !live.includes(sighting));
    for (const { lease } of lapsed) await this.#erase(lease);
    return live.map(({ lease }) => lease);
  }

  #sighting(lease: Lease, nowMs: number): Sighting {
    const before = this.#sightings.get(lease.token);
    const unchanged = before?.lease.counter === lease.counter && before.lease.bound === lease.bound;
    return before !== undefined && unchanged ? before : { lease, sinceMs: nowMs };
  }

  /**
   * For tidiness only: if it fails, the lapsed lease is ignored again the next time. If it
   * succeeds, the lease is forgotten: an equal lease that comes later is a successor's, or a late
   * copy, which lapses again.
   */
  async #erase(lease: Lease): Promise<void> {
    try {
      await eraseLease(this.#store, lease);
      this.#sightings.delete(lease.token);
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }
}
