/**
 * Some columns of one row, or all of them, in one read of the storage.
 *
 * It reads as `getMany` or `scan` do, so it sees what they see: the snapshot, with the
 * transaction's own writes. Named columns are read once in a transaction, as by `get`. All columns
 * are read anew each time, because a transaction remembers columns and not whole rows.
 */
import { checkOptions, type OptionRules, TEXT, TEXTS } from '../base/options.ts';
import { keyAfter } from '../bigtable/index.ts';
import { validateRowKey } from '../bigtable/validate.ts';
import type { Reader, RowColumns } from './reader.ts';

const RULES: OptionRules<RowColumns> = { table: TEXT, row: TEXT, columns: TEXTS };

/**
 * The values by column; a column without a value is absent.
 * @throws INVALID_ARGUMENT
 */
export async function getRow(
  reader: Reader,
  wanted: RowColumns,
): Promise<ReadonlyMap<string, Uint8Array>> {
  checkOptions('getRow', wanted, RULES, ['table', 'row']);
  const { table, row, columns } = wanted;
  validateRowKey(row);
  if (columns === undefined) {
    const alone = { table, start: row, end: keyAfter(row), limit: 1 };
    for await (const { values } of reader.scan(alone)) return values;
    return new Map();
  }
  const names = [...columns]; // The caller may use its list again.
  const values = await reader.getMany(names.map((column) => ({ table, row, column })));
  const found = names.map((column, i) => [column, values[i]] as const);
  return new Map(found.filter((one): one is [string, Uint8Array] => one[1] !== undefined));
}
