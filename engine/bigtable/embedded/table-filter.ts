/**
 * A filter, ready to be compared with the keys of a table: made once for a read, used for every key of every row.
 *
 * The keys stay bytes: to decode one takes longer than to list it, and most are of other columns or versions.
 */
import type { CellFilter } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import { columnPart, isOfColumn, timestampOf } from './keys.ts';

export interface TableFilter extends CellFilter {
  readonly familyId: number;
  /** What the keys of its column have behind the row; undefined if it passes all columns of the family. */
  readonly part: Buffer | undefined;
  /** The column once more, by the name that a cached row has for it. */
  readonly column: string | undefined;
}

/** @throws FAMILY_NOT_FOUND */
export function filterForTable(table: TableEntry, filter: CellFilter): TableFilter {
  const { family, qualifier, from, to, versions } = filter;
  const id = familyId(table, family);
  const part = qualifier === undefined ? undefined : columnPart(id, qualifier);
  const column = qualifier === undefined ? undefined : columnName(id, qualifier);
  return { family, qualifier, from, to, versions, familyId: id, part, column };
}

/** Of a family and a qualifier, one text. */
export function columnName(family: number, qualifier: string): string {
  return `${family} ${qualifier}`;
}

/** Whether the cell of a key passes, but for the number of versions. */
export function passes(
  key: Buffer,
  prefixLength: number,
  { familyId: id, part, from, to }: TableFilter,
): boolean {
  const isWanted =
    part === undefined ? key[prefixLength] === id : isOfColumn(key, prefixLength, part);
  if (!isWanted) return false;
  if (from === undefined && to === undefined) return true;
  const timestamp = timestampOf(key);
  return (from === undefined || timestamp >= from) && (to === undefined || timestamp <= to);
}
