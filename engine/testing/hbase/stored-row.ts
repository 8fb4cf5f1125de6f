/**
 * The content of a row of the simulated HBase, which never compacts: cells and deletes. A delete
 * hides the cell at its timestamp, or all cells at or below it, also cells that are put later. So
 * that rows do not grow with every renewal of a lease, the row keeps neither hidden cells nor
 * deletes that a later delete of all versions covers. A row is immutable: a mutation makes another.
 */
import {
  type Comparator,
  COMPARE,
  type Condition,
  DELETE,
  messageOf,
  MUTATION,
  type MutationProto,
  numberOf,
  type QualifierValue,
  type Selection,
} from '../../bigtable/hbase/messages.ts';
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
  const mutations = columnValue.flatMap(({ family, qualifierValue }) =>
    qualifierValue.map((entry) => ({
      family: text(family),
      qualifier: text(entry.qualifier),
      timestamp: numberOf(entry.timestamp),
      entry,
    })),
  );
  return mutateType === MUTATION.put
    ? mutations.reduce(withCell, row)
    : mutations.reduce(withDelete, row);
}

interface CellMutation extends Omit<RowCell, 'value'> {
  /** What the request says of the cell. */
  readonly entry: QualifierValue;
}

function withCell({ cells, deletes }: StoredRow, { entry, ...cell }: CellMutation): StoredRow {
  if (deletes.some((each) => hides(each, cell))) return { cells, deletes };
  const others = cells.filter((other) => !isSameCell(other, cell));
  return { cells: [...others, { ...cell, value: entry.value ?? new Uint8Array() }], deletes };
}

function withDelete({ cells, deletes }: StoredRow, { entry, ...cell }: CellMutation): StoredRow {
  const added = { ...cell, isOneVersion: entry.deleteType === DELETE.oneVersion };
  const remains = (other: Omit<RowCell, 'value'>): boolean => !hides(added, other);
  const others = added.isOneVersion ? deletes : deletes.filter(remains);
  return { cells: cells.filter(remains), deletes: [...others, added] };
}

/**
 * The cells that a `Get` or `Scan` returns, at most `maxVersions` of each column, sorted by family
 * and column, and then the newest first.
 */
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

/** The pattern of the client's only filter, on qualifiers; without a filter it matches all. */
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
