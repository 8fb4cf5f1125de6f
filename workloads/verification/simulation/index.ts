/**
 * The public interface of the simulator. Read in this order:
 *
 *   plan.ts, knobs.ts   the work of a run, and what may go wrong
 *   simulate.ts         the run
 *   ../world/event-loop.ts, process.ts, network.ts, simulated-bigtable.ts    time, life, messages
 *   client.ts, observers.ts, services.ts                          the participants
 *   umpire.ts, final-checks.ts                                    what must hold
 *   hbase/              the HBase client alone, or below the engine, on a simulated cluster
 *   disk/               the embedded store alone: on a disk that fails and loses its power, and
 *                       with owners that live on when another process has taken the store over
 *   shrink.ts                                                     what to do if a rule is broken
 */
export type { HBaseKnobs } from './hbase/cluster.ts';
export { planOnHBase } from './hbase/database-run.ts';
export { type DiskKnobs, simulateDisk } from './disk/disk-run.ts';
export { type OwnersKnobs, simulateOwners } from './disk/owners-run.ts';
export { simulateStore, type StoreRunResult } from './hbase/store-run.ts';
export { EVENT_FAULTS, type Knobs, MESSAGE_FAULTS } from './knobs.ts';
export { withFollowers, withReverseScans } from './loads.ts';
export { type SimulationPlan, planOf, type ProcessPlan } from './plan.ts';
export { shrink, SHRINKING_RUNS_MAX } from './shrink.ts';
export { type Seeds, simulateSeeds } from './seeds.ts';
export { type Result, type RunCounts, simulate } from './simulate.ts';
export { tellStory } from './shrink.ts';
export type { WatchedEvent, WatchedLease } from './watched.ts';
export {
  add,
  type FailedRun,
  NOTHING,
  notCovered,
  notStoppedAt,
  type Tally,
  tallyOf,
} from './seeds.ts';
export type { FaultCounts } from './world.ts';
