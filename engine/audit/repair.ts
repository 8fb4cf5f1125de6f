/**
 * Repairs only what is safe while the database is in use, by steps that may run twice.
 *
 * - A lock is left to lock resolution, which decides by its primary alone.
 * - Data with neither a lock nor a record is erased if its transaction can never commit: the cell
 *   has the transaction's rollback record, or the data is below the horizon. The erasure is
 *   conditional: the transaction's lock, or a record newer than those that the audit saw, protects
 *   the data.
 * - A lost notification is written again at a new timestamp, as when a parked cell is replayed. If
 *   it was not lost after all, a worker reads the cell in vain.
 * - A notification that no observer needs is erased, with all older ones. Later notifications have
 *   higher timestamps and stay. A notification that is ahead of the oracle is left, because later
 *   notifications may have lower timestamps.
 * - A missing companion table is created, empty. The same audit then reports the strong
 *   notifications that it held as lost. Weak notifications leave no evidence, parked or not.
 * - A table that remains of a dropped incarnation is dropped, too: its name is never used again.
 *
 * Other findings need no repair (a worker, a collector or another process deals with them), or are
 * left to an operator who knows what the data means: of two values that should not both exist, no
 * program can tell which is right.
 */
import { PercolatorError, unreachable } from '../base/index.ts';
import {
  placeOf,
  type Context,
  DATA,
  LOCK,
  NOTIFY,
  NOTIFY_FAMILIES,
  notifyTable,
  resolveLock,
  TABLE_FAMILIES,
  WRITE,
} from '../transaction/index.ts';
import type { Finding, FindingCode, Fix } from './finding.ts';

/** The finding, with what was done about it. */
export async function repair(context: Context, finding: Finding): Promise<Finding> {
  const { fix } = finding;
  if (fix === undefined) return { ...finding, repair: { done: false, note: whyNot(finding) } };
  try {
    return { ...finding, repair: await apply(context, fix) };
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    const doubt = error.code === 'STORE_IN_DOUBT' ? 'it may have been done: ' : '';
    return { ...finding, repair: { done: false, note: `${doubt}${error.message}` } };
  }
}

type Repaired = NonNullable<Finding['repair']>;

async function apply(context: Context, fix: Fix): Promise<Repaired> {
  switch (fix.kind) {
    case 'resolve lock':
      return resolve(context, fix);
    case 'erase data':
      return eraseData(context, fix);
    case 'notify':
      return notify(context, fix);
    case 'erase notifications':
      return eraseMarks(context, fix);
    case 'create companion':
      return createCompanion(context, fix);
    case 'drop leftover':
      return dropLeftover(context, fix);
    default:
      return unreachable(fix);
  }
}

async function resolve(
  context: Context,
  { cell, lock }: Extract<Fix, { kind: 'resolve lock' }>,
): Promise<Repaired> {
  const resolution = await resolveLock(context, cell, lock);
  if (resolution !== 'alive') return { done: true, note: resolution };
  return { done: false, note: 'its owner may be alive, or the storage lost an answer' };
}

async function eraseData(
  { store }: Context,
  { cell, startTimestamp, newestRecord }: Extract<Fix, { kind: 'erase data' }>,
): Promise<Repaired> {
  const { table, row, column } = cell;
  const own = { from: startTimestamp, to: startTimestamp };
  const found = await store.checkAndMutateRow({
    table,
    row,
    anyOf: [
      { ...placeOf(LOCK, column), ...own },
      { ...placeOf(WRITE, column), from: newestRecord + 1 },
    ],
    ifNotFound: [{ kind: 'erase', ...placeOf(DATA, column), ...own }],
  });
  if (!found) return { done: true, note: 'erased' };
  return { done: false, note: 'the cell has been locked or written since the audit' };
}

async function notify(
  { store, oracle }: Context,
  { cell }: Extract<Fix, { kind: 'notify' }>,
): Promise<Repaired> {
  const { table, row, column: qualifier } = cell;
  const timestamp = await oracle.next();
  const notification = { family: NOTIFY, qualifier, timestamp, value: new Uint8Array() };
  const mutations = [{ kind: 'set', ...notification } as const];
  await store.mutateRows([{ table: notifyTable(table), row, mutations }]);
  return { done: true, note: `notified at ${timestamp}` };
}

async function eraseMarks(
  { store }: Context,
  { cell, upTo }: Extract<Fix, { kind: 'erase notifications' }>,
): Promise<Repaired> {
  const { table, row, column: qualifier } = cell;
  const notifications = { family: NOTIFY, qualifier, from: 0, to: upTo };
  const mutations = [{ kind: 'erase', ...notifications } as const];
  await store.mutateRows([{ table: notifyTable(table), row, mutations }]);
  return { done: true, note: 'erased' };
}

async function createCompanion(
  { store }: Context,
  { table }: Extract<Fix, { kind: 'create companion' }>,
): Promise<Repaired> {
  const splits = store.manifest.splits ? await store.sampleRowKeys(table) : [];
  await store.createTable(notifyTable(table), { families: NOTIFY_FAMILIES, splits });
  return { done: true, note: 'created anew, empty' };
}

async function dropLeftover(
  { store, catalog }: Context,
  { table, stored }: Extract<Fix, { kind: 'drop leftover' }>,
): Promise<Repaired> {
  if ((await catalog?.isGone(stored)) !== true) {
    return { done: false, note: 'it may still be in use' };
  }
  // Another program may have made a table of that name since the audit. If its families differ,
  // this read rejects with FAMILY_NOT_FOUND, and the table stays.
  const families = table === stored ? TABLE_FAMILIES : NOTIFY_FAMILIES;
  const filters = families.map((family) => ({ family, versions: 1 }));
  await store.readRange(table, { limit: 1 }, filters);
  await store.dropTable(table);
  return { done: true, note: 'dropped' };
}

function whyNot({ code, severity }: Finding): string {
  const why = WHY_NOT[code];
  if (why !== undefined) return why;
  return severity === 'error' ? 'an operator has to look at it' : 'nothing needs to be done';
}

const WHY_NOT: Partial<Record<FindingCode, string>> = {
  'rollback-below-horizon': 'a collector removes it',
  'lease-left-by-dead': 'a collector ends it',
  'lock-long-held': 'its owner may be alive',
  'observer-parked': 'replay it once the observer is fixed',
  'table-unfinished': 'a process may be working on it',
  'notification-clean': 'a worker of the column clears it once the oracle has passed its timestamp',
  'notification-lost':
    'only an operator knows whether the observers of the column have been retired',
  'row-damaged': 'its bytes are lost',
  'table-undefined': 'an operator has to look at it',
};
