/**
 * A row as HBase keeps it: cells, and the deletes that hide cells at or below their timestamps,
 * also those put later. A hidden cell stays hidden, so it is not kept, nor is a delete that a later
 * one includes: rows would grow with every renewal of a lease. Rows do not change; a mutation makes
 * another row.
 */
import {
  messageOf,
  type Comparator,
  type Condition,
  type MutationProto,
  numberOf,
  type QualifierValue,
  type Selection,
} from '../../bigtable/hbase/messages.ts';
import { COMPARE, DELETE, MUTATION } from '../../bigtable/hbase/names.ts';
import { compareUtf8 } from '../memory-table.ts';

export interface StoredRow {
  readonly cells: readonly RowCell[];
  readonly deletes: readonly RowDelete[];
}

export interface RowCell {
  readonly family: string;
  readonly qualifier: string;
  readonly timestamp: number;
  readonly value: Uint8Array;
}

interface RowDelete extends Omit<RowCell, 'value'> {
  readonly isOneVersion: boolean;
}

export const EMPTY_ROW: StoredRow = { cells: [], deletes: [] };

export function mutated(row: StoredRow, { mutateType, columnValue }: MutationProto): StoredRow {
  const columns = columnValue.flatMap(({ family, qualifierValue }) =>
    qualifierValue.map((one) => ({
      family: text(family),
      qualifier: text(one.qualifier),
      timestamp: numberOf(one.timestamp),
      one,
    })),
  );
  return mutateType === MUTATION.put
    ? columns.reduce(withCell, row)
    : columns.reduce(withDelete, row);
}

type Column = Omit<RowCell, 'value'> & { readonly one: QualifierValue };

function withCell({ cells, deletes }: StoredRow, { one, ...column }: Column): StoredRow {
  if (deletes.some((each) => hides(each, column))) return { cells, deletes };
  const others = cells.filter((cell) => !isSameCell(cell, column));
  return { cells: [...others, { ...column, value: one.value ?? new Uint8Array() }], deletes };
}

function withDelete({ cells, deletes }: StoredRow, { one, ...column }: Column): StoredRow {
  const added = { ...column, isOneVersion: one.deleteType === DELETE.oneVersion };
  const isLeft = (other: Omit<RowCell, 'value'>): boolean => !hides(added, other);
  const others = added.isOneVersion ? deletes : deletes.filter(isLeft);
  return { cells: cells.filter(isLeft), deletes: [...others, added] };
}

/** The cells that a `Get` or `Scan` passes: by family and column, newest first. */
export function selected(row: StoredRow, selection: Selection): readonly RowCell[] {
  const ranges = new Map(
    selection.cfTimeRange.map(({ columnFamily, timeRange }) => [text(columnFamily), timeRange]),
  );
  const columns = new Map(
    selection.column.map(({ family, qualifier }) => [text(family), qualifier.map(text)]),
  );
  const pattern = patternOf(selection);
  const passing = row.cells.filter(({ family, qualifier, timestamp }) => {
    const qualifiers = columns.get(family);
    const { from = 0, to = Infinity } = ranges.get(family) ?? {};
    return (
      qualifiers !== undefined &&
      (qualifiers.length === 0 || qualifiers.includes(qualifier)) &&
      pattern.test(qualifier) &&
      timestamp >= numberOf(from) &&
      timestamp < numberOf(to)
    );
  });
  const sorted = passing.toSorted(byColumnThenNewest);
  return sorted.filter((cell, i) => {
    const before = sorted[i - selection.maxVersions];
    return before?.family !== cell.family || before.qualifier !== cell.qualifier;
  });
}

/** Whether a condition of the endpoint holds. An empty value counts as no value. */
export function holds(row: StoredRow, condition: Condition): boolean {
  const [family, qualifier] = [text(condition.family), text(condition.qualifier)];
  const [from, to] = [numberOf(condition.timeRange.from), numberOf(condition.timeRange.to)];
  const [newest] = row.cells
    .filter((cell) => cell.family === family && cell.qualifier === qualifier)
    .filter(({ timestamp }) => timestamp >= from && timestamp < to)
    .toSorted(byColumnThenNewest);
  const wanted = wantedBy(condition.comparator);
  const isEqual = condition.compareType === COMPARE.equal;
  if (wanted.length === 0) return isEqual === (newest === undefined || newest.value.length === 0);
  return newest !== undefined && isEqual === Buffer.from(newest.value).equals(wanted);
}

function wantedBy({ serializedComparator }: Comparator): Uint8Array {
  const { comparable } = messageOf<{ readonly comparable: { readonly value?: Uint8Array } }>(
    'BinaryComparator',
  ).decode(serializedComparator);
  return comparable.value ?? new Uint8Array();
}

function hides(one: RowDelete, cell: Omit<RowCell, 'value'>): boolean {
  if (one.isOneVersion) return isSameCell(one, cell);
  return (
    one.family === cell.family &&
    one.qualifier === cell.qualifier &&
    one.timestamp >= cell.timestamp
  );
}

function isSameCell(a: Omit<RowCell, 'value'>, b: Omit<RowCell, 'value'>): boolean {
  return a.family === b.family && a.qualifier === b.qualifier && a.timestamp === b.timestamp;
}

/** The pattern for qualifiers in the only filter that the client sends. */
function patternOf({ filter }: Selection): RegExp {
  if (!filter) return /^/;
  const { compareFilter } = messageOf<{
    readonly compareFilter: { readonly comparator: Comparator };
  }>('QualifierFilter').decode(filter.serializedFilter);
  const { pattern } = messageOf<{ readonly pattern: string }>('RegexStringComparator').decode(
    compareFilter.comparator.serializedComparator,
  );
  return new RegExp(pattern.replace('\\z', '$'));
}

function byColumnThenNewest(a: RowCell, b: RowCell): number {
  return (
    compareUtf8(a.family, b.family) ||
    compareUtf8(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp
  );
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
