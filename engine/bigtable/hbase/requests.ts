/**
 * The contract's requests in HBase's form: filters, with the cells of the answer for each, and then
 * mutations and conditions.
 *
 * A `Get` has one time range for each family and one number of versions for all. So it asks for at
 * least what the filters pass, in one atomic read, and the filters choose from the answer. If the
 * newest versions hide some that a filter wants, because its range ends earlier than another's, the
 * row is read again with more versions; only the last, complete read counts.
 */
import { type Cell, type CellFilter, type Mutation, type Row, TIMESTAMP_MAX } from '../bigtable.ts';
import { cellsOfFilters, columnName } from '../reading.ts';
import { invalid } from '../validate.ts';
import {
  type Action,
  COMPARE,
  type Condition,
  DELETE,
  ENDPOINT,
  FILTERS,
  messageOf,
  MUTATION,
  type MutationProto,
  type NamedFilter,
  numberOf,
  type QualifierValue,
  type Result,
  type Selection,
  type StoredCell,
} from './messages.ts';

/** "All versions", as HBase writes it. */
const ALL_VERSIONS = 2 ** 31 - 1;
/** The first byte of every value: HBase's conditions take an empty value for none. */
const MARK = 1;

export interface Selecting {
  readonly filters: readonly CellFilter[];
  readonly selection: Selection;
}

/** Undefined if no cell can pass. */
export function selectionFor(filters: readonly CellFilter[]): Selecting | undefined {
  const possible = filters.filter(({ from = 0, to = TIMESTAMP_MAX }) => from <= to);
  if (possible.length === 0) return undefined;
  const families = Map.groupBy(possible, ({ family }) => family);
  const maxVersions = Math.max(...[...families.values()].map(versionsOf));
  const filter = suffixFilter(possible);
  const selection = {
    column: [...families].map(([family, some]) => columnOf(family, some)),
    ...(filter === undefined ? {} : { filter }),
    maxVersions,
    cfTimeRange: [...families].map(([family, some]) => rangeOf(family, some)),
  };
  return { filters: possible, selection };
}

/** The same with more versions, for a row whose answer may lack some. */
export function widened({ filters, selection }: Selecting): Selecting {
  const maxVersions = Math.min(ALL_VERSIONS, selection.maxVersions * 8);
  return { filters, selection: { ...selection, maxVersions } };
}

/** The row, or undefined if no cell passes; `isComplete` is false if versions may be missing. */
export function rowOf(
  { cell: stored }: Result,
  { filters, selection }: Selecting,
): { readonly row: Row | undefined; readonly isComplete: boolean } {
  const [first] = stored;
  if (first === undefined) return { row: undefined, isComplete: true };
  const cells = stored.map(cellOf);
  const chosen = cellsOfFilters(cells, filters);
  const key = text(first.row);
  return {
    row: chosen.length === 0 ? undefined : { key, cells: chosen },
    isComplete: isComplete(cells, filters, selection.maxVersions),
  };
}

/**
 * If all ranges have the same end, the newest versions overall are the newest in each range.
 * Otherwise two more are asked for, so that few newer versions do not cost a second read.
 */
function versionsOf(filters: readonly CellFilter[]): number {
  const versions = filters.map((filter) => filter.versions ?? ALL_VERSIONS);
  const wanted = Math.min(ALL_VERSIONS, Math.max(...versions));
  const ends = new Set(filters.map(({ to = TIMESTAMP_MAX }) => to));
  return ends.size === 1 ? wanted : Math.min(ALL_VERSIONS, wanted + 2);
}

function columnOf(family: string, filters: readonly CellFilter[]): Selection['column'][number] {
  const isNamed = filters.every(({ qualifier }) => qualifier !== undefined);
  const names = isNamed ? [...new Set(filters.map(({ qualifier = '' }) => qualifier))] : [];
  return { family: Buffer.from(family), qualifier: names.map((name) => Buffer.from(name)) };
}

function rangeOf(family: string, filters: readonly CellFilter[]): Selection['cfTimeRange'][number] {
  const from = Math.min(...filters.map((filter) => filter.from ?? 0));
  const to = Math.max(...filters.map((filter) => filter.to ?? TIMESTAMP_MAX));
  return { columnFamily: Buffer.from(family), timeRange: { from, to: to + 1 } };
}

/** Keeps the server from sending every column of a family, if only suffixes are asked for. */
function suffixFilter(filters: readonly CellFilter[]): NamedFilter | undefined {
  const suffixes = new Set(filters.map(({ suffix }) => suffix));
  if ([...suffixes].some((suffix) => suffix === undefined || !/^[-_:a-z]+$/.test(suffix))) {
    return undefined;
  }
  const pattern = `(?:${[...suffixes].join('|')})\\z`;
  const regex = { pattern, patternFlags: 0, charset: 'UTF-8' };
  const comparator = {
    name: FILTERS.regex,
    serializedComparator: messageOf('RegexStringComparator').encode(regex),
  };
  const compareFilter = { compareOp: COMPARE.equal, comparator };
  const serializedFilter = messageOf('QualifierFilter').encode({ compareFilter });
  return { name: FILTERS.qualifier, serializedFilter };
}

function cellOf({ family, qualifier, timestamp, value }: StoredCell): Cell {
  return {
    family: text(family),
    qualifier: text(qualifier),
    timestamp: numberOf(timestamp),
    value: value.subarray(1),
  };
}

/**
 * Whether no filter can want a version older than those of the answer. In each column, the answer
 * has fewer versions than were asked for, or each filter has found as many as it wants, or all
 * older versions are below the filter's range.
 */
function isComplete(
  cells: readonly Cell[],
  filters: readonly CellFilter[],
  maxVersions: number,
): boolean {
  if (cells.length < maxVersions) return true;
  const columns = Map.groupBy(cells, columnName);
  const wanted = Map.groupBy(filters, columnName);
  const ofMany = wanted.get('') ?? [];
  return [...columns].every(([column, versions]) => {
    const [newest] = versions;
    const oldest = versions.at(-1);
    if (versions.length < maxVersions || newest === undefined || oldest === undefined) return true;
    return [...(wanted.get(column) ?? []), ...ofMany].every((filter) => {
      if (!isFor(filter, newest) || oldest.timestamp <= (filter.from ?? 0)) return true;
      const found = cellsOfFilters(versions, [filter]).length;
      return found >= (filter.versions ?? Infinity);
    });
  });
}

function isFor({ family, qualifier, suffix }: CellFilter, cell: Cell): boolean {
  return (
    family === cell.family &&
    (qualifier === undefined || qualifier === cell.qualifier) &&
    (suffix === undefined || cell.qualifier.endsWith(suffix))
  );
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/*
 * Mutations and conditions:
 *
 *     set                 Put, at its timestamp; the value after one byte (MARK)
 *     erase [t, t]        Delete of one version
 *     erase [0, t]        Delete of all versions up to t
 *     a cell exists       a Condition on its column and time range: "not equal to NOT_A_VALUE"
 *     no cell exists      a Condition on them, too: "equal to nothing"
 *
 * HBase has no erase of any other range. And a Delete also hides what is put later at a timestamp
 * that it erases, until a major compaction (`manifest.tombstones`).
 */

const NO_VALUE = new Uint8Array();
/** No stored value equals it, because each begins with MARK. */
const NOT_A_VALUE = Buffer.from([MARK - 1]);

/** The Put or the Delete of one row; both if some mutations set and others erase. */
export function protosOf(row: Buffer, mutations: readonly Mutation[]): readonly MutationProto[] {
  const sets = lastSets(mutations);
  const erases = mutations.flatMap((mutation) => (mutation.kind === 'erase' ? [mutation] : []));
  const protos: MutationProto[] = [];
  if (sets.length > 0) {
    const values = sets.map(({ family, qualifier, timestamp, value }) => ({
      family,
      value: { qualifier: Buffer.from(qualifier), timestamp, value: marked(value) },
    }));
    protos.push({ row, mutateType: MUTATION.put, columnValue: byFamily(values) });
  }
  if (erases.length > 0) {
    const values = erases.map(({ family, qualifier, from, to }) => ({
      family,
      value: {
        qualifier: Buffer.from(qualifier),
        timestamp: to,
        deleteType: from === to ? DELETE.oneVersion : DELETE.multipleVersions,
      },
    }));
    protos.push({ row, mutateType: MUTATION.delete, columnValue: byFamily(values) });
  }
  return protos;
}

/** @throws INVALID_ARGUMENT for a filter of a check that HBase cannot evaluate */
export function checkCondition({ family, qualifier }: CellFilter): void {
  if (qualifier !== undefined) return;
  throw invalid(`HBase checks columns by name, not a whole family such as ${family}`);
}

/** One call of the endpoint: if all conditions hold, all mutations, else nothing. */
export function endpointCall(
  row: Buffer,
  conditions: readonly Condition[],
  mutations: readonly Mutation[],
): Action {
  const request = { mutationRequest: protosOf(row, mutations), condition: conditions };
  const { serviceName, methodName } = ENDPOINT;
  return {
    serviceCall: {
      row,
      serviceName,
      methodName,
      request: messageOf('MutateRowsRequest').encode(request),
    },
  };
}

export function exists(row: Buffer, filter: CellFilter): Condition {
  return conditionOf(row, filter, { compareType: COMPARE.notEqual, value: NOT_A_VALUE });
}

export function isAbsent(row: Buffer, filter: CellFilter): Condition {
  return conditionOf(row, filter, { compareType: COMPARE.equal, value: NO_VALUE });
}

function conditionOf(
  row: Buffer,
  { family, qualifier = '', from = 0, to = TIMESTAMP_MAX }: CellFilter,
  { compareType, value }: { readonly compareType: number; readonly value: Uint8Array },
): Condition {
  const serializedComparator = messageOf('BinaryComparator').encode({ comparable: { value } });
  return {
    row,
    family: Buffer.from(family),
    qualifier: Buffer.from(qualifier),
    compareType,
    comparator: { name: FILTERS.binary, serializedComparator },
    timeRange: { from, to: to + 1 },
  };
}

/** Only the last set of each cell: HBase would apply them in no particular order. */
function lastSets(mutations: readonly Mutation[]): readonly Extract<Mutation, { kind: 'set' }>[] {
  const sets = mutations.flatMap((mutation) => (mutation.kind === 'set' ? [mutation] : []));
  if (sets.length < 2) return sets;
  const byCell = new Map(
    sets.map((set) => [`${set.family}:${set.timestamp}:${set.qualifier}`, set]),
  );
  return [...byCell.values()];
}

function byFamily(
  values: readonly { readonly family: string; readonly value: QualifierValue }[],
): MutationProto['columnValue'] {
  return [...Map.groupBy(values, ({ family }) => family)].map(([family, some]) => ({
    family: Buffer.from(family),
    qualifierValue: some.map(({ value }) => value),
  }));
}

function marked(value: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(value.length + 1);
  bytes[0] = MARK;
  bytes.set(value, 1);
  return bytes;
}
