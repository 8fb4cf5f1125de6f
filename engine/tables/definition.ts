/**
 * The definition of a table, kept in the storage: one row for each name that was ever used.
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
 * All the same, a definition may be lost, and processes that still know it take only a larger
 * version for newer. So a version is also above `createdAt`, and databases hand out more timestamps
 * than they make steps. A process that makes a definition from nothing counts on from the version
 * that it knows.
 *
 * Databases from before there were incarnations have definitions of version 1 with observed columns
 * and nothing else: their table exists, as the first incarnation, created before every snapshot.
 */
import { assert, hasCode, PercolatorError } from '../base/index.ts';
import { COUNT, oneOf, TEXT, TEXTS, WHOLE } from '../base/options.ts';
import {
  type Bigtable,
  type Cell,
  type Row,
  rowBatches,
  type Timestamp,
} from '../bigtable/index.ts';

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
interface Step {
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
  { from, to, known }: Step,
): Promise<StoredDefinition | undefined> {
  assert(
    to.incarnation > (from?.incarnation ?? 0) || from?.incarnation === to.incarnation,
    'incarnations only move forward',
  );
  const before = from?.version ?? 0;
  const version = Math.max(from?.version ?? known, to.createdAt) + 1;
  const value = Buffer.from(JSON.stringify(to));
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
  const isMade = row?.cells[0]?.timestamp === version && value.equals(row.cells[0].value);
  return isMade ? { ...to, version } : undefined;
}

/** The same incarnation in another state. */
export function as(state: TableState, from: StoredDefinition): Definition {
  const { incarnation, observedColumns, splits, createdAt } = from;
  return { state, incarnation, observedColumns, splits, createdAt };
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
  return (
    STATE.accepts(state) &&
    COUNT.accepts(incarnation) &&
    TEXTS.accepts(observedColumns) &&
    TEXTS.accepts(splits) &&
    WHOLE.accepts(createdAt) &&
    TEXT.accepts(creator)
  );
}

function decode({ timestamp: version, value }: Cell): StoredDefinition {
  const stored = JSON.parse(Buffer.from(value).toString()) as Partial<Definition> &
    Pick<Definition, 'observedColumns'>;
  return { state: 'there', incarnation: 1, createdAt: 0, ...stored, version };
}
