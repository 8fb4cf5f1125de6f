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
 *     oracle:identity @ 1         a random name          names the database, forever
 *
 * The number after @ is the cell's timestamp, and only grows: every mutation has the condition that
 * its number has not been reached, or that the one it has read has not moved. So a late copy of it
 * changes nothing. `lease` and `freed` share one counter, which goes on after a lease has ended.
 */
import { bytesOf, entropyName, hasCode, PercolatorError, textOf } from '../base/index.ts';
import {
  type Bigtable,
  type Cell,
  type CellFilter,
  type Mutation,
  type Row,
  type Timestamp,
  TIMESTAMP_MAX,
} from '../bigtable/index.ts';
import type { TimestampOracle } from './oracle.ts';

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
/** The newest cell of each column: one filter, as every timestamp costs a read of the row. */
const NEWEST: readonly CellFilter[] = [{ family: FAMILY, versions: 1 }];
/** Timestamp 0 is never handed out: it means "before everything". */
const NOTHING_ALLOCATED: Range = { owner: '', start: 1, limit: 1 };

/**
 * All columns of the row, in one read.
 * @param known what an earlier read of the same database has returned, if anything
 */
export async function readOracleRow(store: Bigtable, known?: OracleRow): Promise<OracleRow> {
  return decodeRow(await store.readRow(ORACLE_TABLE, ROW, NEWEST), known);
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
    const value = bytesOf(identity);
    // A late copy of it is refused: the identity is never erased.
    const set = { kind: 'set', ...IDENTITY, timestamp: 1, value } as const;
    if (await mutateOracleRow(store, [IDENTITY], [set])) return identity;
  }
}

/** Undefined if there is none, or not even the table. */
async function readIdentity(store: Bigtable): Promise<string | undefined> {
  try {
    return decodeRow(await store.readRow(ORACLE_TABLE, ROW, [IDENTITY])).identity;
  } catch (error) {
    if (hasCode(error, 'TABLE_NOT_FOUND') || hasCode(error, 'FAMILY_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** A limit is set only above the one before: it has one owner and start, decoded once. */
function decodeRow(row: Row | undefined, known?: OracleRow): OracleRow {
  const find = (column: { readonly qualifier: string }): Cell | undefined =>
    row?.cells.find(({ qualifier }) => qualifier === column.qualifier);
  const limit = find(LIMIT);
  const lease = find(LEASE);
  const identity = find(IDENTITY);
  return {
    range:
      known !== undefined && known.range.limit === limit?.timestamp
        ? known.range
        : decodeRange(limit),
    horizon: find(HORIZON)?.timestamp ?? 0,
    drops: find(DROPS)?.timestamp ?? 0,
    lease:
      lease === undefined
        ? { counter: find(FREED)?.timestamp ?? 0, owner: '', epoch: 0, ttlMs: 0 }
        : { ...(decode(lease.value) as Omit<RowLease, 'counter'>), counter: lease.timestamp },
    identity: identity && textOf(identity.value),
  };
}

function decodeRange(limit: Cell | undefined): Range {
  if (limit === undefined) return NOTHING_ALLOCATED;
  return { ...(decode(limit.value) as Omit<Range, 'limit'>), limit: limit.timestamp };
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
    // Larger numbers lose digits, so two of them may be equal (P38, large timestamps).
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
  return bytesOf(JSON.stringify(value));
}

function decode(value: Uint8Array): unknown {
  return JSON.parse(textOf(value));
}

/*
 * The identity of a database: a random name in its oracle's row, written once, by the first process
 * that opens the database or its oracle.
 *
 *     store ──▶ its oracle's row ──▶ identity ◀── compared ──▶ the database that was opened (P74)
 *                                       ▲
 *                                       └──────── compared ──▶ every answer of its oracle (P73)
 *
 * Addresses are not enough to tell databases apart: a line of a configuration is swapped, another
 * server listens at a port that was free, a store comes back empty. Nothing fails then.
 * The timestamps of two oracles have no order in common, so updates are lost; and a table that is
 * missing looks like one that was dropped.
 *
 * The comparison costs no call: the row is read anyway, and the oracle answers anyway. What asks no
 * oracle asks for the identity explicitly, before it acts.
 */

/** The database that was opened, and a look whether its store still has it. */
export interface Identity {
  readonly name: string;
  /** @throws WRONG_DATABASE if the store came back empty, or has another database now */
  check(): Promise<void>;
  /**
   * The error, or WRONG_DATABASE if a table is missing because the store is no longer that of the
   * database.
   */
  causeOf(error: unknown): Promise<unknown>;
}

/** The identity of the database in `store`, which gets one if it has none. */
export async function identify(store: Bigtable): Promise<Identity> {
  return identityIn(store, await findIdentity(store));
}

/** The same, if its name is known. */
export function identityIn(store: Bigtable, name: string): Identity {
  const check = async (): Promise<void> => checkStored(name, await readIdentity(store));
  const causeOf = async (error: unknown): Promise<unknown> => {
    if (!hasCode(error, 'TABLE_NOT_FOUND')) return error;
    return check().then(
      () => error,
      (cause: unknown) => (hasCode(cause, 'WRONG_DATABASE') ? cause : error),
    );
  };
  return { name, check, causeOf };
}

/** All columns of the oracle's row of this database. @throws WRONG_DATABASE as `Identity.check` */
export async function readRowOf(
  identity: string,
  store: Bigtable,
  known?: OracleRow,
): Promise<OracleRow> {
  try {
    const row = await readOracleRow(store, known);
    checkStored(identity, row.identity);
    return row;
  } catch (error) {
    if (hasCode(error, 'TABLE_NOT_FOUND')) checkStored(identity, undefined);
    throw error;
  }
}

function checkStored(identity: string, found: string | undefined): void {
  if (found === identity) return;
  const now = found === undefined ? 'it came back empty' : `it has the database ${found} now`;
  throw new PercolatorError(
    'WRONG_DATABASE',
    `the store is no longer that of the database ${identity}, which was opened: ${now}; ` +
      'bring the store back, or open the database anew',
  );
}

/** @throws WRONG_DATABASE unless an oracle of the database `found` may serve the one `wanted` */
export function checkOracle(wanted: string, found: string | undefined): void {
  if (found === wanted) return;
  const what = found ? `belongs to the database ${found}` : 'names no database';
  throw new PercolatorError(
    'WRONG_DATABASE',
    `it ${what}, not to the database ${wanted}: connect to an oracle of the same store`,
  );
}

/*
 * An oracle for read-only processes: it hands nothing out and writes nothing.
 *
 * It answers with the limit of the newest range. Every timestamp handed out is below that limit, so
 * the answer is "larger than every one handed out before this call". But another process is still
 * to hand that timestamp out, so the answer serves for comparisons, never for writes.
 */

/** @throws TABLE_NOT_FOUND at the first question, if the store has no oracle */
export function watchTimestamps(store: Bigtable): TimestampOracle {
  let horizon: Timestamp = 0;
  let drops = 0;

  async function look(): Promise<Timestamp> {
    const row = await readOracleRow(store);
    horizon = Math.max(horizon, row.horizon);
    drops = Math.max(drops, row.drops);
    return row.range.limit;
  }

  return {
    next: look,
    get horizon() {
      return horizon;
    },
    readHorizon: async () => {
      await look();
      return horizon;
    },
    raiseHorizon: async () => {
      throw new PercolatorError('READ_ONLY', 'a bystander does not move the horizon');
    },
    get drops() {
      return drops;
    },
    announceDrop: async () => {
      throw new PercolatorError('READ_ONLY', 'a bystander drops no table');
    },
    belongTo: async (identity) => checkOracle(identity, (await readOracleRow(store)).identity),
  };
}
