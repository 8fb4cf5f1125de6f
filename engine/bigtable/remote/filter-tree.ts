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
 * answer assigns the cells to the filters again (cells-of-filters.ts). A check has no such reader,
 * so the tree of a check passes no cell that no filter passes.
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import { type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';
import { toMicros } from './micros.ts';

export type RowFilter = protos.google.bigtable.v2.IRowFilter;

/** Bigtable refuses a filter of more than 20,480 bytes. */
const FILTER_BYTES_MAX = 20_000;
/**
 * What the qualifiers of a check may have together: in a pattern, a byte may take four, and each
 * name, of at least five bytes, one more.
 */
export const CHECK_BYTES_MAX = 4_000;
/** An upper bound of what a branch takes without its names. */
const BRANCH_BYTES = 80;
/** The longest qualifier that a range names: the range sends it twice. */
const RANGE_QUALIFIER_BYTES_MAX = 4096;

/** The filter to send; undefined if no cell can pass any of `filters`. */
export function treeForReading(filters: readonly CellFilter[]): RowFilter | undefined {
  const possible = filters.filter(canPass);
  let branches = branchesOf(possible, true);
  // Too many or too long names: ask for more columns, and cut the answer out of them.
  for (const wider of [withoutQualifier, wholeFamily]) {
    if (bytesOf(branches) <= FILTER_BYTES_MAX) break;
    branches = branchesOf(possible.map(wider), true);
  }
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
  const branches = branchesOf(filters.filter(canPass), false);
  if (bytesOf(branches) > FILTER_BYTES_MAX) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `a check of one row names columns with about ${bytesOf(branches)} bytes; Bigtable takes at most ${FILTER_BYTES_MAX}`,
    );
  }
  return interleave(branches) ?? { blockAllFilter: true };
}

/** A range from a later to an earlier timestamp is empty, and Bigtable would refuse it. */
function canPass({ from = 0, to = TIMESTAMP_MAX }: CellFilter): boolean {
  return from <= to;
}

/** The existence of a cell does not depend on how many versions are wanted. */
function withoutVersions({ family, qualifier, suffix, from, to }: CellFilter): CellFilter {
  return { family, qualifier, suffix, from, to };
}

function withoutQualifier({ family, suffix, from, to, versions }: CellFilter): CellFilter {
  return { family, suffix, from, to, versions };
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

function branchesOf(filters: readonly CellFilter[], isRead: boolean): readonly Branch[] {
  if (!isRead) {
    const exact = filters.map(withoutVersions);
    return exact.length <= UNMERGED_MAX ? exact.map((one) => branchOf([one])) : merged(exact);
  }
  const ranges = neighbours(filters);
  return ranges.length <= UNMERGED_MAX ? ranges : merged(filters);
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

function merged(filters: readonly CellFilter[]): readonly Branch[] {
  const groups = Map.groupBy(filters, ({ family, qualifier, suffix, from, to }) => {
    const columns = qualifier === undefined ? ['', suffix] : [family];
    return JSON.stringify([columns, from ?? 0, to ?? TIMESTAMP_MAX]);
  });
  return [...groups.values()].map((group) => branchOf(group));
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
  const { qualifiers, isRange } = branch;
  let longest = 0;
  for (const qualifier of qualifiers) longest = Math.max(longest, Buffer.byteLength(qualifier));
  if (isRange && longest <= RANGE_QUALIFIER_BYTES_MAX) return 2 * longest;
  return patternsOf(branch).reduce((bytes, pattern) => bytes + pattern.length + 1, 0);
}

function interleave(branches: readonly Branch[]): RowFilter | undefined {
  const chains = branches.map(chainOf);
  return chains.length > 1 ? { interleave: { filters: chains } } : chains[0];
}

function chainOf(branch: Branch): RowFilter {
  const { from = 0, to = TIMESTAMP_MAX, versions } = branch.like;
  const filters = columnsOf(branch);
  if (from > 0 || to < TIMESTAMP_MAX) {
    const start = from > 0 ? { startTimestampMicros: toMicros(from) } : {};
    // The end is exclusive; if absent, the range is open.
    const end = to < TIMESTAMP_MAX ? { endTimestampMicros: toMicros(to + 1) } : {};
    filters.push({ timestampRangeFilter: { ...start, ...end } });
  }
  if (versions !== undefined && versions <= VERSIONS_MAX) {
    filters.push({ cellsPerColumnLimitFilter: versions });
  }
  return filters.length > 1 ? { chain: { filters } } : (filters[0] as RowFilter);
}

/** The largest int32; no column has more versions. */
const VERSIONS_MAX = 2 ** 31 - 1;

function columnsOf(branch: Branch): RowFilter[] {
  const { families, qualifiers, isRange } = branch;
  const [familyName = ''] = families;
  if (isRange) {
    const [first, last] = endsOf(qualifiers);
    if (last.length <= RANGE_QUALIFIER_BYTES_MAX) {
      const range = { startQualifierClosed: first, endQualifierClosed: last };
      return [{ columnRangeFilter: { familyName, ...range } }];
    }
  }
  const family = { familyNameRegexFilter: families.map(escapeFamily).join('|') };
  const patterns = patternsOf(branch);
  if (patterns.length === 0) return [family];
  return [family, { columnQualifierRegexFilter: Buffer.from(patterns.join('|')) }];
}

function patternsOf({ qualifiers, like: { suffix } }: Branch): readonly string[] {
  const patterns = qualifiers.map(patternOf);
  if (suffix !== undefined) patterns.push(String.raw`(?s:.*)${patternOf(suffix)}`);
  return patterns;
}

/** The first and the last of some qualifiers. */
function endsOf([one = '', ...others]: readonly string[]): readonly [Buffer, Buffer] {
  let first = Buffer.from(one);
  let last = first;
  for (const other of others) {
    const name = Buffer.from(other);
    if (name.compare(first) < 0) first = name;
    else if (name.compare(last) > 0) last = name;
  }
  return [first, last];
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
