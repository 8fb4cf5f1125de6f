/**
 * The serving index on FTS5, SQLite's full-text search, through `node:sqlite`, which Node brings.
 *
 * Why this one: it is the only candidate that is on disk, lets other processes read while one
 * writes, and costs no dependency. minisearch, orama and flexsearch keep the index in the memory of
 * one process; flexsearch's adapter for files uses SQLite itself. Each of the
 * bindings of tantivy for Node is maintained by one person.
 *
 *     pages   one row for each URL that the last `replaceAll` named, or that was put or removed
 *             since: its version, its rank, and what a result shows besides title and text
 *     words   an FTS5 table, one row for each page that is served: title, anchors, text
 *     titles, anchors   the words of titles and of anchors once more, each in an FTS5 table
 *
 * The row of a removed page stays, without words, until a `replaceAll`: its version is what stops a
 * late `put`.
 *
 * A thread writes (writer-thread.ts): while it makes some changes durable, others gather, and are
 * its next transaction. Readers are never blocked by it (the write-ahead log), and read as of one
 * moment.
 *
 * Results are in the order of the sum of three BM25 scores (three times that of the title, twice
 * that of the anchors, once that of the text), times a factor that grows with the logarithm of the
 * PageRank. One BM25 with weights would not do: a word that the text has often would make up for
 * the title. Nor would three of one table: FTS5 compares the length of the whole row with that of
 * other rows, so the title of a long page would count a fifth of that of a short one. Hence titles
 * and anchors have tables of their own. The numbers were chosen by hand, on the crawl of SQLite's
 * documentation.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { UsageError } from '#harness';
import type { Anchor, ServedPage } from '../model/index.ts';
import { type IndexRow, numberOf, openToRead, placeOf, rowId, textOf } from './database.ts';
import { Excerpts } from './excerpts.ts';
import { dictionaryWords, expressionOf, PHRASES_MAX, phrasesOf, withoutWordEnds } from './query.ts';
import type {
  IndexChange,
  IndexReader,
  SearchRange,
  SearchResult,
  SearchResults,
  ServingIndex,
  VersionedPage,
} from './serving-index.ts';
import type { WriterAnswer, WriterTask } from './writer-thread.ts';

const TITLE_CHARACTERS = 160;
const COLUMNS =
  'url, version, language, pages.anchors AS anchors, duplicates, pages.rank AS rank, captured_ms, title, text';

/**
 * Opens the index of the folder, which is created if it is not there, to write and to search.
 * @throws UsageError if the folder holds something else
 */
export async function openServingIndex(folder: string): Promise<ServingIndex> {
  const writer = await orUsageError(folder, () => WriterClient.open(folder));
  const reader = new SqliteReader(openToRead(folder), placeOf(folder));
  return {
    put: (page, version) => writer.apply({ url: page.url, page, version }),
    remove: (url, version) => writer.apply({ url, page: undefined, version }),
    replaceAll: (changes) => writer.replaceAll([...changes]),
    search: (query, range) => reader.search(query, range),
    count: () => reader.count(),
    pages: () => reader.pages(),
    versions: () => reader.versions(),
    [Symbol.dispose]: () => reader[Symbol.dispose](),
    [Symbol.asyncDispose]: async () => {
      await writer.close();
      reader[Symbol.dispose]();
    },
  };
}

/** @throws UsageError if there is no index in the folder */
export async function openIndexReader(folder: string): Promise<IndexReader> {
  return orUsageError(folder, async () => new SqliteReader(openToRead(folder), placeOf(folder)));
}

async function orUsageError<T>(folder: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const sentence = `The serving index in "${folder}" cannot be opened: ${reason}.`;
    throw new UsageError(sentence, { cause });
  }
}

class SqliteReader implements IndexReader {
  readonly #database: DatabaseSync;
  readonly #assertInPlace: () => void;
  readonly #count: StatementSync;
  readonly #matches: StatementSync;
  readonly #best: StatementSync;
  readonly #shown: StatementSync;
  readonly #excerpts = new Excerpts();

  constructor(database: DatabaseSync, assertInPlace: () => void) {
    this.#database = database;
    this.#assertInPlace = assertInPlace;
    this.#count = database.prepare(
      'SELECT count(*) AS n, avg(rank) AS rank FROM pages WHERE is_served',
    );
    this.#matches = database.prepare('SELECT count(*) AS n FROM words WHERE words MATCH ?');
    // BM25 of FTS5 is negative, the best being the least. Equal ones in the order of URLs.
    this.#best = database.prepare(
      `WITH
         by_title AS MATERIALIZED (
           SELECT rowid AS id, bm25(titles) AS score FROM titles WHERE titles MATCH :any),
         by_anchor AS MATERIALIZED (
           SELECT rowid AS id, bm25(anchors) AS score FROM anchors WHERE anchors MATCH :any)
       SELECT pages.id AS id FROM words JOIN pages ON pages.id = words.rowid
         LEFT JOIN by_title ON by_title.id = pages.id LEFT JOIN by_anchor ON by_anchor.id = pages.id
       WHERE words MATCH :expression
       ORDER BY (3 * ifnull(by_title.score, 0) + 2 * ifnull(by_anchor.score, 0)
           + bm25(words, 0, 0, 1)) * (1 + 0.4 * ln(1 + pages.rank / :meanRank)), url
       LIMIT :limit OFFSET :offset`,
    );
    this.#shown =
      database.prepare(`SELECT ${COLUMNS} FROM pages JOIN words ON words.rowid = pages.id
       WHERE pages.id = ?`);
  }

  search(query: string, range: SearchRange): SearchResults {
    const phrases = phrasesOf(query);
    this.#assertInPlace();
    if (phrases.length === 0) return { total: 0, haveAllWords: true, results: [] };
    return this.#atOneMoment(() => {
      const all = this.#find(phrases, 'AND', range);
      if (all.total > 0) return { ...all, haveAllWords: true };
      const words = [...new Set(phrases.flatMap(dictionaryWords))].slice(0, PHRASES_MAX);
      const isSame = words.length === phrases.length && words.every((one, i) => one === phrases[i]);
      const anywhere = isSame ? all : this.#find(words, 'AND', range);
      if (anywhere.total > 0 || words.length === 1) return { ...anywhere, haveAllWords: true };
      const some = this.#find(words, 'OR', range);
      return { ...some, haveAllWords: some.total === 0 };
    });
  }

  count(): number {
    return numberOf(this.#count.get(), 'n');
  }

  *pages(): Generator<VersionedPage> {
    const rows = this.#database
      .prepare(`SELECT ${COLUMNS} FROM pages JOIN words ON pages.id = words.rowid ORDER BY url`)
      .iterate();
    for (const row of rows) yield { page: pageOf(row), version: numberOf(row, 'version') };
  }

  versions(): ReadonlyMap<string, number> {
    const rows = this.#database.prepare('SELECT url, version FROM pages').all();
    return new Map(rows.map((row) => [textOf(row, 'url'), numberOf(row, 'version')]));
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
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
    const best = this.#best.all({ expression, any, meanRank, limit, offset });
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
    this.#database.exec('BEGIN');
    try {
      return read();
    } finally {
      this.#database.exec('COMMIT');
    }
  }
}

function pageOf(row: IndexRow): ServedPage {
  return {
    url: textOf(row, 'url'),
    title: withoutWordEnds(textOf(row, 'title')),
    text: withoutWordEnds(textOf(row, 'text')),
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

/*
 * The callers' side of the thread that writes (writer-thread.ts): one task is in flight at a time,
 * and the changes that come meanwhile are sent together as the next one.
 */

const ENDED = 'its thread has ended';

interface ChangeBatch {
  readonly changes: IndexChange[];
  readonly done: Promise<void>;
}

export class WriterClient {
  readonly #thread: Worker;
  /** The changes that are the next task together; undefined if none wait. */
  #batch: ChangeBatch | undefined;
  /** Settles when the last task that was sent is done; never rejects. */
  #done: Promise<unknown> = Promise.resolve();

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** @throws an error if the index cannot be opened */
  static async open(folder: string): Promise<WriterClient> {
    const thread = new Worker(new URL('writer-thread.ts', import.meta.url), { workerData: folder });
    await answerOf(thread);
    return new WriterClient(thread);
  }

  /** Resolves when the change is durable. */
  apply(change: IndexChange): Promise<void> {
    this.#batch ??= this.#newBatch();
    this.#batch.changes.push(change);
    return this.#batch.done;
  }

  /** Changes that were applied before are replaced; those that are applied from now on stay. */
  replaceAll(changes: readonly IndexChange[]): Promise<void> {
    this.#batch = undefined;
    return this.#inTurn(() => ({ kind: 'replaceAll', changes }));
  }

  /** Waits for what was asked before. */
  async close(): Promise<void> {
    await this.#done;
    await this.#thread.terminate();
  }

  #newBatch(): ChangeBatch {
    const changes: IndexChange[] = [];
    const done = this.#inTurn(() => {
      if (this.#batch === batch) this.#batch = undefined;
      return { kind: 'apply', changes };
    });
    const batch = { changes, done };
    return batch;
  }

  /** Makes and sends the task when those before it are done. */
  #inTurn(makeTask: () => WriterTask): Promise<void> {
    const sent = this.#done.then(() => {
      this.#thread.postMessage(makeTask());
      return answerOf(this.#thread);
    });
    this.#done = sent.catch(() => {});
    return sent;
  }
}

/** Rejects if the thread could not do the task, or has ended. */
async function answerOf(thread: Worker): Promise<void> {
  if (thread.threadId < 0) throw new Error(ENDED); // The event of its exit is over.
  const over = new AbortController();
  const { signal } = over;
  const ended = once(thread, 'exit', { signal }).then(() => ({ error: ENDED }));
  const answered = once(thread, 'message', { signal }).then(([said]) => said as WriterAnswer);
  try {
    const { error }: WriterAnswer = await Promise.race([answered, ended]);
    if (error !== undefined) throw new Error(error);
  } finally {
    over.abort();
    await Promise.allSettled([answered, ended]);
  }
}
