/**
 * The serving index on FTS5, SQLite's full-text search, through `node:sqlite`, which Node brings.
 *
 * Why this one: it is the only candidate that is on disk, lets other processes read while one
 * writes, and costs no dependency. minisearch, orama and flexsearch keep the index in the memory of
 * one process; flexsearch's adapter for files uses SQLite itself. The bindings of tantivy for Node
 * are builds of single authors.
 *
 *     pages   one row for each URL that was ever put: its version, and what a result shows
 *     words   the FTS5 table, one row for each page that is served: title, anchors, text
 *
 * The row of a removed page stays, without words: its version is what stops a late `put`.
 *
 * Writes of the same moment are one transaction of SQLite, and so one sync of the disk. Readers are
 * never blocked by it (the write-ahead log), and read as of one moment.
 *
 * The order of results is the sum of three BM25, three times that of the title, twice that of the
 * anchors, and that of the text; times a factor that grows with the logarithm of the PageRank. One
 * BM25 with weights would not do: a word that the text has often would make up for the title. The
 * numbers were chosen by hand, on the crawl of SQLite's documentation.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { UsageError } from '#harness';
import { cleaned, Excerpts, TOKENIZER } from './excerpts.ts';
import type { Anchor, ServedPage } from '../model/index.ts';
import { expressionOf, phrasesOf } from './query.ts';
import type {
  IndexReader,
  SearchRange,
  SearchResult,
  SearchResults,
  ServingIndex,
  VersionedPage,
} from './serving-index.ts';

const FILE = 'index.sqlite';
/** Changes with the schema: an index of another version is refused, and can be rebuilt. */
const SCHEMA_VERSION = 1;
/** How long a writer waits for another one. Too short: a busy pipeline fails. */
const BUSY_MS = 30_000;
const TITLE_CHARACTERS = 160;

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
  CREATE VIRTUAL TABLE words USING fts5(title, anchors, text, ${TOKENIZER});`;

const COLUMNS =
  'url, version, language, pages.anchors AS anchors, duplicates, pages.rank AS rank, captured_ms, title, text';

/** Opens the index of the folder, which is created if it is not there, to write and to search. */
export function openServingIndex(folder: string): ServingIndex {
  mkdirSync(folder, { recursive: true });
  return new Writer(
    openDatabase(folder, (file) => {
      const database = new DatabaseSync(file, { timeout: BUSY_MS });
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
      inTransaction(database, () => {
        if (versionOf(database) === 0) database.exec(SCHEMA);
      });
      return database;
    }),
  );
}

/** @throws UsageError if there is no index in the folder */
export function openIndexReader(folder: string): IndexReader {
  return new Reader(
    openDatabase(folder, (file) => new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS })),
  );
}

function openDatabase(folder: string, open: (file: string) => DatabaseSync): DatabaseSync {
  try {
    const database = open(path.join(folder, FILE));
    const version = versionOf(database);
    if (version === SCHEMA_VERSION) return database;
    database.close();
    throw new Error(`its schema is version ${version}`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`The serving index in "${folder}" cannot be opened: ${reason}.`, {
      cause,
    });
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

class Reader implements IndexReader {
  protected readonly database: DatabaseSync;
  readonly #count: StatementSync;
  readonly #matches: StatementSync;
  readonly #best: StatementSync;
  readonly #shown: StatementSync;
  readonly #excerpts = new Excerpts();

  constructor(database: DatabaseSync) {
    this.database = database;
    this.#count = database.prepare(
      'SELECT count(*) AS n, avg(rank) AS rank FROM pages WHERE is_served',
    );
    this.#matches = database.prepare('SELECT count(*) AS n FROM words WHERE words MATCH ?');
    // BM25 of FTS5 is negative, the best being the least. Equal ones in the order of URLs.
    this.#best = database.prepare(
      `SELECT pages.id AS id FROM words JOIN pages ON pages.id = words.rowid
       WHERE words MATCH ?
       ORDER BY (3 * bm25(words, 1, 0, 0) + 2 * bm25(words, 0, 1, 0) + bm25(words, 0, 0, 1))
         * (1 + 0.4 * ln(1 + pages.rank / ?)), url
       LIMIT ? OFFSET ?`,
    );
    this.#shown =
      database.prepare(`SELECT ${COLUMNS} FROM pages JOIN words ON words.rowid = pages.id
       WHERE pages.id = ?`);
  }

  search(query: string, range: SearchRange): SearchResults {
    const phrases = phrasesOf(query);
    if (phrases.length === 0) return { total: 0, haveAllWords: true, results: [] };
    return this.#atOneMoment(() => {
      const all = this.#find(phrases, 'AND', range);
      if (all.total > 0 || phrases.length === 1) return { ...all, haveAllWords: true };
      const some = this.#find(phrases, 'OR', range);
      return { ...some, haveAllWords: some.total === 0 };
    });
  }

  count(): number {
    return numberOf(this.#count.get(), 'n');
  }

  *pages(): Generator<VersionedPage> {
    const rows = this.database
      .prepare(`SELECT ${COLUMNS} FROM pages JOIN words ON pages.id = words.rowid ORDER BY url`)
      .iterate();
    for (const row of rows) yield { page: pageOf(row), version: numberOf(row, 'version') };
  }

  [Symbol.dispose](): void {
    if (this.database.isOpen) this.database.close();
    this.#excerpts[Symbol.dispose]();
  }

  #find(
    phrases: readonly string[],
    joined: 'AND' | 'OR',
    { limit, offset = 0 }: SearchRange,
  ): Pick<SearchResults, 'total' | 'results'> {
    const [expression, any] = [expressionOf(phrases, joined), expressionOf(phrases, 'OR')];
    const total = numberOf(this.#matches.get(expression), 'n');
    if (total <= offset) return { total, results: [] };
    const meanRank = numberOf(this.#count.get(), 'rank') || 1;
    const best = this.#best.all(expression, meanRank, limit, offset);
    return { total, results: best.map(({ id }) => this.#result(rowId(id), any)) };
  }

  #result(id: bigint, expression: string): SearchResult {
    const row = this.#shown.get(id) ?? {};
    const { url, title, text, language, anchors, duplicates, capturedMs } = pageOf(row);
    return {
      url,
      title: this.#excerpts.beginning(title, TITLE_CHARACTERS, expression),
      snippet: this.#excerpts.best(text, expression),
      language,
      anchors: mostFrequent(anchors),
      duplicates,
      capturedMs,
    };
  }

  #atOneMoment<T>(read: () => T): T {
    this.database.exec('BEGIN');
    try {
      return read();
    } finally {
      this.database.exec('COMMIT');
    }
  }
}

class Writer extends Reader implements ServingIndex {
  readonly #versionOf: StatementSync;
  readonly #setPage: StatementSync;
  readonly #setWords: StatementSync;
  readonly #dropWords: StatementSync;
  #waiting: Change[] = [];
  #nextCommit: Promise<void> | undefined;

  constructor(database: DatabaseSync) {
    super(database);
    this.#versionOf = database.prepare('SELECT version FROM pages WHERE url = ?');
    this.#setPage = database.prepare(
      `INSERT INTO pages (url, version, is_served, language, anchors, duplicates, rank, captured_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (url) DO UPDATE SET version = excluded.version, is_served = excluded.is_served,
         language = excluded.language, anchors = excluded.anchors, duplicates = excluded.duplicates,
         rank = excluded.rank, captured_ms = excluded.captured_ms
       RETURNING id`,
    );
    this.#setWords = database.prepare(
      'INSERT INTO words (rowid, title, anchors, text) VALUES (?, ?, ?, ?)',
    );
    this.#dropWords = database.prepare('DELETE FROM words WHERE rowid = ?');
  }

  put(page: ServedPage, version: number): Promise<void> {
    return this.#change({ url: page.url, page, version });
  }

  remove(url: string, version: number): Promise<void> {
    return this.#change({ url, page: undefined, version });
  }

  replaceAll(pages: Iterable<VersionedPage>): void {
    inTransaction(this.database, () => {
      this.database.exec('DELETE FROM words; DELETE FROM pages;');
      for (const { page, version } of pages) this.#apply({ url: page.url, page, version });
    });
  }

  /** All changes that come before the commit begins share it. */
  #change(change: Change): Promise<void> {
    this.#waiting.push(change);
    this.#nextCommit ??= this.#commit();
    return this.#nextCommit;
  }

  async #commit(): Promise<void> {
    await setImmediate();
    const changes = this.#waiting;
    this.#waiting = [];
    this.#nextCommit = undefined;
    inTransaction(this.database, () => {
      for (const change of changes) this.#apply(change);
    });
  }

  #apply({ url, page, version }: Change): void {
    const held = this.#versionOf.get(url);
    if (held !== undefined && numberOf(held, 'version') >= version) return;
    const { language, anchors, duplicates, rank, capturedMs } = page ?? NOTHING;
    const texts = [language, JSON.stringify(anchors), JSON.stringify(duplicates)];
    const isServed = page === undefined ? 0 : 1;
    const row = this.#setPage.get(url, version, isServed, ...texts, rank, capturedMs);
    const id = rowId(row?.['id']);
    this.#dropWords.run(id);
    if (page === undefined) return;
    const words = [page.title, anchorWords(anchors), page.text].map(cleaned);
    this.#setWords.run(id, ...words);
  }
}

interface Change {
  readonly url: string;
  /** Undefined if the URL is served no more. */
  readonly page: ServedPage | undefined;
  readonly version: number;
}

const NOTHING = { language: '', anchors: [], duplicates: [], rank: 0, capturedMs: 0 } as const;

type Row = Record<string, SQLOutputValue>;

function pageOf(row: Row): ServedPage {
  return {
    url: textOf(row, 'url'),
    title: textOf(row, 'title'),
    text: textOf(row, 'text'),
    language: textOf(row, 'language'),
    anchors: JSON.parse(textOf(row, 'anchors')) as readonly Anchor[],
    duplicates: JSON.parse(textOf(row, 'duplicates')) as string[],
    rank: numberOf(row, 'rank'),
    capturedMs: numberOf(row, 'captured_ms'),
  };
}

function mostFrequent(anchors: readonly Anchor[]): readonly string[] {
  return anchors.toSorted((a, b) => b.count - a.count).map(({ text }) => text);
}

/** A text that many links use is there more often, but far from as often as it is used. */
function anchorWords(anchors: readonly Anchor[]): string {
  const repeated = anchors.flatMap(({ text, count }) =>
    Array.from({ length: 1 + Math.floor(Math.log2(count)) }, () => text),
  );
  return repeated.join('\n');
}

function textOf(row: Row, column: string): string {
  return String(row[column] ?? '');
}

function numberOf(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

/** Node binds a number as a fraction, and FTS5 ignores a condition on its rows with one. */
function rowId(value: SQLOutputValue | undefined): bigint {
  return BigInt(Number(value));
}

function inTransaction(database: DatabaseSync, body: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    body();
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
