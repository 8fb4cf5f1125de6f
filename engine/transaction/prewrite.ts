/**
 * Prewrite (Figure 6): "In the first phase of commit ..., we try to lock all the cells being
 * written. ... The transaction reads metadata to check for conflicts in each cell being written."
 *
 * One conditional mutation for each row, with all of the row's cells in it:
 *
 *     if   any lock                 "... or locks at any timestamp"
 *     or   any write ≥ start         "abort on writes after our start timestamp ..."
 *     or   our own rollback record   we were rolled back, or this is an old copy (P1)
 *     then nothing, it is a conflict
 *     else data and lock at the start timestamp
 *
 * Of a column that takes shared locks, a writer also looks for those of others, and for what they
 * have committed since its start; a shared lock looks for writers, and passes over other shared
 * locks (P90, shared lock overlooked; P91, writer overlooked):
 *
 *                        c:lock   c:write ≥ start   shared lock   its record ≥ start
 *     write of c         any      conflict          any           conflict
 *     shared lock of c   any      conflict          -             -
 *
 * Where the storage limits a check (`manifest.checkBytesMax`), the cells of a large row are several
 * such mutations, each with cells of its own. They are locked like cells of different rows; and
 * since all locks are there before the commit point, the row still commits in one mutation.
 *
 * A conflict is never believed at once: the mutation is not idempotent, and the "conflict" may be
 * the echo of our own lock from a copy that was sent before (P12, own echo as conflict). A second
 * read checks.
 *
 * Prewrite never waits for another transaction's lock. It holds locks, or is about to, and two
 * transactions that wait for each other would wait forever (P22, waiting with locks).
 */
import { assert, byteLength, hasCode, PercolatorError, unreachable } from '../base/index.ts';
import type {
  Cell,
  CellFilter,
  ConditionalRowMutation,
  Mutation,
  Timestamp,
} from '../bigtable/index.ts';
import {
  type CellAddress,
  columnOf,
  DATA,
  describeCell,
  isOf,
  isSharedLock,
  LOCK,
  placeOf,
  protectedBy,
  recordOf,
  ROLLBACK,
  sharedLockColumn,
  WRITE,
  type WriteRecord,
} from './columns.ts';
import { backoffMs, type Context } from './context.ts';
import { encodeLock, type Lock, lockIn, readLock } from './locks.ts';
import { isForbidding, tracesOf } from './resolve-lock.ts';
import type { RowWrites, Write } from './writes.ts';

/** What all prewrites of one transaction share. */
export interface Prewriting {
  readonly startTimestamp: Timestamp;
  readonly primary: CellAddress;
  /** Wall-clock time at which the commit began; each lock states it. */
  readonly wallMs: number;
}

/**
 * Locks the cells of all rows. Resolves with the conflicts; an empty list means that all cells are
 * locked.
 */
export async function prewriteRows(
  context: Context,
  rows: readonly RowWrites[],
  prewriting: Prewriting,
): Promise<readonly Conflict[]> {
  const { checkBytesMax } = context.store.manifest;
  if (checkBytesMax === undefined) return prewritePieces(context, rows, prewriting);
  const pieces = rows.flatMap((row) => piecesOf(row, checkBytesMax));
  return prewritePieces(context, pieces, prewriting);
}

/**
 * The row in pieces, each of which one check can name. A piece has neighbouring columns, so that a
 * storage looks for them in a part of the row.
 */
function piecesOf({ table, row, writes }: RowWrites, bytesMax: number): readonly RowWrites[] {
  const pieces: Write[][] = [];
  let bytes = Infinity;
  for (const write of writes.toSorted(byQualifier)) {
    const own = offending(write, 0).reduce(
      (sum, { qualifier = '' }) => sum + byteLength(qualifier),
      0,
    );
    bytes += own;
    if (bytes > bytesMax) {
      pieces.push([]);
      bytes = own;
    }
    pieces.at(-1)?.push(write);
  }
  return pieces.map((some) => ({ table, row, writes: some }));
}

/** Not by column: c10 is after c1, and the cells of c10 are before those of c1. */
function byQualifier(one: Write, other: Write): number {
  return placeOf(LOCK, one.column).qualifier < placeOf(LOCK, other.column).qualifier ? -1 : 1;
}

/** Each row, or piece of one, is locked whole or not at all. */
async function prewritePieces(
  context: Context,
  rows: readonly RowWrites[],
  prewriting: Prewriting,
): Promise<readonly Conflict[]> {
  const conditionals = rows.map((row) => prewriteMutation(context, row, prewriting));
  const answers = await context.store.checkAndMutateRows(conditionals);
  if (answers.every((answer) => answer === false)) return []; // No offending cell: all are locked.
  const examined = await Promise.allSettled(
    answers.map(async (answer, i) => {
      const row = rows[i];
      if (answer === false || row === undefined) return undefined;
      return examine(context, row, prewriting, answer);
    }),
  );
  // Throws only when no row is being sent any more: after the error, the rows are rolled back.
  const conflicts = examined.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
  return conflicts.filter((conflict) => conflict !== undefined);
}

/**
 * Examines an answer other than `false`: the storage has found an offending cell, or its answer was
 * lost. Resolves to undefined if the row is locked after all.
 */
async function examine(
  context: Context,
  row: RowWrites,
  prewriting: Prewriting,
  answer: true | Error,
): Promise<Conflict | undefined> {
  let latest: boolean | Error = answer;
  for (let attempt = 1; ; attempt++) {
    if (latest instanceof Error && !hasCode(latest, 'STORE_IN_DOUBT')) throw latest;
    const found = await classifyPrewrite(context, row, prewriting.startTimestamp);
    if (found.kind === 'ours') return undefined;
    // If the answer was lost, and nothing is there, the request may still arrive.
    if (found.kind === 'conflict' && !(latest instanceof Error && found.reason === 'gone')) {
      return found;
    }
    // Only now: the answer to the last attempt may be a conflict too (P21, writer meets dead lock).
    if (attempt > context.options.inDoubtAttemptsMax) throw noAnswer(row, attempt, latest);
    await context.clock.sleep(backoffMs(context, attempt));
    latest = await tryAgain(context, row, prewriting);
    if (latest === false) return undefined;
  }
}

/** Names the size: a check of many cells may be slower than the storage's deadline. */
function noAnswer(
  { table, row, writes }: RowWrites,
  attempts: number,
  latest: true | Error,
): PercolatorError {
  const reason = latest instanceof Error ? `: ${latest.message}` : '';
  const cells = writes.length === 1 ? 'a cell' : `${writes.length} cells`;
  const message = `prewriting ${cells} of ${table}/${row} got no answer in ${attempts} attempts${reason}`;
  return new PercolatorError('STORE_UNAVAILABLE', message);
}

async function tryAgain(
  context: Context,
  row: RowWrites,
  prewriting: Prewriting,
): Promise<boolean | Error> {
  const [answer] = await context.store.checkAndMutateRows([
    prewriteMutation(context, row, prewriting),
  ]);
  return answer ?? new PercolatorError('STORE_IN_DOUBT', 'the storage gave no answer');
}

function prewriteMutation(
  context: Context,
  { table, row, writes }: RowWrites,
  prewriting: Prewriting,
): ConditionalRowMutation {
  return {
    table,
    row,
    anyOf: writes.flatMap((write) => offending(write, prewriting.startTimestamp)),
    ifNotFound: writes.flatMap((write) => lockMutations(context, write, prewriting)),
    provisional: true, // The commit that makes it matter is applied later.
  };
}

/** The cells that must not exist: one of them is a conflict. */
function offending({ column, takesShared }: Write, startTimestamp: Timestamp): CellFilter[] {
  const written = isSharedLock(column) ? protectedBy(column) : column;
  const filters: CellFilter[] = [
    { ...placeOf(WRITE, written), from: startTimestamp },
    { ...placeOf(LOCK, written) },
    { ...placeOf(ROLLBACK, column), from: startTimestamp, to: startTimestamp },
  ];
  return takesShared === true ? [...filters, ...sharedBy(column, startTimestamp)] : filters;
}

/** What others have locked and committed in the column's shared locks; a writer meets all. */
function sharedBy(column: string, startTimestamp: Timestamp): CellFilter[] {
  const shared = sharedLockColumn(column);
  return [{ ...placeOf(WRITE, shared), from: startTimestamp }, { ...placeOf(LOCK, shared) }];
}

function lockMutations(context: Context, write: Write, prewriting: Prewriting): Mutation[] {
  const { column, value: data } = write;
  const set = { kind: 'set', timestamp: prewriting.startTimestamp } as const;
  const value = encodeLock(lockFor(context, write, prewriting));
  const lock = { ...set, ...placeOf(LOCK, column), value };
  return data === undefined ? [lock] : [{ ...set, ...placeOf(DATA, column), value: data }, lock];
}

export function lockFor(context: Context, write: Write, prewriting: Prewriting): Lock {
  const { operation, touched } = write;
  return {
    startTimestamp: prewriting.startTimestamp,
    primary: prewriting.primary,
    operation,
    ...(touched === undefined ? {} : { touched }),
    owner: context.liveness.self,
    wallMs: prewriting.wallMs,
    timeToLiveMs: context.options.lockTimeToLiveMs,
    heartbeat: 0,
  };
}

/*
 * The classifying read: what a conditional mutation's "no" really meant (P11, P12).
 *
 * The storage answers with one bit. "Another transaction is there" calls for a retry; "your own
 * mutation arrived before" does not, and a retry would apply the write twice. So a read checks
 * every conflict before it is believed.
 */

export interface Conflict {
  readonly kind: 'conflict';
  /**
   * newer write: committed at or after our start timestamp. locked: by another transaction. rolled
   * back: our transaction was. gone: the obstacle has left since.
   */
  readonly reason: 'newer write' | 'locked' | 'rolled back' | 'gone';
  readonly cell: CellAddress;
  /** With `locked`: the lock. */
  readonly lock?: Lock | undefined;
  /**
   * Every lock of the row that was in the way, for a caller that wants to resolve them (P80, many
   * locks of one).
   */
  readonly locks: readonly FoundLock[];
}

export interface FoundLock {
  readonly cell: CellAddress;
  readonly lock: Lock;
}

/** Why the row was not locked, or that it is. */
async function classifyPrewrite(
  context: Context,
  { table, row, writes }: RowWrites,
  startTimestamp: Timestamp,
): Promise<Conflict | { readonly kind: 'ours' }> {
  const filters = writes.flatMap((write) => evidence(write, startTimestamp));
  const cells = (await context.store.readRow(table, row, filters))?.cells ?? [];
  const [cell] = cells;
  if (cell === undefined) {
    return { kind: 'conflict', reason: 'gone', cell: { table, row, column: '' }, locks: [] };
  }
  // All cells of a row, or of its piece, are locked in one mutation, so our lock on the first
  // proves our locks on all.
  if (isOf(LOCK, cell) && cell.timestamp === startTimestamp) return { kind: 'ours' };
  const reason = reasonOf(cell);
  const address = { table, row, column: columnOf(cell) };
  const lock = reason === 'locked' ? lockIn(cell, address) : undefined;
  const locks = lock === undefined ? [] : foundLocks(cells, { table, row });
  return { kind: 'conflict', reason, cell: address, lock, locks };
}

/** Damaged ones are left out: nothing is known of their primaries. */
function foundLocks(
  cells: readonly Cell[],
  row: Pick<CellAddress, 'table' | 'row'>,
): readonly FoundLock[] {
  return cells.flatMap((cell) => {
    const lock = isOf(LOCK, cell) ? readLock(cell) : undefined;
    return lock === undefined ? [] : [{ cell: { ...row, column: columnOf(cell) }, lock }];
  });
}

export type CommitEvidence =
  | { readonly kind: 'committed'; readonly record: WriteRecord }
  | { readonly kind: 'still locked' }
  | { readonly kind: 'rolled back' }
  /** Nothing is left that proves how it ended. */
  | { readonly kind: 'collected' };

/** How our own commit of the primary ended, or that it has not. */
export async function classifyCommit(
  context: Context,
  primary: CellAddress,
  startTimestamp: Timestamp,
): Promise<CommitEvidence> {
  const traces = tracesOf({ primary, startTimestamp });
  const found = await context.store.readRow(primary.table, primary.row, traces);
  const cells = found?.cells ?? [];
  const record = recordOf(
    startTimestamp,
    cells.filter((cell) => isOf(WRITE, cell)),
  );
  if (record !== undefined) return { kind: 'committed', record };
  if (cells.some((cell) => isOf(LOCK, cell))) return { kind: 'still locked' };
  const rollback = cells.find((cell) => isOf(ROLLBACK, cell));
  if (rollback !== undefined && !isForbidding(rollback)) return { kind: 'rolled back' };
  const isGivenUp = (await context.oracle.readHorizon()) > startTimestamp;
  if (isGivenUp) return { kind: 'collected' };
  assert(rollback !== undefined, 'above the horizon, a lock that is gone has left a trace');
  return { kind: 'rolled back' };
}

/** One sentence for the error. */
export function describeConflict({ reason, cell: found, lock }: Conflict): string {
  const isShared = isSharedLock(found.column);
  const cell = isShared ? { ...found, column: protectedBy(found.column) } : found;
  switch (reason) {
    case 'newer write': {
      const how = isShared ? 'locked with others' : 'written';
      return `${describeCell(cell)} was ${how} by a transaction that committed first`;
    }
    case 'locked':
      return `${describeCell(cell)} is locked by the transaction of ${lock?.startTimestamp} (owner ${lock?.owner})`;
    case 'rolled back':
      return `another transaction presumed this one dead and rolled ${describeCell(cell)} back`;
    case 'gone':
      return `a cell of row ${cell.table}/${cell.row} was locked by another transaction`;
    default:
      return unreachable(reason);
  }
}

/** Our own lock comes first: it decides. */
function evidence({ column, takesShared }: Write, startTimestamp: Timestamp): CellFilter[] {
  const own = { from: startTimestamp, to: startTimestamp };
  const written = isSharedLock(column) ? protectedBy(column) : column;
  const filters: CellFilter[] = [
    { ...placeOf(LOCK, column), ...own },
    { ...placeOf(ROLLBACK, column), ...own },
    { ...placeOf(WRITE, written), from: startTimestamp, versions: 1 },
    { ...placeOf(LOCK, written), versions: 1 },
  ];
  return takesShared === true ? [...filters, ...sharedBy(column, startTimestamp)] : filters;
}

function reasonOf(cell: Cell): Conflict['reason'] {
  if (isOf(LOCK, cell)) return 'locked';
  return isOf(ROLLBACK, cell) ? 'rolled back' : 'newer write';
}
