/**
 * Later incarnations of a table that has no definition: the definition must have been lost.
 *
 * Processes that know a later incarnation may still use it, and no empty table may hide what is in
 * it. Only the definition told which incarnations there were. So while a later one exists, the
 * table is neither created nor dropped: after a drop, the next creation would hide it.
 */
import type { Bigtable } from '../bigtable/index.ts';
import { readDefinition, TABLES_TABLE } from './definition.ts';
import { hasForm } from './form.ts';
import { incarnationOf } from './names.ts';

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
