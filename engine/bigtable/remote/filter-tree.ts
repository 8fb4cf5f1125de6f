/**
 * Builds one Bigtable filter tree from the contract's filters.
 *
 *     one filter         Chain(column, time range, newest versions)
 *     several            Interleave of those: a cell comes once for each that it passes
 *
 * Interleave and Chain are atomic with the row and with a check; Condition is not, and is never
 * used.
 *
 * Each branch costs the server a pass over the row, so filters that differ only in their column
 * become one branch with an alternation, and so do those that differ only in their family. A read
 * of 30 columns of one row then has three branches, not 90. A single column is named by a range,
 * which is cheaper than a pattern. The reader of the answer assigns the cells to the filters again
 * (cells-of-filters.ts).
 */
import type { protos } from '@google-cloud/bigtable-api';
import { PercolatorError } from '../../base/index.ts';
import { type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';
import { toMicros } from './micros.ts';

export type RowFilter = protos.google.bigtable.v2.IRowFilter;

/** Bigtable refuses a filter of more than 20,480 bytes. */
const FILTER_BYTES_MAX = 20_000;
const BRANCH_BYTES = 80;
/** The longest qualifier that a range names: the range sends it twice. */
const RANGE_QUALIFIER_BYTES_MAX = 4096;

/** The filter to send; undefined if no cell can pass any of `filters`. */
export function treeForReading(filters: readonly CellFilter[]): RowFilter | undefined {
  const possible = filters.filter(canPass);
  const branches = branchesOf(possible, true);
  if (bytesOf(branches) <= FILTER_BYTES_MAX) return interleave(branches);
  // Too many columns to name: ask for whole families, and cut the answer out of them.
  return interleave(branchesOf(possible.map(wholeFamily), true));
}

/** A filter that passes some cell exactly if one of `filters` does. */
export function treeForChecking(filters: readonly CellFilter[]): RowFilter {
  const branches = branchesOf(filters.filter(canPass), false);
  if (bytesOf(branches) > FILTER_BYTES_MAX) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `a check of one row names columns with about ${bytesOf(branches)} bytes; Bigtable takes ${FILTER_BYTES_MAX}`,
    );
  }
  return interleave(branches) ?? { blockAllFilter: true };
}

/** A range from a later to an earlier timestamp is empty, and Bigtable would refuse it. */
function canPass({ from = 0, to = TIMESTAMP_MAX }: CellFilter): boolean {
  return from <= to;
}

/** The existence of a cell does not depend on how many versions are wanted. */
function withoutVersions({ family, qualifier, from, to }: CellFilter): CellFilter {
  return { family, qualifier, from, to };
}

function wholeFamily({ family, from, to, versions }: CellFilter): CellFilter {
  return { family, from, to, versions };
}

/** Columns of one family, or every column of some families, with the same range and versions. */
interface Branch {
  readonly families: readonly string[];
  /** Empty: every column. */
  readonly qualifiers: readonly string[];
  readonly like: CellFilter;
}

/** With at most this many, merging is not worth its cost; a prewrite of one cell has three. */
const UNMERGED_MAX = 3;

function branchesOf(filters: readonly CellFilter[], limitVersions: boolean): readonly Branch[] {
  const wanted = limitVersions ? filters : filters.map(withoutVersions);
  return wanted.length <= UNMERGED_MAX ? wanted.map(branchOf) : merged(wanted);
}

function branchOf(like: CellFilter): Branch {
  const { family, qualifier } = like;
  return { families: [family], qualifiers: qualifier === undefined ? [] : [qualifier], like };
}

function merged(filters: readonly CellFilter[]): readonly Branch[] {
  const groups = new Map<string, CellFilter[]>();
  for (const filter of filters) {
    const { family, qualifier, from = 0, to = TIMESTAMP_MAX, versions } = filter;
    const key = `${qualifier === undefined ? '' : family} ${from} ${to} ${versions}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [filter]);
    else group.push(filter);
  }
  return [...groups.values()].map((group) => ({
    families: [...new Set(group.map(({ family }) => family))],
    qualifiers: [...new Set(group.flatMap(({ qualifier }) => qualifier ?? []))],
    like: group[0] as CellFilter,
  }));
}

/** At least the bytes that the branches take on the wire. */
function bytesOf(branches: readonly Branch[]): number {
  let bytes = 0;
  for (const { families, qualifiers } of branches) {
    bytes += BRANCH_BYTES;
    for (const family of families) bytes += 2 * family.length + 1;
    if (qualifiers.length === 1) bytes += 4 * Buffer.byteLength(qualifiers[0] ?? '');
    else for (const qualifier of qualifiers) bytes += patternOf(qualifier).length + 1;
  }
  return bytes;
}

function interleave(branches: readonly Branch[]): RowFilter | undefined {
  const chains = branches.map(chainOf);
  return chains.length > 1 ? { interleave: { filters: chains } } : chains[0];
}

function chainOf({ families, qualifiers, like }: Branch): RowFilter {
  const { from = 0, to = TIMESTAMP_MAX, versions } = like;
  const filters = columnsOf(families, qualifiers);
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

function columnsOf(families: readonly string[], qualifiers: readonly string[]): RowFilter[] {
  const [familyName = ''] = families;
  const [qualifier] = qualifiers;
  if (qualifiers.length === 1 && qualifier !== undefined) {
    const bytes = Buffer.from(qualifier);
    if (bytes.length <= RANGE_QUALIFIER_BYTES_MAX) {
      const range = { startQualifierClosed: bytes, endQualifierClosed: bytes };
      return [{ columnRangeFilter: { familyName, ...range } }];
    }
  }
  const family = { familyNameRegexFilter: families.map(escapeFamily).join('|') };
  if (qualifier === undefined) return [family];
  return [family, { columnQualifierRegexFilter: Buffer.from(qualifiers.map(patternOf).join('|')) }];
}

/** Family names have letters, digits, `-`, `_` and `.`. */
function escapeFamily(family: string): string {
  return family.replaceAll('.', String.raw`\.`);
}

/**
 * A pattern of bytes: any character but a plain letter is written as bytes, so that none has a
 * special meaning.
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
