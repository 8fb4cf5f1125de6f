/**
 * Marks: leases that no process renews. A reader of changes that is not running, such as the next
 * backup, keeps what comes after its place for a time:
 *
 *     mark/nightly   bound 4711, 48 hours
 *
 * A mark is a row like that of a process, so collectors respect it as they do a process that has
 * stopped: for its time to live, counted on the clock of each from when it first saw the mark.
 * Where processes collect now and then, it therefore keeps longer, but not much longer than twice
 * its time (lease-table.ts). Only `collectGarbage` does not wait for marks to be renewed.
 */
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import {
  createLeaseTable,
  eraseLease,
  type Lease,
  leaseToken,
  readLease,
  writeLease,
} from './lease-table.ts';

const PREFIX = 'mark/';

export interface Mark {
  readonly name: string;
  /** What is below is not kept. */
  readonly bound: Timestamp;
  readonly ttlMs: number;
  /** Now, by the wall clock. */
  readonly setMs: number;
}

export function isMark({ token }: Lease): boolean {
  return token.startsWith(PREFIX);
}

/** It may come too late: read the horizon afterwards. @param fresh a timestamp of now */
export async function setMark(
  store: Bigtable,
  { name, bound, ttlMs, setMs }: Mark,
  fresh: Timestamp,
): Promise<void> {
  const token = tokenOf(name);
  await createLeaseTable(store);
  const before = await readLease(store, token);
  const counter = Math.max(fresh, (before?.counter ?? 0) + 1);
  await writeLease(store, { token, bound, ttlMs, counter, setMs });
}

export async function eraseMark(store: Bigtable, name: string): Promise<void> {
  const token = tokenOf(name);
  await createLeaseTable(store);
  const before = await readLease(store, token);
  if (before !== undefined) await eraseLease(store, { token, counter: before.counter });
}

function tokenOf(name: string): string {
  return leaseToken(`${PREFIX}${name}`, 0);
}
