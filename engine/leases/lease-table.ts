/**
 * The table of leases: one row for each database that a process has opened.
 *
 *     percolator-leases: <liveness token>#<number>   lease:lease @ counter = {bound, ttlMs, says}
 *
 * What the process says, if anything, has nothing to do with the lease: `says` is a list of what
 * its workers tell those of other processes (P72, different observers), and is here because it
 * costs no call.
 *
 * The number tells apart databases with one liveness token. If they shared a row, each would erase
 * the bound of the other, and a successor's first renewals could lie below what its predecessor
 * erased: on a storage with tombstones, they would be invisible.
 *
 * A process that is started again with the same token and seed has the same row again. Its counter
 * starts at a fresh timestamp, above the counters of its earlier lives. Otherwise a watch would
 * take a renewal that equals an earlier life's for that life's lapsed lease, and a late copy of a
 * renewal with a larger counter would erase ours. Only the counter of a life that renewed its lease
 * more often than the oracle handed out timestamps is larger.
 *
 * The counter is the cell's timestamp, and the newest cell counts. A late copy of an old renewal is
 * then an old cell below a newer one, whatever its bound was. If it could replace the newer one, it
 * would revoke a pin that has been answered.
 */
import { bytesOf, type Clock, PercolatorError, textOf } from '../base/index.ts';
import { type Bigtable, type Cell, rowBatches, type Timestamp } from '../bigtable/index.ts';

export interface Lease {
  /** The key of its row: see `leaseToken`. */
  readonly token: string;
  /** No transaction of the process that relies on the lease has a start timestamp below. */
  readonly bound: Timestamp;
  /** Grows with every renewal, from a fresh timestamp on. */
  readonly counter: number;
  /** Milliseconds that the lease is valid: from when its owner sent it, or a collector saw it. */
  readonly ttlMs: number;
  readonly says?: readonly unknown[] | undefined;
  /** Of a mark: when it was set, by the wall clock of who set it. */
  readonly setMs?: number | undefined;
}

export const LEASES_TABLE = 'percolator-leases';
const LEASE = { family: 'lease', qualifier: 'lease' } as const;

/** @param nonce tells apart the open databases with the liveness token */
export function leaseToken(livenessToken: string, nonce: number): string {
  return `${livenessToken}#${nonce}`;
}

/** The liveness token of the process that has the lease. */
export function processOf(token: string): string {
  return token.replace(/#\d+$/, '');
}

export async function createLeaseTable(store: Bigtable): Promise<void> {
  await store.createTable(LEASES_TABLE, { families: [LEASE.family] });
}

/**
 * The counter of the lease; undefined if there is none. The value is not decoded: if it is damaged,
 * the next renewal replaces it.
 */
export async function readLease(
  store: Bigtable,
  token: string,
): Promise<Pick<Lease, 'counter'> | undefined> {
  const row = await store.readRow(LEASES_TABLE, token, [{ ...LEASE, versions: 1 }]);
  const cell = row?.cells[0];
  return cell && { counter: cell.timestamp };
}

/** @throws TABLE_MISMATCH if one cannot be decoded: it may keep what a process still reads */
export async function readLeases(store: Bigtable): Promise<readonly Lease[]> {
  return [...(await allLeases(store))].map(([token, lease]) => {
    if (lease !== undefined) return lease;
    const message = `the lease ${token} is damaged: it has bytes that this engine does not write`;
    throw new PercolatorError('TABLE_MISMATCH', message);
  });
}

/** All leases by their tokens; undefined for one that cannot be decoded. */
export async function allLeases(store: Bigtable): Promise<ReadonlyMap<string, Lease | undefined>> {
  const leases = new Map<string, Lease | undefined>();
  const filters = [{ ...LEASE, versions: 1 }];
  for await (const { rows } of rowBatches(store, LEASES_TABLE, {}, filters)) {
    for (const { key, cells } of rows) leases.set(key, decodeIfLegible(key, cells[0]));
  }
  return leases;
}

export async function writeLease(
  store: Bigtable,
  { token, bound, counter, ttlMs, says, setMs }: Lease,
): Promise<void> {
  const value = bytesOf(JSON.stringify({ bound, ttlMs, says, setMs }));
  const mutations = [
    { kind: 'set', ...LEASE, timestamp: counter, value },
    { kind: 'erase', ...LEASE, from: 0, to: counter - 1 },
  ] as const;
  await store.mutateRows([{ table: LEASES_TABLE, row: token, mutations }]);
}

/** Erases the lease as it was seen; a later renewal stays. */
export async function eraseLease(
  store: Bigtable,
  { token, counter }: Pick<Lease, 'token' | 'counter'>,
): Promise<void> {
  const mutations = [{ kind: 'erase', ...LEASE, from: 0, to: counter }] as const;
  await store.mutateRows([{ table: LEASES_TABLE, row: token, mutations }]);
}

function decodeIfLegible(token: string, cell: Cell | undefined): Lease | undefined {
  try {
    const lease = decode(token, cell);
    const numbers = [lease?.bound, lease?.ttlMs];
    return numbers.every((one) => typeof one === 'number') ? lease : undefined;
  } catch {
    return undefined;
  }
}

function decode(token: string, cell: Cell | undefined): Lease | undefined {
  if (cell === undefined) return undefined;
  const text = textOf(cell.value);
  const { bound, ttlMs, says, setMs } = JSON.parse(text) as Omit<Lease, 'token' | 'counter'>;
  return { token, bound, counter: cell.timestamp, ttlMs, says, setMs };
}

/*
 * The leases that still count for the collector. As with locks, it trusts no clock but its own
 * (P24, two machines' clocks).
 *
 * A lease has lapsed when it has not changed for its time to live, counted from when we first saw
 * its current version. Its owner counts from before it sent that version, so it has stopped relying
 * on the lease earlier. Our count ends when we send the read, not when the answer arrives: a slow
 * answer shows the lease as it was long ago. An owner that comes back later finds itself in a new
 * epoch (leases.ts).
 *
 * A mark has no owner that could be harmed. It lapses also by the wall clock, when that says that
 * it is older than twice its time, and an hour: else it would be there for ever where each process
 * collects for less than its time.
 */

/** By how much two wall clocks may differ, at least. */
const WALL_CLOCKS_MS = 3_600_000;

interface LeaseSighting {
  readonly lease: Lease;
  /** On our clock, after it was read. */
  readonly sinceMs: number;
}

export class LeaseWatch {
  readonly #store: Bigtable;
  readonly #clock: Clock;
  #sightings = new Map<string, LeaseSighting>();

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
    const wallMs = this.#clock.wallMs();
    const live = sightings.filter(
      ({ lease, sinceMs }) => askedMs - sinceMs < lease.ttlMs && !isOld(lease, wallMs),
    );
    const lapsed = sightings.filter((sighting) => !live.includes(sighting));
    for (const { lease } of lapsed) await this.#erase(lease);
    return live.map(({ lease }) => lease);
  }

  #sighting(lease: Lease, nowMs: number): LeaseSighting {
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

function isOld({ setMs = Infinity, ttlMs }: Lease, wallMs: number): boolean {
  return wallMs - setMs > ttlMs + Math.max(ttlMs, WALL_CLOCKS_MS);
}
