/**
 * Moving the horizon (P31, snapshot loses versions): how far may a collector delete, and how do all
 * processes learn of it?
 *
 *   1. N = a fresh timestamp; then read all leases. H' = the smallest of N and their bounds.
 *   2. Persist the horizon H = H', or leave the horizon H where it is if that is above H'.
 *   3. Read the leases again. D = the smallest of H and their bounds: delete below D, nothing else.
 *
 * Why N before the leases? A process that is not among them registers later. So it asks for its
 * first start timestamp after we have asked for N, and that timestamp is above N. A process that is
 * among them has nothing in use below its bound.
 *
 * Why a second look? A process may pin a snapshot of the past between 1 and 2: it has renewed its
 * lease with the pin as bound, then read the old horizon, and found that it is in time. It is: its
 * lease was written before it read the horizon, the horizon was persisted after that, and our
 * second look is after that. So we see its bound and stay below. A process that renews after our
 * second look reads the horizon after it was persisted, and knows that it is too late. The same
 * goes for processes whose lease has lapsed and is there again.
 *
 * What if the collector dies in between? Some snapshots are stale although nothing was deleted.
 */
import { bytesOf, textOf } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import type { Lease, LeaseWatch } from '../leases/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';

export interface MovedHorizon {
  /** Persisted: snapshots below may have lost versions. */
  readonly horizon: Timestamp;
  /** At or below the horizon: below it, no process needs anything any more. */
  readonly deletionHorizon: Timestamp;
  /**
   * The lease with the smallest bound, if that is below `began`. An idle process holds back as
   * well, by the time since it renewed its lease.
   */
  readonly heldBackBy: Lease | undefined;
}

/**
 * @param began a timestamp: what was committed before it is to be collected
 * @param kept a timestamp: what snapshots from it on see is to be kept, for its history
 */
export async function moveHorizon(
  oracle: TimestampOracle,
  watch: LeaseWatch,
  { began, kept = Infinity }: { readonly began: Timestamp; readonly kept?: Timestamp | undefined },
): Promise<MovedHorizon> {
  const now = Math.min(await oracle.next(), kept);
  const before = await watch.liveLeases();
  const horizon = await oracle.raiseHorizon(smallestBound(before, now));
  const after = await watch.liveLeases();
  const deletionHorizon = smallestBound(after, horizon);
  const [smallest] = [...before, ...after].toSorted((a, b) => a.bound - b.bound);
  const isHeldBack = smallest !== undefined && smallest.bound < began;
  return { horizon, deletionHorizon, heldBackBy: isHeldBack ? smallest : undefined };
}

function smallestBound(leases: readonly Lease[], limit: Timestamp): Timestamp {
  return leases.reduce((smallest, { bound }) => Math.min(smallest, bound), limit);
}

/*
 * A collector's place, kept in the storage: after a crash, the next collector does not begin again.
 *
 * Each entry is true on its own, whichever collector wrote it and however late it arrives: "no lock
 * below the deletion horizon is left before this place", or "everything below it is collected
 * before this place", except what came late (cycle.ts). So several collectors may overwrite one
 * another's entries, and only do some work twice.
 *
 * The wait of a cycle is not among the phases: if a collector dies during it, the next collector
 * starts a new cycle.
 */

export interface Progress {
  /**
   * resolving: the locks before `table` and `row` are resolved. collecting: all locks are resolved,
   * and the rows before that place are collected. done: everything below the deletion horizon is
   * collected.
   */
  readonly phase: 'resolving' | 'collecting' | 'done';
  readonly deletionHorizon: Timestamp;
  /**
   * The next row to visit is the first at or after `row` in `table`,
   * or the first of the tables after it.
   */
  readonly table: string;
  readonly row: string;
  /** How the cycle goes on from earlier ones; absent if it looks at every row. */
  readonly after?: EarlierCycles | undefined;
}

export interface EarlierCycles {
  /**
   * Everything below this was collected; rows without a cell as new are passed over (P68, rows
   * passed over).
   */
  readonly collected: Timestamp;
  /** How many cycles, this one included, have gone on from one that looked at every row. */
  readonly count: number;
}

const TABLE = 'percolator-collector';
const ROW = 'progress';
const PROGRESS = { family: 'collector', qualifier: 'progress' } as const;
const TIMESTAMP = 1;
export const NOTHING_DONE: Progress = { phase: 'done', deletionHorizon: 0, table: '', row: '' };

export async function readProgress(store: Bigtable): Promise<Progress> {
  await store.createTable(TABLE, { families: [PROGRESS.family] });
  const cell = (await store.readRow(TABLE, ROW, [PROGRESS]))?.cells[0];
  if (cell === undefined) return NOTHING_DONE;
  return JSON.parse(textOf(cell.value)) as Progress;
}

/** Provisional: a power failure that undoes the entry undoes nothing that was applied before it. */
export async function writeProgress(store: Bigtable, progress: Progress): Promise<void> {
  const value = bytesOf(JSON.stringify(progress));
  const set = { kind: 'set', ...PROGRESS, timestamp: TIMESTAMP, value } as const;
  await store.mutateRows([{ table: TABLE, row: ROW, mutations: [set], provisional: true }]);
}
