/**
 * Dropping a table, while it may be in use.
 *
 *     there ─▶ dropping      1. no process that reads the definition from now on commits to it
 *                            2. the drop is announced: commits read the definition again (P54)
 *           ─▶ settled       3. all locks in it, or with their primary in it, are resolved
 *           ─▶ gone          4. companion and table are dropped
 *
 * Why 3? A transaction's fate is recorded at its primary. Once the primary is gone, a lock in
 * another table that points to it can no longer be recognized as a committed transaction's. And a
 * writer that has just checked that the table exists, and commits after the table was created
 * again, would have committed a write that is not there.
 *
 * Why is 3 complete? With all its locks in place, a transaction asks for its commit timestamp, and
 * with it comes the count of drops. If the timestamp was asked for before 2, the locks were there
 * before the scan, which meets those that are left. If after 2, the count is larger than any that a
 * process had heard of before 1, and only a definition that was read before 1 calls the table
 * existing. So the process reads the definition again, and the transaction fails. After 3 every
 * transaction that had a cell of the table and could commit has ended: none of its locks is left in
 * the table, and no lock elsewhere whose primary is in the table. Its other locks have their
 * primary elsewhere, which still tells their fate. Locks that appear later belong to transactions
 * that will not commit. If their primary was in the table, its absence is enough to roll them back
 * (P55, primaries dropped).
 *
 * The scan waits for locks whose owners live: they commit, or find the table dropped and roll back.
 * If an owner takes longer than `lockWaitMsMax`, the call fails with LOCKED; the table stays
 * `dropping`.
 *
 * What if the process dies? Every step may be repeated, and two processes may do the same step at
 * the same time. A process that finds 1 done does 2 itself: the one that did 1 may have died. Names
 * belong to one incarnation, so a process that is an hour late finds nothing to drop. The next
 * `dropTable` or `createTable` of the name continues.
 */
import { hasCode, PercolatorError } from '../base/index.ts';
import { type Bigtable, rowBatches } from '../bigtable/index.ts';
import { validateFilter, validateStoredRow } from '../bigtable/validate.ts';
import {
  placeOf,
  backoffMs,
  type CellAddress,
  columnOf,
  type Context,
  describeCell,
  everywhere,
  isOf,
  isTableNotFound,
  isWithoutPrimary,
  type Lock,
  LOCK,
  notifyTable,
  readLock,
  resolveLock,
  ROLLBACK,
  WRITE,
} from '../transaction/index.ts';
import { type Administration, stepOf } from './administration.ts';
import {
  allDefinitions,
  as,
  type Definition,
  existingAmong,
  hasForm,
  laterIncarnation,
  readDefinition,
  type StoredDefinition,
  whyLost,
  canBeStored,
  checkCanBeStored,
  checkName,
  companionOf,
  incarnationOf,
  isReserved,
  storedName,
} from './definition.ts';

/**
 * Drops the table with all that is in it; harmless if there is none.
 * @throws LOCKED if a live transaction keeps its lock for too long: call it again
 * @throws INVALID_ARGUMENT for a name that no table can have
 * @throws TABLE_MISMATCH if its definition cannot be decoded; or if it has none, and has another
 *   form or a later incarnation
 * @throws TABLE_NOT_FOUND if it has none, and the storage lists it and does not find it
 */
export async function dropTable(administration: Administration, table: string): Promise<void> {
  checkCanBeStored(table);
  const { store } = administration;
  let dropped: number | undefined;
  for (;;) {
    const definition = await readDefinition(store, table);
    dropped ??= definition?.incarnation;
    // Another process has dropped it and created it again.
    if (definition !== undefined && definition.incarnation !== dropped) return;
    switch (definition?.state) {
      case 'gone':
        return;
      case 'dropping':
      case 'settled':
        await finishDrop(administration, table, definition);
        break;
      case 'there':
        await stepOf(administration, table, definition, as('dropping', definition));
        break;
      case 'creating': // No transaction has ever used it.
        await stepOf(administration, table, definition, as('settled', definition));
        break;
      case undefined:
        checkName(table);
        if (!(await beginWithoutDefinition(administration, table))) return;
        break;
    }
  }
}

/**
 * Begins to drop a table that has no definition. Resolves to false if there is no table.
 * @throws TABLE_MISMATCH if it has another form or a later incarnation
 */
async function beginWithoutDefinition(
  administration: Administration,
  table: string,
): Promise<boolean> {
  const { store } = administration;
  const listed = await store.listTables();
  // The form is checked before the drop is recorded: a recorded drop of a foreign table could never
  // be finished, and the drops of all other tables would fail at its families, as would collectors.
  const existing = await existingAmong(store, table, listed);
  const later = await laterIncarnation(store, table, listed);
  if (later !== undefined) {
    // Unless another process has created the table since.
    if ((await readDefinition(store, table)) !== undefined) return true;
    throw new PercolatorError('TABLE_MISMATCH', whyLost(table, later));
  }
  if (existing.length === 0) return false;
  await stepOf(administration, table, undefined, await leftBehind(administration));
  return true;
}

/**
 * The definition for a table that has none: an older version of the engine was interrupted, another
 * program made the table, or the definition was lost. Its `createdAt` makes it newer than a lost
 * one that processes may still know (definition.ts).
 */
async function leftBehind({ context }: Administration): Promise<Definition> {
  const createdAt = await context.oracle.next();
  return { state: 'dropping', incarnation: 1, observedColumns: [], createdAt };
}

/** Makes the next step of a drop, whichever process began it. */
export async function finishDrop(
  administration: Administration,
  table: string,
  definition: StoredDefinition,
): Promise<void> {
  const stored = storedName(table, definition.incarnation);
  if (definition.state === 'dropping') {
    await administration.context.oracle.announceDrop();
    await settle(administration, stored);
    await stepOf(administration, table, definition, as('settled', definition));
    return; // The caller reads again: another process may be further.
  }
  await dropLeftovers(administration.store, stored);
  await stepOf(administration, table, definition, as('gone', definition));
}

/** Drops both tables of an incarnation that is not in use, and never will be. */
export async function dropLeftovers(store: Bigtable, stored: string): Promise<void> {
  await store.dropTable(notifyTable(stored));
  await store.dropTable(stored);
}

/** Step 3. */
async function settle({ context, store }: Administration, dropped: string): Promise<void> {
  // Where another program deleted the stored table, no outcome is left to look up.
  if (!(await store.listTables()).includes(dropped)) return;
  for (const table of await tablesWithLocks(store)) await settleLocksIn(context, table, dropped);
}

/** The storage's names of the tables that are in use or being dropped, by their definitions. */
export async function storedTables(store: Bigtable): Promise<readonly string[]> {
  const definitions = await allDefinitions(store);
  const isDamaged = [...definitions.values()].includes(undefined);
  return inUse(store, definitions, isDamaged ? await store.listTables() : []);
}

/**
 * The storage's names of the tables whose locks may matter: those of `storedTables`, and tables of
 * our form without a definition, which may be taken over (tables.ts). A missing companion changes
 * nothing: fsck makes it, and then the table can be taken over.
 */
export async function tablesWithLocks(store: Bigtable): Promise<readonly string[]> {
  // Tables are listed before definitions are read. A table's definition is made before the table,
  // so a listed table without one is not one that is being made.
  const existing = await store.listTables();
  const definitions = await allDefinitions(store);
  const tables = await inUse(store, definitions, existing);
  for (const stored of existing) {
    const isLost = isUndefined(definitions, stored) && (await isOurs(store, stored, existing));
    if (isLost) tables.push(stored);
  }
  return tables;
}

/**
 * Whether it is a Percolator table. One that we may not read, and that has no companion, is taken
 * for another program's: it must stop no drop and no collector.
 */
export async function isOurs(
  store: Bigtable,
  stored: string,
  existing: readonly string[],
): Promise<boolean> {
  try {
    return await hasForm(store, stored);
  } catch (error) {
    const isRefused = hasCode(error, 'STORE_REFUSED');
    // With a companion it is ours, and the refusal may be temporary.
    if (isRefused && !existing.includes(notifyTable(stored))) return false;
    throw error;
  }
}

async function inUse(
  store: Bigtable,
  definitions: ReadonlyMap<string, StoredDefinition | undefined>,
  existing: readonly string[],
): Promise<string[]> {
  const tables: string[] = [];
  for (const [table, definition] of definitions) {
    if (definition === undefined) {
      // A damaged definition does not tell which incarnation is in use: each that exists may be.
      for (const stored of existing.filter((one) => isIncarnation(one, table))) {
        if (await isOurs(store, stored, existing)) tables.push(stored);
      }
    } else if (definition.state === 'there' || definition.state === 'dropping') {
      tables.push(storedName(table, definition.incarnation));
    }
  }
  return tables;
}

function isUndefined(definitions: ReadonlyMap<string, unknown>, stored: string): boolean {
  if (!canBeStored(stored) || isReserved(stored) || companionOf(stored) !== undefined) return false;
  return !definitions.has(stored) && !definitions.has(incarnationOf(stored).table);
}

export function isIncarnation(stored: string, table: string): boolean {
  return companionOf(stored) === undefined && incarnationOf(stored).table === table;
}

/**
 * Locks, and at least one cell of every row: the newest write record and rollback record of each
 * column. Without these, the first batch of a table without locks would read the whole table.
 */
const LOCKS = [
  everywhere(LOCK),
  { ...everywhere(WRITE), versions: 1 },
  { ...everywhere(ROLLBACK), versions: 1 },
];

async function settleLocksIn(context: Context, table: string, dropped: string): Promise<void> {
  try {
    for await (const locks of lockBatches(context, table)) {
      const mattering = locks.filter(
        ({ lock }) => table === dropped || lock.primary.table === dropped,
      );
      await settleLocks(context, mattering, dropped);
    }
  } catch (error) {
    const isDropped = isTableNotFound(error) && !(await context.store.listTables()).includes(table);
    if (!isDropped) throw error; // If it was dropped, its locks went with it.
  }
}

interface FoundLock {
  readonly cell: CellAddress;
  readonly lock: Lock;
}

async function* lockBatches(context: Context, table: string): AsyncGenerator<readonly FoundLock[]> {
  for await (const { rows } of rowBatches(context.store, table, {}, LOCKS)) {
    yield rows.flatMap(({ key: row, cells }) =>
      cells.flatMap((cell) => {
        // A damaged lock cannot be resolved from itself; at a primary, a lock that points to it
        // resolves it.
        const lock = isOf(LOCK, cell) ? readLock(cell) : undefined;
        return lock === undefined ? [] : [{ cell: { table, row, column: columnOf(cell) }, lock }];
      }),
    );
    await context.clock.yield();
  }
}

/**
 * Resolves the locks; waits until those whose owners live are gone. It waits for all of them at the
 * same time: a process that died may have left many, and each seems alive for its time to live.
 */
async function settleLocks(
  context: Context,
  locks: readonly FoundLock[],
  dropped: string,
): Promise<void> {
  const { clock, options } = context;
  let left = await livingAmong(context, locks, dropped);
  const startedMs = clock.monotonicMs();
  let askedMs = startedMs;
  for (let attempt = 1; left[0] !== undefined; attempt++) {
    const { cell, lock } = left[0];
    const waitedMs = askedMs - startedMs; // Without the time that resolving the others took.
    if (waitedMs > options.lockWaitMsMax) {
      throw new PercolatorError(
        'LOCKED',
        `${describeCell(cell)} has been locked by the transaction of ${lock.startTimestamp} ` +
          `(owner ${lock.owner}) for ${Math.round(waitedMs)} ms; drop the table again`,
      );
    }
    context.counters.lockWaits++;
    await context.closing.sleep(clock, backoffMs(context, attempt));
    askedMs = clock.monotonicMs();
    left = await livingAmong(context, left, dropped);
  }
}

/** Resolves the locks whose owners do not live, and returns the others. */
async function livingAmong(
  context: Context,
  locks: readonly FoundLock[],
  dropped: string,
): Promise<readonly FoundLock[]> {
  const living: FoundLock[] = [];
  for (const { cell, lock } of locks) {
    const isLiving =
      (await isThere(context, cell, lock)) && (await isAlive(context, cell, { lock, dropped }));
    if (isLiving) living.push({ cell, lock });
  }
  return living;
}

async function isAlive(
  context: Context,
  cell: CellAddress,
  { lock, dropped }: { readonly lock: Lock; readonly dropped: string },
): Promise<boolean> {
  try {
    return (await resolveLock(context, cell, lock)) === 'alive';
  } catch (error) {
    if (!isWithoutPrimary(error) || (await mayBeThere(context, lock.primary, dropped, error))) {
      throw error;
    }
    // The primary was in a third table, which another program deleted, or was never anywhere: this
    // lock will never be resolved.
    return false;
  }
}

/**
 * Whether the primary may still be there: the storage may have refused something else, or
 * says by mistake that the primary's table is missing.
 */
async function mayBeThere(
  { store }: Context,
  primary: CellAddress,
  dropped: string,
  error: unknown,
): Promise<boolean> {
  if (hasCode(error, 'INVALID_ARGUMENT')) {
    return canExist(primary);
  }
  if (primary.table === dropped) return true;
  return isTableNotFound(error) && (await store.listTables()).includes(primary.table);
}

/** Whether a cell could have this address: a damaged lock may name anything. */
function canExist({ table, row, column }: CellAddress): boolean {
  if (!canBeStored(table)) return false;
  try {
    validateStoredRow(row);
    validateFilter(placeOf(ROLLBACK, column)); // Its qualifier is the longest.
    return true;
  } catch {
    return false;
  }
}

async function isThere({ store }: Context, cell: CellAddress, lock: Lock): Promise<boolean> {
  const { table, row, column } = cell;
  const { startTimestamp: from } = lock;
  const filter = { ...placeOf(LOCK, column), from, to: from };
  return (await store.readRow(table, row, [filter])) !== undefined;
}
