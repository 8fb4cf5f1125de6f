/**
 * Builds one Bigtable filter tree from the contract's filters.
 *
 *     one filter         Chain(column, time range, newest versions)
 *     several            Interleave of those: a cell comes once for each that it passes
 *
 * Interleave and Chain are atomic with the row and with a check; Condition is not, and is never
 * used.
 *
 * Each branch costs the server a pass over the row. So in a read, filters whose qualifiers differ
 * only after the last colon become one range of columns: the lock, the write record and the data of
 * a cell, at half the price of three branches. Beyond a few branches, filters that differ only in
 * their column become one branch with an alternation, and so do those that differ only in their
 * family. A single column is named by a range, which is cheaper than a pattern. The reader of the
 * answer assigns the cells to the filters again (reading.ts). A check has no such reader,
 * so the tree of a check passes no cell that no filter passes.
 *
 * The emulator compiles a pattern anew for every cell that reaches it, which costs the columns of
 * the pattern times the cells of the row. So in the chain of a branch the cheap comes first:
 *
 *     first to last column ─▶ time ─▶ common end of the columns ─▶ each column by its name
 *
 * Few cells of a row have the time that a check asks for, or are locks, so few reach the names. In
 * a read many do; there the emulator is asked for all columns from the first to the last, and what
 * lies between them is cut out of the answer. Cloud Bigtable is asked for names as long as it takes
 * them, because what lies between would cross the network.
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import { type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';
import { toMicros } from './row-assembly.ts';

export type RowFilter = protos.google.bigtable.v2.IRowFilter;

/** Bigtable refuses a filter of more than 20,480 bytes. */
const FILTER_BYTES_MAX = 20_000;
/**
 * What the qualifiers of a check may have together: in a pattern, a byte may take four, and each
 * name, of at least five bytes, one more.
 */
export const CHECK_BYTES_MAX = 4_000;
/** An upper bound of what a branch takes without its names. */
const BRANCH_BYTES = 160;
/** The longest qualifier that a range names: the range sends it twice. */
const RANGE_QUALIFIER_BYTES_MAX = 4096;
/** The longest one in front of a pattern, so that a check with CHECK_BYTES_MAX has room for it. */
const BOUND_BYTES_MAX = 256;
/** The longest common end of columns in front of their pattern. */
const END_LENGTH_MAX = 12;

/**
 * The filter to send; undefined if no cell can pass any of `filters`.
 * @param inRanges several columns become one range from the first to the last
 */
export function treeForReading(
  filters: readonly CellFilter[],
  inRanges = false,
): RowFilter | undefined {
  const possible = filters.filter(canPass);
  let branches = branchesForReading(possible, inRanges);
  // Too many or too long names: ask for more columns, and cut the answer out of them.
  if (bytesOf(branches) > FILTER_BYTES_MAX) branches = branchesForReading(possible, true);
  if (bytesOf(branches) > FILTER_BYTES_MAX) branches = merged(possible.map(wholeFamily), true);
  return withOwnList(interleave(branches));
}

/**
 * The emulator answers a read without an Interleave from a list of columns that mutations of the
 * row change meanwhile, so that a lock or a record may be missing (P20). An Interleave makes a list
 * of its own, but must have two branches, so the second branch passes nothing.
 */
function withOwnList(filter: RowFilter | undefined): RowFilter | undefined {
  if (filter === undefined || filter.interleave) return filter;
  return { interleave: { filters: [filter, { blockAllFilter: true }] } };
}

/** A filter that passes some cell exactly if one of `filters` does. */
export function treeForChecking(filters: readonly CellFilter[]): RowFilter {
  const branches = branchesForChecking(filters.filter(canPass));
  if (bytesOf(branches) > FILTER_BYTES_MAX) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `a check of one row names columns with about ${bytesOf(branches)} bytes; Bigtable takes at most ${FILTER_BYTES_MAX}`,
    );
  }
  return interleave(branches) ?? { blockAllFilter: true };
}

/**
 * A filter that passes a cell exactly if all of these cells are there: it drops one less than their
 * number, so it must meet each only once, in one branch.
 * @param cells at least two of one family and one timestamp, with CHECK_BYTES_MAX
 */
export function treeForAll(cells: readonly CellFilter[]): RowFilter {
  const ofOne = chainOf(branchOf(cells.map(withoutVersions)));
  return { chain: { filters: [ofOne, { cellsPerRowOffsetFilter: cells.length - 1 }] } };
}

/** A range from a later to an earlier timestamp is empty, and Bigtable would refuse it. */
function canPass({ from = 0, to = TIMESTAMP_MAX }: CellFilter): boolean {
  return from <= to;
}

/** The existence of a cell does not depend on how many versions are wanted. */
function withoutVersions({ family, qualifier, suffix, from, to }: CellFilter): CellFilter {
  return { family, qualifier, suffix, from, to };
}

function wholeFamily({ family, from, to, versions }: CellFilter): CellFilter {
  return { family, from, to, versions };
}

/** Columns of one family, or every column of some families, with the same range and versions. */
interface Branch {
  readonly families: readonly string[];
  /** Empty: every column, or those that end with the suffix. */
  readonly qualifiers: readonly string[];
  /** Named by a range: one column, or some columns and all between them. */
  readonly isRange: boolean;
  readonly like: Omit<CellFilter, 'family' | 'qualifier'>;
}

/** With at most this many, merging is not worth its cost; a prewrite of one cell has three. */
const UNMERGED_MAX = 3;

function branchesForChecking(filters: readonly CellFilter[]): readonly Branch[] {
  const exact = filters.map(withoutVersions);
  return exact.length <= UNMERGED_MAX ? exact.map((one) => branchOf([one])) : merged(exact, false);
}

function branchesForReading(filters: readonly CellFilter[], inRanges: boolean): readonly Branch[] {
  const ranges = neighbours(filters);
  return ranges.length <= UNMERGED_MAX ? ranges : merged(filters, inRanges);
}

/** One branch for each run of filters that can share a range of columns. */
function neighbours(filters: readonly CellFilter[]): readonly Branch[] {
  const runs: [CellFilter, ...CellFilter[]][] = [];
  for (const filter of filters) {
    const run = runs.at(-1);
    if (run !== undefined && isNeighbour(run[0], filter)) run.push(filter);
    else runs.push([filter]);
  }
  return runs.map((run) => branchOf(run, true));
}

function isNeighbour(one: CellFilter, other: CellFilter): boolean {
  const stem = stemOf(one);
  return (
    stem !== '' &&
    stem === stemOf(other) &&
    one.family === other.family &&
    one.from === other.from &&
    one.to === other.to
  );
}

/** The qualifier up to its last colon, if it has one. */
function stemOf({ qualifier = '' }: CellFilter): string {
  return qualifier.slice(0, qualifier.lastIndexOf(':') + 1);
}

function merged(filters: readonly CellFilter[], inRanges: boolean): readonly Branch[] {
  const groups = Map.groupBy(filters, ({ family, qualifier, suffix, from, to }) => {
    const columns = qualifier === undefined ? ['', suffix] : [family];
    return JSON.stringify([columns, from ?? 0, to ?? TIMESTAMP_MAX]);
  });
  return [...groups.values()].map((group) => branchOf(group, inRanges));
}

/** @param filters of one range of time */
function branchOf(filters: readonly CellFilter[], isRange = false): Branch {
  const [{ suffix, from, to } = {}] = filters as Partial<CellFilter>[];
  const families = new Set<string>();
  const qualifiers = new Set<string>();
  let versions = 0;
  for (const filter of filters) {
    families.add(filter.family);
    if (filter.qualifier !== undefined) qualifiers.add(filter.qualifier);
    versions = Math.max(versions, filter.versions ?? Infinity);
  }
  return {
    families: [...families],
    qualifiers: [...qualifiers],
    isRange: qualifiers.size === 1 || (isRange && qualifiers.size > 1),
    like: { suffix, from, to, versions },
  };
}

/** An upper bound of the bytes that the branches take on the wire. */
function bytesOf(branches: readonly Branch[]): number {
  let bytes = 0;
  for (const branch of branches) {
    bytes += BRANCH_BYTES + bytesOfNames(branch);
    for (const family of branch.families) bytes += 2 * family.length + 1;
  }
  return bytes;
}

/** A range sends two of its columns, and a pattern all, or their suffix. */
function bytesOfNames(branch: Branch): number {
  const bytes = boundsOf(branch).reduce((sum, bound) => sum + bound.length, 0);
  if (branch.isRange && bytes > 0) return bytes;
  return patternsOf(branch).reduce((sum, pattern) => sum + pattern.length + 1, bytes);
}

function interleave(branches: readonly Branch[]): RowFilter | undefined {
  const chains = branches.map(chainOf);
  return chains.length > 1 ? { interleave: { filters: chains } } : chains[0];
}

function chainOf(branch: Branch): RowFilter {
  const { from = 0, to = TIMESTAMP_MAX, versions } = branch.like;
  const filters = [boundsFilter(branch)];
  if (from > 0 || to < TIMESTAMP_MAX) {
    const start = from > 0 ? { startTimestampMicros: toMicros(from) } : {};
    // The end is exclusive; if absent, the range is open.
    const end = to < TIMESTAMP_MAX ? { endTimestampMicros: toMicros(to + 1) } : {};
    filters.push({ timestampRangeFilter: { ...start, ...end } });
  }
  filters.push(...nameFilters(branch));
  if (versions !== undefined && versions <= VERSIONS_MAX) {
    filters.push({ cellsPerColumnLimitFilter: versions });
  }
  return filters.length > 1 ? { chain: { filters } } : (filters[0] as RowFilter);
}

/** The largest int32; no column has more versions. */
const VERSIONS_MAX = 2 ** 31 - 1;

/** All columns from the first to the last one, or all of the families. */
function boundsFilter(branch: Branch): RowFilter {
  const [first, last] = boundsOf(branch);
  const [familyName = ''] = branch.families;
  if (first === undefined || last === undefined) {
    return { familyNameRegexFilter: branch.families.map(escapeFamily).join('|') };
  }
  const range = { startQualifierClosed: first, endQualifierClosed: last };
  return { columnRangeFilter: { familyName, ...range } };
}

/** Of the cells within the bounds, those whose columns are wanted. */
function nameFilters(branch: Branch): readonly RowFilter[] {
  if (branch.isRange && boundsOf(branch).length > 0) return [];
  const patterns = patternsOf(branch);
  if (patterns.length === 0) return [];
  const names = { columnQualifierRegexFilter: Buffer.from(patterns.join('|')) };
  const end = endOf(branch);
  if (end === '') return [names];
  return [{ columnQualifierRegexFilter: Buffer.from(endingWith(end)) }, names];
}

function patternsOf({ qualifiers, like: { suffix } }: Branch): readonly string[] {
  const patterns = qualifiers.map(patternOf);
  if (suffix !== undefined) patterns.push(endingWith(suffix));
  return patterns;
}

function endingWith(suffix: string): string {
  return String.raw`(?s:.*)${patternOf(suffix)}`;
}

/** The first and the last column, if a range can name them. */
function boundsOf({ qualifiers, isRange }: Branch): readonly Buffer[] {
  if (qualifiers.length === 0) return [];
  let first: Buffer | undefined;
  let last: Buffer | undefined;
  let longest = 0;
  for (const qualifier of qualifiers) {
    const name = Buffer.from(qualifier);
    if (first === undefined || name.compare(first) < 0) first = name;
    if (last === undefined || name.compare(last) > 0) last = name;
    longest = Math.max(longest, name.length);
  }
  const isShort = longest <= (isRange ? RANGE_QUALIFIER_BYTES_MAX : BOUND_BYTES_MAX);
  return isShort && first !== undefined && last !== undefined ? [first, last] : [];
}

/** What several columns have in common from their last colon on; empty if it is long or nothing. */
function endOf({ qualifiers }: Branch): string {
  const [first = ''] = qualifiers;
  const end = first.slice(first.lastIndexOf(':'));
  const isCommon = qualifiers.length > 1 && qualifiers.every((one) => one.endsWith(end));
  return isCommon && end.startsWith(':') && end.length <= END_LENGTH_MAX ? end : '';
}

/** Family names have letters, digits, `-`, `_` and `.`. */
function escapeFamily(family: string): string {
  return family.replaceAll('.', String.raw`\.`);
}

/**
 * A pattern of bytes. Every byte that may have a special meaning is escaped; the letters, digits
 * and `_` of ASCII have none.
 */
function patternOf(qualifier: string): string {
  if (/^[-\w]*$/.test(qualifier)) return qualifier;
  let pattern = '';
  for (const byte of Buffer.from(qualifier)) {
    const character = String.fromCharCode(byte);
    pattern += /\w/.test(character)
      ? character
      : String.raw`\x` + byte.toString(16).padStart(2, '0');
  }
  return pattern;
}
