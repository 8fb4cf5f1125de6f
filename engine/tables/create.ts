/**
 * Creating a table.
 *
 *     definition ─┬─ there ──────────────▶ is it the same? ─▶ done, or TABLE_MISMATCH
 *                 ├─ dropping, settled ──▶ finish the drop (drop.ts), look again
 *                 ├─ creating ───────────▶ by another: wait, look again; if too long, drop it
 *                 └─ nothing, gone ──────▶ 1. take the next number: creating
 *                                          2. make its table and its companion
 *                                          3. a timestamp: createdAt
 *                                          4. there, unless another process made a step
 *
 * The storage cannot make a table "unless it was dropped", and a request may arrive after an hour.
 * So only one attempt ever creates the stored tables of an incarnation, before they are in use. No
 * other process sends such a request, so they cannot come back, empty, after they were dropped, and
 * be read as if they were in use (P52). That is why a process that finds a half-made table does not
 * help. It waits; if nothing changes, it drops what there is and takes the next number. How long it
 * waits affects only speed, not safety.
 *
 * createdAt is handed out when the tables of the previous incarnation are gone from the storage. So
 * a snapshot that is not older can read nothing of the previous incarnation, and older snapshots
 * are refused this one (P53).
 *
 * What if the process dies? After any of 1 to 3, the next process that creates or drops the table
 * continues; fsck finds the leftovers.
 */
import { PercolatorError } from '../base/index.ts';
import { checkOptions, type Kinds, TEXTS } from '../base/options.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { validateSchema } from '../bigtable/validate.ts';
import {
  checkUserColumn,
  isTableNotFound,
  NOTIFY_FAMILIES,
  notifyTable,
  TABLE_FAMILIES,
} from '../transaction/index.ts';
import { type Administration, stepOf } from './administration.ts';
import { as, type Definition, readDefinition, type StoredDefinition } from './definition.ts';
import { dropLeftovers, finishDrop } from './drop.ts';
import { checkFits, checkName, checkNewName, storedName } from './names.ts';

export interface TableDefinition {
  /** Columns whose changes leave a notification for observers. Default none. */
  readonly observedColumns?: readonly string[] | undefined;
  /**
   * Rows at which tablets begin, for a storage with tablets, and for scanners to spread over.
   * Default none.
   */
  readonly splits?: readonly string[] | undefined;
}

const KINDS: Kinds<TableDefinition> = { observedColumns: TEXTS, splits: TEXTS };

/** The wanted form of a table: columns and splits in order, each once. */
interface Wanted {
  readonly observedColumns: readonly string[];
  readonly splits: readonly string[];
}

/**
 * Creates the table; harmless if it exists as defined.
 * @throws TABLE_MISMATCH if it exists in another form, INVALID_ARGUMENT for an impossible name or a
 *   wrong option
 */
export async function createTable(
  administration: Administration,
  table: string,
  definition: TableDefinition,
): Promise<void> {
  checkName(table);
  checkOptions('createTable', definition, KINDS);
  const { observedColumns, splits } = definition;
  observedColumns?.forEach(checkUserColumn);
  const wanted = { observedColumns: inOrder(observedColumns), splits: inOrder(splits) };
  for (;;) {
    const stored = await readDefinition(administration.store, table);
    switch (stored?.state) {
      case 'there':
        if (await isLike(administration, table, stored, wanted)) return;
        break;
      case 'dropping':
      case 'settled':
        await finishDrop(administration, table, stored);
        break;
      case 'creating':
        if (!(await administration.waiting.isInVain(table, stored))) break;
        await stepOf(administration, table, stored, as('settled', stored));
        break;
      case 'gone':
      case undefined:
        if (await tryToCreate(administration, table, stored, wanted)) return;
        break;
    }
  }
}

/**
 * Whether the table exists as wanted; false if another process dropped it during the check.
 * @throws TABLE_MISMATCH, TABLE_NOT_FOUND if the storage lacks it although it was never dropped
 */
async function isLike(
  { store, catalog }: Administration,
  table: string,
  definition: StoredDefinition,
  wanted: Wanted,
): Promise<boolean> {
  catalog.note(table, definition);
  checkSame(table, definition, wanted);
  const stored = storedName(table, definition.incarnation);
  try {
    await checkForm(store, stored, TABLE_FAMILIES);
    await checkForm(store, notifyTable(stored), NOTIFY_FAMILIES);
    return true;
  } catch (error) {
    const now = isTableNotFound(error) ? await readDefinition(store, table) : definition;
    if (now?.version === definition.version) throw error;
    return false;
  }
}

/** Resolves to whether the table was created; if not, another process made a step first. */
async function tryToCreate(
  administration: Administration,
  table: string,
  before: StoredDefinition | undefined,
  wanted: Wanted,
): Promise<boolean> {
  const { store, context, waiting } = administration;
  const incarnation = await nextIncarnation(store, table, before);
  const stored = storedName(table, incarnation);
  // Checked first: once taken, a number is never used again.
  validateSchema(stored, { families: [], splits: wanted.splits });
  const creator = administration.nextCreator();
  const definition = { ...wanted, incarnation, createdAt: 0 };
  waiting.creating.add(creator);
  try {
    const taken = { ...definition, state: 'creating', creator } as const;
    const begun = await stepOf(administration, table, before, taken);
    if (begun === undefined) return false;
    const createdAt = await makeTables(administration, stored, wanted.splits).catch(
      (error: unknown) => giveUp(administration, table, begun, error),
    );
    const made = { ...definition, state: 'there', createdAt } as const;
    if ((await stepOf(administration, table, begun, made)) !== undefined) return true;
    // This process was taken for dead, and may have made a table after its leftovers were dropped.
    if (await context.catalog?.isGone(stored)) await dropLeftovers(store, stored);
    return false;
  } finally {
    waiting.creating.delete(creator);
  }
}

/**
 * The first number whose names are free: another table may have a name that looks like an
 * incarnation's, from before such names were refused. The first incarnation may find its tables
 * made already: by an older version that was interrupted, or by hand.
 */
async function nextIncarnation(
  store: Bigtable,
  table: string,
  before: StoredDefinition | undefined,
): Promise<number> {
  const existing = new Set(await store.listTables());
  if (before === undefined) {
    checkNewName(table);
    const companion = notifyTable(table);
    if (existing.has(table)) await checkForm(store, table, TABLE_FAMILIES);
    if (existing.has(companion)) await checkForm(store, companion, NOTIFY_FAMILIES);
    return 1;
  }
  for (let incarnation = before.incarnation + 1; ; incarnation++) {
    checkFits(table, incarnation);
    const stored = storedName(table, incarnation);
    if (!existing.has(stored) && !existing.has(notifyTable(stored))) return incarnation;
  }
}

/** @throws TABLE_MISMATCH if the table lacks one of the families */
async function checkForm(
  store: Bigtable,
  stored: string,
  families: readonly string[],
): Promise<void> {
  try {
    const filters = families.map((family) => ({ family, versions: 1 }));
    await store.readRange(stored, { limit: 1 }, filters);
  } catch (error) {
    if (!(error instanceof PercolatorError && error.code === 'FAMILY_NOT_FOUND')) throw error;
    const message = `table ${stored} exists, but lacks the families of a Percolator table: ${error.message}`;
    throw new PercolatorError('TABLE_MISMATCH', message, { cause: error });
  }
}

/**
 * Makes both tables. Resolves with the timestamp from which on they may be used: it was handed out
 * after they were made, and so after the previous incarnation was gone.
 *
 * The families have no age and no number of versions at which the storage deletes on its own. Such
 * a policy would count data of transactions that never committed, compare our timestamps with the
 * time of day, and know of no snapshot (P32). A lock that vanished would be taken for a transaction
 * that was rolled back (P34).
 */
async function makeTables(
  { store, context }: Administration,
  stored: string,
  splits: readonly string[],
): Promise<Timestamp> {
  await store.createTable(stored, { families: TABLE_FAMILIES, splits });
  await store.createTable(notifyTable(stored), { families: NOTIFY_FAMILIES, splits });
  return context.oracle.next();
}

/**
 * Records that this attempt has failed, so that the next one need not wait for it. If the storage
 * refuses that too, the next attempt waits.
 */
async function giveUp(
  administration: Administration,
  table: string,
  begun: StoredDefinition,
  error: unknown,
): Promise<never> {
  try {
    await stepOf(administration, table, begun, as('settled', begun));
  } catch (second) {
    if (!(second instanceof PercolatorError)) throw second;
  }
  throw error;
}

function checkSame(table: string, definition: Definition, wanted: Wanted): void {
  for (const what of ['observedColumns', 'splits'] as const) {
    const present = definition[what] && inOrder(definition[what]);
    if (present === undefined || areEqual(present, wanted[what])) continue;
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${table} exists with ${what} ${JSON.stringify(present)}, not ${JSON.stringify(wanted[what])}`,
    );
  }
}

function inOrder(names: readonly string[] = []): readonly string[] {
  return [...new Set(names)].toSorted();
}

/** One by one: any separator that joined the names could be part of one of them. */
function areEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
