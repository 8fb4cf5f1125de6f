/** Figure 8 of the paper: operations per second against a single tablet server, batching off. */

export interface ReadAndWrite {
  readonly read: number;
  readonly write: number;
}

export const PAPER: { readonly raw: ReadAndWrite; readonly percolator: ReadAndWrite } = {
  raw: { read: 15_513, write: 31_003 },
  percolator: { read: 14_590, write: 7_232 },
};

export function relative(percolator: number, raw: number): number {
  return percolator / raw;
}

/** Time per operation in microseconds, if `perSecond` is the maximum rate. */
export function microseconds(perSecond: number): number {
  return 1e6 / perSecond;
}

/**
 * "The result of the extra operations Percolator requires for commit beyond the single write that
 * Bigtable issues: a read to check for locks, a write to add the lock, and a second write to remove
 * the lock record" (section 3.2).
 */
export function readAndTwoWritesUs({ read, write }: ReadAndWrite): number {
  return microseconds(read) + 2 * microseconds(write);
}
