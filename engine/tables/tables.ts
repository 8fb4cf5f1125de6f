/**
 * The tables of a database, as one process creates, drops and finds them.
 *
 * Definitions are kept in the storage (definition.ts), so that all processes agree on which columns
 * are observed: a loader that did not know them would write without notifications, and no observer
 * would run.
 */
import { PercolatorError } from '../base/index.ts';
import { checkOptions, type OptionRules, TEXTS } from '../base/options.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { validateSchema } from '../bigtable/validate.ts';
import {
  checkSharedColumn,
  checkWrittenColumn,
  type Context,
  type Incarnation,
  isTableNotFound,
  NOTIFY_FAMILIES,
  notifyTable,
  TABLE_FAMILIES,
} from '../transaction/index.ts';
import { type Administration, CreatorWatch, stepOf } from './administration.ts';
import type { StoredCatalog } from './catalog.ts';
import {
  as,
  checkForm,
  type Definition,
  existingAmong,
  laterIncarnation,
  readDefinition,
  type StoredDefinition,
  whyLost,
  checkFits,
  checkName,
  checkNewName,
  storedName,
} from './definition.ts';
import { dropLeftovers, dropTable, finishDrop, storedTables, tablesWithLocks } from './drop.ts';

export class TableAdministration {
  readonly #administration: Administration;

  /** @param store the storage itself, without batching */
  constructor(context: Context, store: Bigtable, catalog: StoredCatalog) {
    let creators = 0;
    const nextCreator = (): string => `${context.liveness.self}#${context.nonce}.${++creators}`;
    const waiting = new CreatorWatch(context);
    this.#administration = { context, store, catalog, waiting, nextCreator };
  }

  create(table: string, definition: TableDefinition): Promise<void> {
    return createTable(this.#administration, table, definition);
  }

  drop(table: string): Promise<void> {
    return dropTable(this.#administration, table);
  }

  /**
   * The storage's names of the tables whose definitions say that they are in use or being dropped,
   * without companions; with `locks`, also of tables that have lost their definition, because they
   * may contain locks.
   */
  list(needs?: 'locks'): Promise<readonly string[]> {
    const { store } = this.#administration;
    return needs === 'locks' ? tablesWithLocks(store) : storedTables(store);
  }
}

/**
 * The newest incarnation that this process knows, which may be out of date; if it knows none, the
 * one that it reads now.
 * @throws TABLE_NOT_FOUND if there is none, it is being created or dropped, or its definition is
 *   damaged
 */
export async function findIncarnation(catalog: StoredCatalog, table: string): Promise<Incarnation> {
  const incarnation = catalog.known(table) ?? (await catalog.look([table]))[0];
  if (incarnation !== undefined) return incarnation;
  throw new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
}

/*
 * Creating a table.
 *
 *     definition ─┬─ there ──────────────▶ is it the same? ─▶ done, or TABLE_MISMATCH
 *                 ├─ dropping, settled ──▶ finish the drop (drop.ts), look again
 *                 ├─ creating ───────────▶ by another: wait, look again; if too long, drop it
 *                 ├─ nothing, but tables ▶ take them over: there
 *                 └─ nothing, gone ──────▶ 1. take the next number: creating
 *                                          2. make its table and its companion
 *                                          3. a timestamp: createdAt
 *                                          4. there, unless another process made a step
 *
 * The storage cannot make a table "unless it was dropped", and a request may arrive after an hour.
 * So only one attempt ever creates the stored tables of an incarnation, before they are in use. No
 * other process sends such a request, so they cannot come back, empty, after they were dropped, and
 * be read as if they were in use (P52, old table for new). That is why a process that finds a
 * half-made table does not help. It waits; if nothing changes, it drops what there is and takes the
 * next number. How long it waits affects only speed, not safety.
 *
 * Tables that exist without a definition may contain data. So they are taken over in one step: an
 * attempt that failed half way would be given up, and its tables dropped. And nothing is made for
 * them: a late request could bring a table back after it was taken over and dropped. So if one of
 * the two is missing, the call is refused. It is also refused if a later incarnation exists
 * (definition.ts).
 *
 * createdAt is handed out when the tables of the previous incarnation are gone from the storage. So
 * a snapshot that is not older can read nothing of the previous incarnation, and older snapshots
 * are refused this one (P53, snapshot before table).
 *
 * What if the process dies? After any of 1 to 3, the next process that creates or drops the table
 * continues; fsck finds the leftovers.
 */

export interface TableDefinition {
  /** Columns whose changes leave a notification for observers. Default none. */
  readonly observedColumns?: readonly string[] | undefined;
  /**
   * Columns whose cells several transactions may lock at once: `lock(cell, { shared: true })`.
   * Default none. Each commit that writes one of them looks for two more cells; a process of a
   * version before there were shared locks does not, so update all processes first.
   */
  readonly sharedColumns?: readonly string[] | undefined;
  /**
   * Rows at which tablets begin, for a storage with tablets, and for scanners to spread over.
   * Default none.
   */
  readonly splits?: readonly string[] | undefined;
}

const RULES: OptionRules<TableDefinition> = {
  observedColumns: TEXTS,
  sharedColumns: TEXTS,
  splits: TEXTS,
};

/** The wanted form of a table: columns and splits in order, each once. */
interface Wanted {
  readonly observedColumns: readonly string[];
  /** Absent: none; definitions without are as they were before there were shared locks. */
  readonly sharedColumns?: readonly string[] | undefined;
  readonly splits: readonly string[];
}

/**
 * Creates the table; harmless if it exists as defined.
 * @throws TABLE_MISMATCH if it exists in another form, or its definition is damaged or, for a later
 *   incarnation, lost; INVALID_ARGUMENT for an impossible name or a wrong option
 * @throws TABLE_NOT_FOUND if its definition is there, and the storage lacks the table or its
 *   companion
 * @throws LOCKED if an unfinished drop has to be finished first, and a live transaction keeps its
 *   lock for too long: call it again
 */
async function createTable(
  administration: Administration,
  table: string,
  definition: TableDefinition,
): Promise<void> {
  checkName(table);
  checkOptions('createTable', definition, RULES);
  const { observedColumns, sharedColumns = [], splits } = definition;
  observedColumns?.forEach(checkWrittenColumn);
  sharedColumns.forEach(checkSharedColumn);
  const wanted = {
    observedColumns: inOrder(observedColumns),
    ...(sharedColumns.length > 0 && { sharedColumns: inOrder(sharedColumns) }),
    splits: inOrder(splits),
  };
  // Before a number is taken, because a number is never used again.
  validateSchema(table, { families: [], splits: wanted.splits });
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
        if (await tryToCreate(administration, table, stored, wanted)) return;
        break;
      case undefined:
        if (await tryToCreateFirst(administration, table, wanted)) return;
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
    await checkForm(store, stored);
    await checkForm(store, notifyTable(stored));
    return true;
  } catch (error) {
    const now = isTableNotFound(error) ? await readDefinition(store, table) : definition;
    if (now?.version === definition.version) throw error;
    return false;
  }
}

/**
 * The first incarnation may find its tables made already: by an older version that was interrupted,
 * by hand, or before the definition was lost. Resolves as `tryToCreate` does.
 * @throws TABLE_MISMATCH if only one of the two exists, or a later incarnation
 */
async function tryToCreateFirst(
  administration: Administration,
  table: string,
  wanted: Wanted,
): Promise<boolean> {
  const { store } = administration;
  checkNewName(table);
  const listed = await store.listTables();
  const existing = await existingAmong(store, table, listed);
  const later = await laterIncarnation(store, table, listed);
  if (later === undefined) {
    if (existing.length === 0) return tryToCreate(administration, table, undefined, wanted);
    if (existing.length === 2) return takeOver(administration, table, wanted);
  }
  // Unless another process has begun to create the table since.
  if ((await readDefinition(store, table)) !== undefined) return false;
  throw new PercolatorError('TABLE_MISMATCH', whyNotFirst(table, existing, later));
}

function whyNotFirst(table: string, existing: readonly string[], later?: string): string {
  if (later !== undefined) return whyLost(table, later);
  return existing.includes(table)
    ? `table ${table} exists without its companion: let fsck repair that and create the table again, or drop table ${table}`
    : `${notifyTable(table)} exists without table ${table}: drop table ${table}, and create it again`;
}

/** Makes existing tables the first incarnation, as they are: their splits remain unknown. */
async function takeOver(
  administration: Administration,
  table: string,
  { observedColumns, sharedColumns }: Wanted,
): Promise<boolean> {
  const createdAt = await administration.context.oracle.next();
  const columns = { observedColumns, ...(sharedColumns && { sharedColumns }) };
  const definition = { state: 'there', incarnation: 1, ...columns, createdAt } as const;
  return (await stepOf(administration, table, undefined, definition)) !== undefined;
}

/** Resolves to whether the table was created; if not, the caller looks at its definition again. */
async function tryToCreate(
  administration: Administration,
  table: string,
  before: StoredDefinition | undefined,
  wanted: Wanted,
): Promise<boolean> {
  const { store, context, waiting } = administration;
  const incarnation = await nextIncarnation(store, table, before);
  const stored = storedName(table, incarnation);
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
    // This process was presumed dead, and may have made a table after its leftovers were dropped.
    if (await context.catalog?.isGone(stored)) await dropLeftovers(store, stored);
    return false;
  } finally {
    waiting.creating.delete(creator);
  }
}

/**
 * The first number whose names are free: another table may have, or have had, a name that looks
 * like an incarnation's, from before such names were refused. A late drop of that table must not
 * find ours.
 */
async function nextIncarnation(
  store: Bigtable,
  table: string,
  before: StoredDefinition | undefined,
): Promise<number> {
  if (before === undefined) return 1;
  const existing = new Set(await store.listTables());
  for (let incarnation = before.incarnation + 1; ; incarnation++) {
    checkFits(table, incarnation);
    const stored = storedName(table, incarnation);
    if (existing.has(stored) || existing.has(notifyTable(stored))) continue;
    if ((await readDefinition(store, stored)) === undefined) return incarnation;
  }
}

/**
 * Makes both tables. Resolves with the timestamp from which on they may be used: it was handed out
 * after they were made, and so after the previous incarnation was gone.
 *
 * The families have no age and no number of versions at which the storage deletes on its own. Such
 * a policy would count data of transactions that never committed, compare our timestamps with the
 * time of day, and know of no snapshot (P32, storage collects itself). A lock that vanished would
 * be taken for a transaction that was rolled back (P34, lock expires silently).
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
 * Records that this attempt has failed, so that the next one does not have to wait for it. If the
 * storage refuses that too, the next attempt waits.
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
  const { sharedColumns = [] } = definition;
  for (const what of ['observedColumns', 'sharedColumns', 'splits'] as const) {
    const stored = what === 'sharedColumns' ? sharedColumns : definition[what];
    const present = stored && inOrder(stored);
    const asked = wanted[what] ?? [];
    if (present === undefined || areEqual(present, asked)) continue;
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${table} exists with ${what} ${JSON.stringify(present)}, not ${JSON.stringify(asked)}`,
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
