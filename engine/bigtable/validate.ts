/**
 * Checks that every implementation makes before it sends anything, so that a bad request fails the
 * same way everywhere, and never after half of it was applied. Each check throws INVALID_ARGUMENT.
 */
import { PercolatorError } from '../base/index.ts';
import {
  TIMESTAMP_MAX,
  type CellFilter,
  type Mutation,
  type RowRange,
  type TableSchema,
} from './bigtable.ts';
import { checkBytes } from './values.ts';

const FAMILY_NAME = /^[-_.a-zA-Z0-9]{1,64}$/;
/** Bigtable's limits. HBase's own are higher, and the embedded store's lower (keys.ts). */
const ROW_KEY_BYTES_MAX = 4096;
export const QUALIFIER_BYTES_MAX = 16_384;
/** Bigtable's own advice; the embedded store's keys have one byte for the family. */
const FAMILIES_MAX = 100;

export function validateRowKey(row: string): void {
  if (row === '') throw invalid('a row key must not be empty');
  if (!row.isWellFormed()) {
    throw invalid(`row key ${JSON.stringify(row)} is not well-formed Unicode`);
  }
}

/** For a row that is to be stored; the embedded store finds nothing in one that is longer. */
export function validateStoredRow(row: string): void {
  validateRowKey(row);
  validateBytes('a row key', row, ROW_KEY_BYTES_MAX);
}

export function validateMutation(mutation: Mutation): void {
  validateQualifier(mutation.qualifier);
  if (mutation.kind === 'set') {
    validateTimestamp(mutation.timestamp);
    checkBytes('the value of a mutation', mutation.value);
    return;
  }
  validateTimestamp(mutation.from);
  validateTimestamp(mutation.to);
  if (mutation.from > mutation.to) {
    throw invalid(`an erase from ${mutation.from} to ${mutation.to} is empty`);
  }
}

/** @throws INVALID_ARGUMENT for an erase that a storage with tombstones does not have */
export function validateTombstone(mutation: Mutation): void {
  if (mutation.kind === 'set' || mutation.from === 0 || mutation.from === mutation.to) return;
  throw invalid(
    `this storage erases one timestamp, or all up to one, not from ${mutation.from} to ${mutation.to}`,
  );
}

export function validateFilter(filter: CellFilter): void {
  const { qualifier, suffix, from, to, versions } = filter;
  if (qualifier !== undefined) validateQualifier(qualifier);
  if (suffix !== undefined) validateQualifier(suffix);
  if (qualifier !== undefined && suffix !== undefined) {
    throw invalid('a filter has a qualifier or a suffix, not both');
  }
  if (from !== undefined) validateTimestamp(from);
  if (to !== undefined) validateTimestamp(to);
  if (versions !== undefined && !(Number.isSafeInteger(versions) && versions > 0)) {
    throw invalid(`versions must be a whole number above 0, not ${versions}`);
  }
}

export function validateRange(range: RowRange & { readonly limit: number }): void {
  for (const bound of [range.start, range.end]) {
    if (bound?.isWellFormed() === false) {
      throw invalid(`range bound ${JSON.stringify(bound)} is not well-formed Unicode`);
    }
  }
  const { limit } = range;
  // Bigtable reads a limit of 0 as no limit.
  if (limit >= 1 && (Number.isInteger(limit) || limit === Infinity)) return;
  throw invalid(`the limit of a range is a whole number of at least 1, not ${limit}`);
}

export function validateSchema(table: string, schema: TableSchema): void {
  if (!/^[-_.a-zA-Z0-9]{1,50}$/.test(table)) {
    throw invalid(
      `table name ${JSON.stringify(table)} must have 1 to 50 characters: letters, digits, - _ .`,
    );
  }
  for (const family of schema.families) {
    if (!FAMILY_NAME.test(family)) {
      throw invalid(
        `family name ${JSON.stringify(family)} must have 1 to 64 characters: letters, digits, - _ .`,
      );
    }
  }
  const { size } = new Set(schema.families);
  if (size < schema.families.length) throw invalid(`table ${table} has a family twice`);
  if (size > FAMILIES_MAX) {
    throw invalid(`a table has at most ${FAMILIES_MAX} families, not ${size}`);
  }
  for (const split of schema.splits ?? []) validateRowKey(split);
}

function validateQualifier(qualifier: string): void {
  if (!qualifier.isWellFormed()) {
    throw invalid(`qualifier ${JSON.stringify(qualifier)} is not well-formed Unicode`);
  }
  validateBytes('a qualifier', qualifier, QUALIFIER_BYTES_MAX);
}

/** @throws INVALID_ARGUMENT if the name takes more bytes than `max` */
export function validateBytes(what: string, name: string, max: number): void {
  // No UTF-16 unit takes more than three bytes, and that is usually proof enough.
  if (3 * name.length <= max) return;
  const bytes = Buffer.byteLength(name);
  if (bytes > max) throw invalid(`${what} has at most ${max} bytes, not ${bytes}`);
}

function validateTimestamp(timestamp: number): void {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw invalid(`a timestamp is a whole number from 0 to ${TIMESTAMP_MAX}, not ${timestamp}`);
  }
}

export function invalid(message: string): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', message);
}
