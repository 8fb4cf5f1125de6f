/**
 * The one row of the store that holds the oracle's persistent state:
 *
 *     oracle:limit @ 2,000,001    {owner, start}         all below is allocated: `owner` has those
 *                                                        from `start` on, earlier owners the rest
 *     oracle:horizon @ 1,700,000                         snapshots below it may lack versions
 *     oracle:drops @ 3                                   how many drops of tables were announced
 *     oracle:lease @ 17           {owner, epoch, ttlMs}  only `owner` hands out timestamps, from
 *                                                        memory, while this cell exists
 *     oracle:freed @ 12                                  the owner gave the lease up, or an
 *                                                        allocator erased it after it expired
 *     oracle:identity @ 1         a random name          names the database, for ever (identity.ts)
 *
 * The number after @ is the cell's timestamp, and only grows: every mutation has the condition that
 * its number has not been reached, or that the one it has read has not moved. So a late copy of it
 * changes nothing. `lease` and `freed` share one counter, which goes on after a lease has ended.
 */
import { entropyName, hasCode, PercolatorError } from '../base/index.ts';
import {
  type Bigtable,
  type Cell,
  type CellFilter,
  type Mutation,
  type Row,
  type Timestamp,
  TIMESTAMP_MAX,
} from '../bigtable/index.ts';

/** The content of the row, from one read. */
export interface OracleRow {
  readonly range: Range;
  readonly horizon: Timestamp;
  readonly drops: number;
  readonly lease: RowLease;
  /** Undefined if the database has none yet, or the store is no longer that of the database. */
  readonly identity: string | undefined;
}

export interface Range {
  readonly owner: string;
  readonly start: Timestamp;
  /** Exclusive. */
  readonly limit: Timestamp;
}

/**
 * The right to hand out timestamps from memory (leased-allocator.ts). A free lease has an empty
 * owner, and epoch and ttlMs are 0.
 */
export interface RowLease {
  /** Grows with every renewal and takeover, and when the lease is given up or erased. */
  readonly counter: number;
  readonly owner: string;
  /** The counter at the takeover: of two oracles, the later one has the larger epoch. */
  readonly epoch: number;
  readonly ttlMs: number;
}

export const ORACLE_TABLE = 'timestamp-oracle';
/** The only row; its key is older than the other cells. */
const ROW = 'range';
const FAMILY = 'oracle';
const LIMIT = { family: FAMILY, qualifier: 'limit' } as const;
const HORIZON = { family: FAMILY, qualifier: 'horizon' } as const;
const DROPS = { family: FAMILY, qualifier: 'drops' } as const;
const LEASE = { family: FAMILY, qualifier: 'lease' } as const;
const FREED = { family: FAMILY, qualifier: 'freed' } as const;
const IDENTITY = { family: FAMILY, qualifier: 'identity' } as const;
/** "There is a lease, valid or expired", as a condition. */
export const LEASED: CellFilter = LEASE;
const COLUMNS: readonly CellFilter[] = [
  { ...LIMIT, versions: 1 },
  { ...HORIZON, versions: 1 },
  { ...DROPS, versions: 1 },
  { ...LEASE, versions: 1 },
  { ...FREED, versions: 1 },
  { ...IDENTITY, versions: 1 },
];
/** Timestamp 0 is never handed out: it means "before everything". */
const NOTHING_ALLOCATED: Range = { owner: '', start: 1, limit: 1 };

/** All columns of the row, in one read. */
export async function readOracleRow(store: Bigtable): Promise<OracleRow> {
  return decodeRow(await store.readRow(ORACLE_TABLE, ROW, COLUMNS));
}

/**
 * The identity of the database in `store`. If it has none, it gets one, and if absent, the table;
 * of two processes that give it one at a time, both resolve to the same.
 */
export async function findIdentity(store: Bigtable): Promise<string> {
  for (;;) {
    const found = await readIdentity(store);
    if (found !== undefined) return found;
    await store.createTable(ORACLE_TABLE, { families: [FAMILY] });
    // From the operating system, never from the run's seed: no two databases may share it.
    const identity = entropyName();
    const value = Buffer.from(identity);
    // A late copy of it is refused: the identity is never erased.
    const set = { kind: 'set', ...IDENTITY, timestamp: 1, value } as const;
    if (await mutateOracleRow(store, [IDENTITY], [set])) return identity;
  }
}

/** Undefined if there is none, or not even the table. */
export async function readIdentity(store: Bigtable): Promise<string | undefined> {
  try {
    return decodeRow(await store.readRow(ORACLE_TABLE, ROW, [IDENTITY])).identity;
  } catch (error) {
    if (hasCode(error, 'TABLE_NOT_FOUND') || hasCode(error, 'FAMILY_NOT_FOUND')) return undefined;
    throw error;
  }
}

function decodeRow(row: Row | undefined): OracleRow {
  const find = (column: { readonly qualifier: string }): Cell | undefined =>
    row?.cells.find(({ qualifier }) => qualifier === column.qualifier);
  const limit = find(LIMIT);
  const lease = find(LEASE);
  const identity = find(IDENTITY);
  return {
    range:
      limit === undefined
        ? NOTHING_ALLOCATED
        : { ...(decode(limit.value) as Omit<Range, 'limit'>), limit: limit.timestamp },
    horizon: find(HORIZON)?.timestamp ?? 0,
    drops: find(DROPS)?.timestamp ?? 0,
    lease:
      lease === undefined
        ? { counter: find(FREED)?.timestamp ?? 0, owner: '', epoch: 0, ttlMs: 0 }
        : { ...(decode(lease.value) as Omit<RowLease, 'counter'>), counter: lease.timestamp },
    identity: identity && Buffer.from(identity.value).toString(),
  };
}

/**
 * Mutates the row unless a cell passes one of `anyOf`. Resolves to true if the mutation was
 * applied, to false if it was refused or its answer was lost.
 */
export async function mutateOracleRow(
  store: Bigtable,
  anyOf: readonly CellFilter[],
  ifNotFound: readonly Mutation[],
): Promise<boolean> {
  try {
    const where = { table: ORACLE_TABLE, row: ROW };
    return !(await store.checkAndMutateRow({ ...where, anyOf, ifNotFound, essential: true }));
  } catch (error) {
    // The answer was lost. The caller reads the row again; if the request arrives even later, its
    // conditions refuse it, or it does what the caller wanted.
    if (!hasCode(error, 'STORE_IN_DOUBT')) throw error;
    return false;
  }
}

export function setLimit({ owner, start, limit }: Range): readonly Mutation[] {
  if (limit > TIMESTAMP_MAX) {
    // Larger numbers lose digits, so two of them may be equal (P38).
    throw new PercolatorError('INVALID_ARGUMENT', `there are no timestamps above ${TIMESTAMP_MAX}`);
  }
  return replace(LIMIT, limit, encode({ owner, start }));
}

export function setHorizon(horizon: Timestamp): readonly Mutation[] {
  return replace(HORIZON, horizon, new Uint8Array());
}

export function setDrops(drops: number): readonly Mutation[] {
  return replace(DROPS, drops, new Uint8Array());
}

export function setLease({ counter, owner, epoch, ttlMs }: RowLease): readonly Mutation[] {
  return replace(LEASE, counter, encode({ owner, epoch, ttlMs }));
}

export function setFreed(counter: number): readonly Mutation[] {
  return [
    ...replace(FREED, counter, new Uint8Array()),
    { kind: 'erase', ...LEASE, from: 0, to: counter },
  ];
}

export function limitAbove(limit: Timestamp): CellFilter {
  return { ...LIMIT, from: limit + 1 };
}

export function horizonFrom(horizon: Timestamp): CellFilter {
  return { ...HORIZON, from: horizon };
}

export function dropsFrom(drops: number): CellFilter {
  return { ...DROPS, from: drops };
}

/**
 * "The lease was renewed, taken over or given up since its counter had this value", as conditions.
 */
export function leaseMovedSince({ counter }: Pick<RowLease, 'counter'>): readonly CellFilter[] {
  return [
    { ...LEASE, from: counter + 1 },
    { ...FREED, from: counter + 1 },
  ];
}

/** Sets the cell, and erases the older ones. */
function replace(
  column: { readonly family: string; readonly qualifier: string },
  timestamp: Timestamp,
  value: Uint8Array,
): readonly Mutation[] {
  return [
    { kind: 'set', ...column, timestamp, value },
    { kind: 'erase', ...column, from: 0, to: timestamp - 1 },
  ];
}

function encode(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function decode(value: Uint8Array): unknown {
  return JSON.parse(Buffer.from(value).toString());
}
