/**
 * A place in the order of the changes of a table, and its text, the cursor, which any process may
 * keep and go on from.
 *
 *     1/database/table/storage's name/timestamp/locks from[/row/column]
 *
 * Each part is encoded as in an address of the web, so a cursor fits into an address, a header and
 * a command line. It names the database and the incarnation of the table: a cursor of another one
 * would begin anywhere (P89, changes collected). Row and column are of the last change that was
 * reported, if other changes of its transaction may follow.
 */
import { compareTexts, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { isTimestamp } from '../transaction/index.ts';

/**
 * A place in the order of all changes of a table: by commit timestamp, then by row and column. It
 * is after all changes of its timestamp or, if it names a cell, after the change of that cell.
 */
export interface Place {
  readonly timestamp: Timestamp;
  readonly row?: string | undefined;
  readonly column?: string | undefined;
}

/** A place without a cell is after all cells of its timestamp. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp;
  if (a.row === undefined || b.row === undefined) {
    return Number(a.row === undefined) - Number(b.row === undefined);
  }
  return compareTexts(a.row, b.row) || compareTexts(a.column ?? '', b.column ?? '');
}

export interface Cursor {
  /** The identity of the database. */
  readonly database: string;
  readonly table: string;
  /** The storage's name of the incarnation. */
  readonly stored: string;
  readonly place: Place;
  /** See `Search.locksFrom`. */
  readonly locksFrom: Timestamp;
}

const VERSION = '1';

export function encodeCursor({ database, table, stored, place, locksFrom }: Cursor): string {
  const { timestamp, row, column } = place;
  const cell = row === undefined || column === undefined ? [] : [row, column];
  const parts = [VERSION, database, table, stored, `${timestamp}`, `${locksFrom}`, ...cell];
  return parts.map(encodeURIComponent).join('/');
}

/** @throws INVALID_ARGUMENT for a text that is no cursor */
export function decodeCursor(text: string): Cursor {
  const parts = decoded(text);
  const [version, database = '', table = '', stored = '', at = '', from = '', ...cell] = parts;
  const [timestamp, locksFrom] = [at, from].map((part) => (part === '' ? NaN : Number(part)));
  const [row, column] = cell;
  const isSound =
    version === VERSION &&
    isTimestamp(timestamp) &&
    isTimestamp(locksFrom) &&
    cell.length % 2 === 0;
  if (!isSound || timestamp === undefined || locksFrom === undefined || cell.length > 2) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `"${text}" is no cursor of changes; take it as an event of changes has it`,
    );
  }
  return { database, table, stored, place: { timestamp, row, column }, locksFrom };
}

function decoded(text: string): readonly string[] {
  try {
    return text.split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
}
