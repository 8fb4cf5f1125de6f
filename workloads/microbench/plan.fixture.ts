/** A small run of the benchmark, for tests of its parts. */
import { type MicroPlan, SIZES } from './plan.ts';

/** Figure 8 on the embedded store, below this folder. */
export function smallPlan(folder: string, given: Partial<MicroPlan> = {}): MicroPlan {
  return {
    ...SIZES.smoke,
    repeats: 1,
    store: ['embedded'],
    regionServers: 0,
    seed: 1,
    valueBytes: 32,
    concurrency: 1,
    processes: 0,
    noFsync: true,
    batching: 'off',
    batchDelay: 1,
    batchRows: 1,
    batchInFlight: 1,
    prefetch: 'off',
    figureOnly: true,
    conditionalBatch: false,
    profileCpu: false,
    out: folder,
    work: folder,
    ...given,
  };
}
