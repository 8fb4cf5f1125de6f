/**
 * The definition of a table, kept in the storage: one row for each name that was ever used. And the
 * names that the storage calls the table by (`storedName`).
 *
 *     percolator-tables: <table>   table:definition @ version = {state, incarnation, ...}
 *
 *     nothing ─▶ creating 1 ─▶ there 1 ─▶ dropping 1 ─▶ settled 1 ─▶ gone 1 ─▶ creating 2 ─▶ ...
 *                    └── given up, dropped, or taking too long ▶┘
 *
 * From nothing, a definition goes straight to `there` if its tables exist already, and straight to
 * `dropping` if such tables are dropped.
 *
 * The version is the cell's timestamp and grows with each step. Each step is one conditional
 * mutation, "unless there is a newer version". So of two processes that see the same definition,
 * one makes the next step, and a step that a process decided on an hour ago is refused, however
 * late it arrives. The row is never deleted: it remembers which incarnations there were, so none is
 * mistaken for another.
 *
 * Still, a definition may be lost, and processes that still know it take only a larger
 * version for newer. So a version is also above `createdAt`, and databases hand out more timestamps
 * than they make steps. A process that makes a definition from nothing counts on from the version
 * that it knows.
 *
 * Databases from before there were incarnations have definitions of version 1 with observed columns
 * and nothing else: their table exists, as the first incarnation, created before every snapshot.
 */
import { assert, bytesOf, hasCode, PercolatorError, textOf } from '../base/index.ts';
import { COUNT, oneOf, TEXT, TEXTS, WHOLE } from '../base/options.ts';
import {
  type Bigtable,
  type Cell,
  type Row,
  rowBatches,
  type Timestamp,
} from '../bigtable/index.ts';
import { ORACLE_TABLE } from '../oracle/index.ts';
import {
  isTableNotFound,
  NOTIFY_FAMILIES,
  isNotifyTable,
  notifyTable,
  TABLE_FAMILIES,
} from '../transaction/index.ts';

/**
 * creating: only its creator makes the stored tables, the table itself and its companion. there: in
 * use. dropping: only transactions that have read the definition before may still commit to it, and
 * the drop waits for them. settled: none of those is left, or its creation was given up; its stored
 * tables are being dropped. gone: they no longer exist.
 */
export type TableState = (typeof STATES)[number];

const STATES = ['creating', 'there', 'dropping', 'settled', 'gone'] as const;
const STATE = oneOf(...STATES);

export interface Definition {
  readonly state: TableState;
  readonly incarnation: number;
  readonly observedColumns: readonly string[];
  /** Absent: none, as in definitions from before there were shared locks. */
  readonly sharedColumns?: readonly string[] | undefined;
  /**
   * Absent: unknown, because the definition was made before splits were remembered, or after the
   * tables.
   */
  readonly splits?: readonly string[] | undefined;
  /**
   * Handed out after the previous incarnation was gone. 0 until the state is `there`, and for
   * tables from before there were incarnations. For tables without a definition: handed out when
   * they are taken over, or their drop begins.
   */
  readonly createdAt: Timestamp;
  /**
   * While creating: the attempt that creates it. No attempt of another open database has the same
   * name.
   */
  readonly creator?: string | undefined;
}

/** A definition with its version, which a step is conditional on. */
export interface StoredDefinition extends Definition {
  readonly version: number;
}

export const TABLES_TABLE = 'percolator-tables';
export const DEFINITION = { family: 'table', qualifier: 'definition' } as const;
const NEWEST = [{ ...DEFINITION, versions: 1 }];

export async function createTablesTable(store: Bigtable): Promise<void> {
  await store.createTable(TABLES_TABLE, { families: [DEFINITION.family] });
}

/** Each table's definition; undefined where there never was one, or it cannot be decoded. */
export async function readDefinitions(
  store: Bigtable,
  tables: readonly string[],
): Promise<readonly (StoredDefinition | undefined)[]> {
  const rows = await store.readRows(TABLES_TABLE, tables, NEWEST);
  return rows.map((row) => row && decodeIfLegible(row));
}

/**
 * The table's definition; undefined if there never was one.
 * @throws TABLE_MISMATCH if it cannot be decoded
 */
export async function readDefinition(
  store: Bigtable,
  table: string,
): Promise<StoredDefinition | undefined> {
  const row = await store.readRow(TABLES_TABLE, table, NEWEST);
  const definition = row && decodeIfLegible(row);
  if (row === undefined || definition !== undefined) return definition;
  const message = `the definition of the table '${table}' is damaged: it has bytes that this engine does not write`;
  throw new PercolatorError('TABLE_MISMATCH', message);
}

/** All definitions by name; undefined for one that cannot be decoded. */
export async function allDefinitions(
  store: Bigtable,
): Promise<ReadonlyMap<string, StoredDefinition | undefined>> {
  const definitions = new Map<string, StoredDefinition | undefined>();
  for await (const { rows } of rowBatches(store, TABLES_TABLE, {}, NEWEST)) {
    for (const row of rows) definitions.set(row.key, decodeIfLegible(row));
  }
  return definitions;
}

/** A step that a process has decided on. */
interface DefinitionStep {
  readonly from: StoredDefinition | undefined;
  readonly to: Definition;
  /** The version of the newest definition that this process knows, perhaps of a lost one. */
  readonly known: number;
}

/**
 * Makes the step from `from` to `to`. Resolves to what is now stored; undefined if that is not this
 * step: another process made a different one first, or the request was lost. If it throws, the step
 * may have been made or not; reading again and continuing from there is harmless.
 */
export async function step(
  store: Bigtable,
  table: string,
  { from, to, known }: DefinitionStep,
): Promise<StoredDefinition | undefined> {
  assert(
    to.incarnation > (from?.incarnation ?? 0) || from?.incarnation === to.incarnation,
    'incarnations only move forward',
  );
  const before = from?.version ?? 0;
  const version = Math.max(from?.version ?? known, to.createdAt) + 1;
  const made = JSON.stringify(to);
  const value = bytesOf(made);
  try {
    const isLate = await store.checkAndMutateRow({
      table: TABLES_TABLE,
      row: table,
      anyOf: [{ ...DEFINITION, from: before + 1 }],
      ifNotFound: [
        { kind: 'set', ...DEFINITION, timestamp: version, value },
        { kind: 'erase', ...DEFINITION, from: 0, to: before },
      ],
    });
    if (!isLate) return { ...to, version };
  } catch (error) {
    if (!hasCode(error, 'STORE_IN_DOUBT')) throw error;
  }
  // It may have been this very step: a copy of it, or another process that makes the same one.
  const row = await store.readRow(TABLES_TABLE, table, NEWEST);
  const isMade = row?.cells[0]?.timestamp === version && textOf(row.cells[0].value) === made;
  return isMade ? { ...to, version } : undefined;
}

/** The same incarnation in another state. */
export function as(state: TableState, from: StoredDefinition): Definition {
  const { incarnation, observedColumns, sharedColumns, splits, createdAt } = from;
  return { state, incarnation, observedColumns, sharedColumns, splits, createdAt };
}

function decodeIfLegible({ cells: [cell] }: Row): StoredDefinition | undefined {
  try {
    const definition = cell && decode(cell);
    return definition !== undefined && isLegible(definition) ? definition : undefined;
  } catch {
    return undefined;
  }
}

function isLegible(definition: StoredDefinition): boolean {
  const { state, incarnation, observedColumns, splits = [], createdAt, creator = '' } = definition;
  const { sharedColumns = [] } = definition;
  return (
    STATE.accepts(state) &&
    COUNT.accepts(incarnation) &&
    TEXTS.accepts(observedColumns) &&
    TEXTS.accepts(sharedColumns) &&
    TEXTS.accepts(splits) &&
    WHOLE.accepts(createdAt) &&
    TEXT.accepts(creator)
  );
}

function decode({ timestamp: version, value }: Cell): StoredDefinition {
  const stored = JSON.parse(textOf(value)) as Partial<Definition> &
    Pick<Definition, 'observedColumns'>;
  return { state: 'there', incarnation: 1, createdAt: 0, ...stored, version };
}

/*
 * The form of a Percolator table in the storage: its families and those of its companion. Tables of
 * another form belong to another program, and are left alone.
 */

/**
 * Which of the two tables of the first incarnation exist: the table, its companion. Checks the form
 * of each that exists; if one is dropped during the check, looks again.
 * @throws TABLE_MISMATCH if one has another form
 * @throws TABLE_NOT_FOUND if the storage lists one and does not find it
 */
async function existingTables(store: Bigtable, table: string): Promise<readonly string[]> {
  return existingAmong(store, table, await store.listTables());
}

/** The same, among tables that the storage has listed. */
export async function existingAmong(
  store: Bigtable,
  table: string,
  listed: readonly string[],
): Promise<readonly string[]> {
  const existing = [table, notifyTable(table)].filter((stored) => listed.includes(stored));
  for (const stored of existing) {
    try {
      await checkForm(store, stored);
    } catch (error) {
      const isDropped = isTableNotFound(error) && !(await store.listTables()).includes(stored);
      if (!isDropped) throw error;
      return existingTables(store, table);
    }
  }
  return existing;
}

/** Whether the table is there, in the form of a Percolator table. */
export async function hasForm(store: Bigtable, stored: string): Promise<boolean> {
  try {
    await checkForm(store, stored);
    return true;
  } catch (error) {
    // The storage may say by mistake that the table is missing. A caller that believed it would
    // pass over the table's locks.
    if (isTableNotFound(error)) {
      if ((await store.listTables()).includes(stored)) throw error;
      return false;
    }
    if (hasCode(error, 'TABLE_MISMATCH')) return false;
    throw error;
  }
}

/**
 * Checks one table of the storage, which may be a companion.
 * @throws TABLE_MISMATCH if it lacks one of its families
 * @throws TABLE_NOT_FOUND
 */
export async function checkForm(store: Bigtable, stored: string): Promise<void> {
  const families = companionOf(stored) === undefined ? TABLE_FAMILIES : NOTIFY_FAMILIES;
  try {
    const filters = families.map((family) => ({ family, versions: 1 }));
    await store.readRange(stored, { limit: 1 }, filters);
  } catch (error) {
    if (!hasCode(error, 'FAMILY_NOT_FOUND')) throw error;
    const message = `table ${stored} exists, but lacks the families of a Percolator table: ${error.message}`;
    throw new PercolatorError('TABLE_MISMATCH', message, { cause: error });
  }
}

/*
 * Later incarnations of a table that has no definition: the definition must have been lost.
 *
 * Processes that know a later incarnation may still use it, and no empty table may hide what is in
 * it. Only the definition told which incarnations there were. So while a later one exists, the
 * table is neither created nor dropped: after a drop, the next creation would hide it.
 */

/** The storage's name of a later incarnation, among tables that the storage has listed. */
export async function laterIncarnation(
  store: Bigtable,
  table: string,
  listed: readonly string[],
): Promise<string | undefined> {
  for (const stored of listed) {
    if (stored === table || incarnationOf(stored).table !== table) continue;
    if (!(await isTableOfItsOwn(store, stored)) && (await hasForm(store, stored))) return stored;
  }
  return undefined;
}

/**
 * Whether it is a table that is called like an incarnation, from before such names were refused.
 * Once it was dropped, earlier versions of the engine gave its name to an incarnation.
 */
async function isTableOfItsOwn(store: Bigtable, stored: string): Promise<boolean> {
  const own = await readDefinition(store, stored);
  return own !== undefined && own.state !== 'gone';
}

/** Why the table can be neither created nor dropped. */
export function whyLost(table: string, later: string): string {
  return (
    `table ${table} was created before, and its definition is lost, but ${later} exists: ` +
    `restore row ${table} of ${TABLES_TABLE}, or delete ${later} and its companion in the storage`
  );
}

/*
 * Names of tables: the user's, and the storage's names of the incarnations.
 *
 *     t        the first incarnation of t, and   t.notify        its companion (P55)
 *     t.i2     the second                        t.i2.notify
 *
 * No name is used for two incarnations, or for two tables: a user's name that could clash is
 * refused. An older database may have a table of its own that is called t.i2 (old-names.test.ts).
 */

/** Bigtable's table ids, and those that begin with - or ., which an old embedded store may have. */
const STORED = /^[-_.a-zA-Z0-9]{1,50}$/;
/** Longer names are refused, so that the companion of the 9,999th incarnation has a name. */
const CHARACTERS_MAX = 37;
const FORM = `it must have 1 to ${CHARACTERS_MAX} characters (letters, digits, - _ .) and not begin with - or .`;
const LATER = /^(.+)\.i([1-9]\d*)$/;

/** Whether the storage could have a table of that name. */
export function canBeStored(table: string): boolean {
  return typeof table === 'string' && STORED.test(table);
}

export function storedName(table: string, incarnation: number): string {
  return incarnation === 1 ? table : `${table}.i${incarnation}`;
}

/** The table and the number of the incarnation that the storage calls by this name. */
export function incarnationOf(stored: string): {
  readonly table: string;
  readonly incarnation: number;
} {
  const [, table, number] = LATER.exec(stored) ?? [];
  if (table === undefined) return { table: stored, incarnation: 1 };
  return { table, incarnation: Number(number) };
}

/** Whether the storage's name is that of a table of the engine itself, such as the oracle's. */
export function isReserved(stored: string): boolean {
  return stored.startsWith('percolator-') || stored === ORACLE_TABLE;
}

/** The table whose companion `stored` is; undefined if it is no companion. */
export function companionOf(stored: string): string | undefined {
  return isNotifyTable(stored) ? stored.slice(0, -notifyTable('').length) : undefined;
}

/** @throws INVALID_ARGUMENT for a name that the storage could not have */
export function checkCanBeStored(table: string): void {
  if (!canBeStored(table)) refuse(table, FORM);
}

/** @throws INVALID_ARGUMENT for a name that the storage could not have, or that is reserved */
export function checkName(table: string): void {
  checkCanBeStored(table);
  const why = whyReserved(table);
  if (why !== undefined) refuse(table, why);
}

/** Like `checkName`, for a table that is to be made: checks length and first character, too. */
export function checkNewName(table: string): void {
  checkName(table);
  // Bigtable and HBase refuse a name that begins so; the embedded store may have old ones.
  if (table.length > CHARACTERS_MAX || /^[-.]/.test(table)) refuse(table, FORM);
}

/** @throws INVALID_ARGUMENT if the storage could not name the incarnation's companion */
export function checkFits(table: string, incarnation: number): void {
  const longest = notifyTable(storedName(table, incarnation));
  if (canBeStored(longest)) return;
  throw new PercolatorError(
    'INVALID_ARGUMENT',
    `table ${table} cannot be created again: ${longest} would have more than 50 characters`,
  );
}

function refuse(table: string, why: string): never {
  const message = `${JSON.stringify(table)} cannot be the name of a table: ${why}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

function whyReserved(table: string): string | undefined {
  if (isReserved(table)) {
    return 'names that begin with percolator-, and timestamp-oracle, are reserved for tables of the engine';
  }
  if (companionOf(table) !== undefined) {
    return 'names that end in .notify are reserved for tables of notifications';
  }
  if (LATER.test(table)) {
    return 'names that end in .i and a number are reserved for tables that were created again';
  }
  return undefined;
}
