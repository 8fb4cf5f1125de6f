/**
 * Checks that every implementation makes before it sends anything, so that a bad request fails the
 * same way everywhere, and never after half of it was applied. Each check throws INVALID_ARGUMENT.
 * Below: what a value is, and when it is copied.
 */
import { byteLength, bytesOf, copyOf, PercolatorError } from '../base/index.ts';
import { check, type OptionRule } from '../base/options.ts';
import {
  type CellFilter,
  type ConditionalRowMutation,
  type Mutation,
  type RangeRead,
  type TableSchema,
  TIMESTAMP_MAX,
} from './bigtable.ts';

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

export function validateCases({ ifFound = [], ifNotFound = [] }: ConditionalRowMutation): void {
  if (ifFound.length + ifNotFound.length > 0) return;
  throw invalid('a conditional mutation must mutate in some case');
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

export function validateRange(range: RangeRead): void {
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
  const bytes = byteLength(name);
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

/*
 * Values. The bytes of a caller are its own: it may use its buffer again, transfer it to a thread,
 * shrink it, or share it with a thread that writes in it. And a storage looks at them late,
 * together with those of other callers. So what a user gives is copied before the call returns
 * (P76). Below that, a `Bigtable` checks the values of each mutation before it takes any of it.
 */

/** Bigtable's limit. */
const VALUE_BYTES_MAX = 100_000_000;

const BYTES_TAG = '[object Uint8Array]';
/** Of any realm: `instanceof` would refuse those of a `vm` context, or of a test runner's. */
const BYTES: OptionRule = { expected: 'bytes in a Uint8Array', accepts: isUint8Array };

const TEXT_OR_BYTES: OptionRule = {
  expected: 'a text or bytes in a Uint8Array (delete removes a value)',
  accepts: (value) => typeof value === 'string' || isUint8Array(value),
};

/**
 * The bytes of a value, which no caller can change.
 * @param name how the error names the value
 * @throws INVALID_ARGUMENT
 */
export function ownValue(name: string, value: Uint8Array | string): Uint8Array {
  check(name, value, TEXT_OR_BYTES);
  if (typeof value !== 'string') return ownBytes(name, value);
  if (!value.isWellFormed()) {
    throw refused(name, 'is a text with half of a surrogate pair, which UTF-8 cannot hold');
  }
  const bytes = bytesOf(value);
  checkLength(name, bytes);
  return bytes;
}

/** The same for a value that must be bytes. */
export function ownBytes(name: string, value: Uint8Array): Uint8Array {
  checkBytes(name, value);
  try {
    return copyOf(value);
  } catch (cause) {
    // Another thread has made shared memory larger meanwhile, for example.
    throw refused(name, 'has bytes that cannot be copied', cause);
  }
}

/** @throws INVALID_ARGUMENT for a value that cannot be stored */
function checkBytes(name: string, value: Uint8Array): void {
  check(name, value, BYTES);
  if (value.length === 0) {
    try {
      value.at(0); // It throws for the lost, not for the empty.
    } catch (cause) {
      throw refused(name, 'has lost its bytes: their ArrayBuffer was transferred or shrunk', cause);
    }
  }
  checkLength(name, value);
}

function checkLength(name: string, { length }: Uint8Array): void {
  if (length <= VALUE_BYTES_MAX) return;
  throw refused(name, `has ${length} bytes; at most ${VALUE_BYTES_MAX} are allowed`);
}

function refused(name: string, what: string, cause?: unknown): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', `${name} ${what}`, { cause });
}

function isUint8Array(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === BYTES_TAG;
}
