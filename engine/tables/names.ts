/**
 * Names of tables: the user's, and the storage's names of the incarnations.
 *
 *     t        the first incarnation of t, and   t.notify        its companion (P55)
 *     t.i2     the second                        t.i2.notify
 *
 * No name is used for two incarnations, or for two tables: a user's name that could clash is
 * refused. An older database may have a table of its own that is called t.i2 (old-names.test.ts).
 */
import { PercolatorError } from '../base/index.ts';
import { ORACLE_TABLE } from '../oracle/index.ts';
import { notifyTable } from '../transaction/index.ts';

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
  const suffix = notifyTable('');
  return stored.endsWith(suffix) ? stored.slice(0, -suffix.length) : undefined;
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
