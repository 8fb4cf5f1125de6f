/**
 * A filter, prepared for comparisons with the keys of a table: built once for a read, used for
 * every key of every row.
 *
 * The keys stay bytes: decoding one takes longer than listing it, and most belong to other columns
 * or versions.
 */
import type { CellFilter } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import { columnPart, isOfColumn, splitColumn, timestampOf } from './keys.ts';

export interface TableFilter extends CellFilter {
  readonly familyId: number;
  /**
   * The part of its column's keys after the row; undefined if it passes all columns of the family.
   */
  readonly part: Buffer | undefined;
  /** The column's name in a cached row. */
  readonly column: string | undefined;
}

/** @throws FAMILY_NOT_FOUND */
export function filterForTable(table: TableEntry, filter: CellFilter): TableFilter {
  const { family, qualifier, suffix, from, to, versions } = filter;
  const id = familyId(table, family);
  const part = qualifier === undefined ? undefined : columnPart(id, qualifier);
  const column = qualifier === undefined ? undefined : columnName(id, qualifier);
  return { family, qualifier, suffix, from, to, versions, familyId: id, part, column };
}

/** A family and a qualifier as one text. */
export function columnName(family: number, qualifier: string): string {
  return `${family} ${qualifier}`;
}

/** Whether the cell of a key passes, ignoring the number of versions. */
export function passes(
  key: Buffer,
  prefixLength: number,
  { familyId: id, part, suffix = '', from, to }: TableFilter,
): boolean {
  const isWanted =
    part === undefined ? key[prefixLength] === id : isOfColumn(key, prefixLength, part);
  if (!isWanted) return false;
  if (suffix !== '' && !splitColumn(key, prefixLength).qualifier.endsWith(suffix)) return false;
  if (from === undefined && to === undefined) return true;
  const timestamp = timestampOf(key);
  return (from === undefined || timestamp >= from) && (to === undefined || timestamp <= to);
}
