/** The scene for tests of leases: processes that take them, and the watch of a collector. */
import type { Bigtable } from '../bigtable/index.ts';
import { createLeases, LeaseWatch, type Leases } from '../leases/index.ts';
import { FaultyBigtable } from './faulty-bigtable.ts';
import { createMemoryBigtable } from './memory-bigtable.ts';
import { VirtualClock } from './virtual-clock.ts';

/** How long a collector respects a lease that is not renewed. */
export const TTL_MS = 30_000;
/** The age from which a hold that was not released no longer keeps the bound down. */
export const LIFETIME_MS = 600_000;

export interface LeaseProcess {
  readonly leases: Leases;
  readonly store: FaultyBigtable;
  readonly clock: VirtualClock;
  /** The answer when the lease asks for a fresh timestamp. Set by tests. */
  fresh: number;
}

/**
 * All processes have the same token, so they share one row of the table of leases: each process is
 * the successor of the one before it.
 */
export function startProcess(store: Bigtable, clock: VirtualClock): LeaseProcess {
  const client = new FaultyBigtable(store);
  const started: LeaseProcess = {
    store: client,
    clock,
    fresh: 10,
    leases: createLeases({
      store: client,
      clock,
      token: 'A',
      freshTimestamp: async () => started.fresh,
      ttlMs: TTL_MS,
      lifetimeMsMax: LIFETIME_MS,
    }),
  };
  return started;
}

/** A store, a process that has not taken its lease yet, a collector's watch, and their clock. */
export function openLeases(): {
  readonly process: LeaseProcess;
  readonly watch: LeaseWatch;
  readonly store: Bigtable;
  readonly clock: VirtualClock;
} {
  const store = createMemoryBigtable();
  const clock = new VirtualClock();
  const watch = new LeaseWatch(store, clock);
  return { process: startProcess(store, clock), watch, store, clock };
}

/** The bounds of the leases that the watch finds live. The watch erases lapsed leases. */
export async function bounds(watch: LeaseWatch): Promise<readonly number[]> {
  return (await watch.liveLeases()).map(({ bound }) => bound);
}
