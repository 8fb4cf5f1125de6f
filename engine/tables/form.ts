/**
 * The form of a Percolator table in the storage: its families and those of its companion. Tables of
 * another form belong to another program, and are left alone.
 */
import { hasCode, PercolatorError } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import {
  isTableNotFound,
  NOTIFY_FAMILIES,
  notifyTable,
  TABLE_FAMILIES,
} from '../transaction/index.ts';
import { companionOf } from './names.ts';

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
