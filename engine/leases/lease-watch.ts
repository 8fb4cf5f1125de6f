/**
 * Which leases still count, as the collector sees it: without trusting anybody's clock but ours, as with
 * locks (P24).
 *
 * A lease that has not changed for its time to live, counted from when we first saw it as it is
 * now, is given up. Its owner has counted from before it sent it, so it has stopped counting on
 * it before that. It counts up to when we asked for it, not to when the answer came: a slow answer shows the
 * lease as it was long ago. Were it to come back, it would find itself in a new epoch.
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

  /** The leases that count now. Erases those that do not. */
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

  /** Tidiness: a lapsed lease that stays is given up again the next time. */
  async #erase(lease: Lease): Promise<void> {
    try {
      await eraseLease(this.#store, lease);
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }
}
