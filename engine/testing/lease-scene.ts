/** The scene for tests of leases: processes that take them, and the watch of a collector. */
import type { Bigtable } from '../bigtable/index.ts';
import { createLeases, LeaseWatch, type Leases } from '../leases/index.ts';
import { FaultyBigtable } from './faulty-bigtable.ts';
import { createMemoryBigtable } from './memory-bigtable.ts';
import { VirtualClock } from './virtual-clock.ts';

/** How long a collector respects a lease. */
export const TTL_MS = 30_000;
/** How long a hold counts. */
export const LIFETIME_MS = 600_000;

export interface LeaseProcess {
  readonly leases: Leases;
  readonly store: FaultyBigtable;
  readonly clock: VirtualClock;
  /** The current fresh timestamp. */
  fresh: number;
}

/** All processes have the same token, and so one row: a later one succeeds an earlier one. */
export function startProcess(store: Bigtable, clock: VirtualClock): LeaseProcess {
  const client = new FaultyBigtable(store);
  const process: LeaseProcess = {
    store: client,
    clock,
    fresh: 10,
    leases: createLeases({
      store: client,
      clock,
      token: 'A',
      freshTimestamp: async () => process.fresh,
      ttlMs: TTL_MS,
      lifetimeMsMax: LIFETIME_MS,
    }),
  };
  return process;
}

/** A store, a process that has not taken its lease yet, and a collector's watch. */
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

/** The bounds that count now. */
export async function bounds(watch: LeaseWatch): Promise<readonly number[]> {
  return (await watch.liveLeases()).map(({ bound }) => bound);
}
