/**
 * A collector's place, kept in the storage: after a crash, the next collector need not begin again.
 *
 * Each entry is true on its own, whichever collector wrote it and however late it arrives: "no lock
 * below the deletion horizon is left before this place", or "everything below it is collected
 * before this place", except what came late (cycle.ts). So several collectors may overwrite one
 * another's entries, and only do some work twice.
 *
 * The wait of a cycle is not among the phases: if a collector dies during it, the next collector
 * starts a new cycle.
 */
import type { Bigtable, Timestamp } from '../bigtable/index.ts';

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
  /** Everything below this was collected; rows without a cell as new are passed over (P68). */
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
  return JSON.parse(Buffer.from(cell.value).toString()) as Progress;
}

/** Provisional: a power failure that undoes the entry undoes nothing that was applied before it. */
export async function writeProgress(store: Bigtable, progress: Progress): Promise<void> {
  const value = Buffer.from(JSON.stringify(progress));
  const set = { kind: 'set', ...PROGRESS, timestamp: TIMESTAMP, value } as const;
  await store.mutateRows([{ table: TABLE, row: ROW, mutations: [set], provisional: true }]);
}
