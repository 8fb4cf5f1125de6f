/** The file of the serving index: its schema, and how it is opened. */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { TOKENIZER } from './query.ts';

const FILE = 'index.sqlite';
/**
 * Changes with the schema, and with what is a word (query.ts). An index of another version is
 * refused; once its folder is removed, the next load makes it again.
 */
const SCHEMA_VERSION = 4;
/** How long one process waits for another one. Too short: a busy pipeline fails. */
const BUSY_MS = 30_000;
/** The time between two looks at a file that another process is making. */
const LOOK_MS = 10;
const SQLITE_BUSY = 5;

/**
 * FTS5 tables without content would take less space, but they count deleted rows forever, and BM25
 * depends on the number of rows: pages that are exported again would change the order of results.
 */
const SCHEMA = `
  PRAGMA user_version = ${SCHEMA_VERSION};
  CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    is_served INTEGER NOT NULL,
    language TEXT NOT NULL,
    anchors TEXT NOT NULL,
    duplicates TEXT NOT NULL,
    rank REAL NOT NULL,
    captured_ms REAL NOT NULL
  ) STRICT;
  CREATE VIRTUAL TABLE words USING fts5(title, anchors, text, ${TOKENIZER});
  CREATE VIRTUAL TABLE titles USING fts5(text, ${TOKENIZER});
  CREATE VIRTUAL TABLE anchors USING fts5(text, ${TOKENIZER});`;

export type IndexRow = Readonly<Record<string, SQLOutputValue>>;

/** Creates the folder and the index in it, if they are not there. */
export function openToWrite(folder: string): DatabaseSync {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(path.join(folder, FILE), { timeout: BUSY_MS });
  useWriteAheadLog(database);
  database.exec('PRAGMA synchronous = FULL;');
  inTransaction(database, () => {
    if (versionOf(database) === 0) database.exec(SCHEMA);
  });
  return checked(database);
}

/** Retries while another process does the same with a new file: SQLite itself would not wait. */
function useWriteAheadLog(database: DatabaseSync): void {
  const untilMs = performance.now() + BUSY_MS;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof Error && Reflect.get(error, 'errcode') === SQLITE_BUSY;
      if (!isBusy || performance.now() >= untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    }
  }
}

export function openToRead(folder: string): DatabaseSync {
  const options = { readOnly: true, timeout: BUSY_MS };
  return checked(new DatabaseSync(path.join(folder, FILE), options));
}

/**
 * For a later look: SQLite goes on with a file that another program has moved, removed or replaced,
 * and neither its writer nor its readers would hear that the folder holds another index by now.
 * @returns a function that throws if it is so
 */
export function placeOf(folder: string): () => void {
  const file = path.join(folder, FILE);
  const { ino, dev } = statSync(file);
  return () => {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.ino === ino && found.dev === dev) return;
    throw new Error(`another program moved, removed or replaced ${file}; open the index again`);
  };
}

export function inTransaction<T>(database: DatabaseSync, body: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = body();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

export function textOf(row: IndexRow, column: string): string {
  return String(row[column] ?? '');
}

export function numberOf(row: IndexRow | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

/** Node binds a number as REAL, and FTS5 ignores a condition on its row id with a REAL. */
export function rowId(value: SQLOutputValue | undefined): bigint {
  return BigInt(Number(value));
}

function checked(database: DatabaseSync): DatabaseSync {
  const version = versionOf(database);
  if (version === SCHEMA_VERSION) return database;
  database.close();
  throw new Error(
    `its schema is version ${version}, not ${SCHEMA_VERSION}; once the folder is removed, the next load makes it again`,
  );
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}
