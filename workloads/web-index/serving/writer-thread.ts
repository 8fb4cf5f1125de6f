/** The thread in which the serving index is written, so that its syncs block no other thread. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Anchor } from '../model/index.ts';
import { inTransaction, numberOf, openToWrite, placeOf, rowId } from './database.ts';
import { cleaned } from './excerpts.ts';
import { hasWord, withWordEnds } from './query.ts';
import type { IndexChange } from './serving-index.ts';

export interface WriterTask {
  readonly kind: 'apply' | 'replaceAll';
  readonly changes: readonly IndexChange[];
}

/**
 * The first answer says whether the index was opened; then there is one for each task, in order.
 */
export interface WriterAnswer {
  readonly error?: string | undefined;
}

/**
 * Full-text tables. `words` has a row for each served page; the others only for pages whose title,
 * or whose texts of links, have a word.
 */
const WORD_TABLES = ['words', 'titles', 'anchors'] as const;

/** Writes to the serving index. Each call is one transaction, and one sync of the disk. */
class IndexWriter implements Disposable {
  readonly #database: DatabaseSync;
  readonly #assertInPlace: () => void;
  readonly #versionOf: StatementSync;
  readonly #setPage: StatementSync;
  readonly #setWords: StatementSync;
  readonly #setTitle: StatementSync;
  readonly #setAnchors: StatementSync;
  readonly #drops: readonly StatementSync[];

  constructor(folder: string) {
    const database = openToWrite(folder);
    this.#database = database;
    this.#assertInPlace = placeOf(folder);
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
    this.#setTitle = database.prepare('INSERT INTO titles (rowid, text) VALUES (?, ?)');
    this.#setAnchors = database.prepare('INSERT INTO anchors (rowid, text) VALUES (?, ?)');
    this.#drops = WORD_TABLES.map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    );
  }

  /** Skips each change whose version is not above the one that its URL has. */
  apply(changes: readonly IndexChange[]): void {
    inTransaction(this.#database, () => {
      for (const change of changes) this.#apply(change);
    });
    this.#assertInPlace(); // Afterwards: what is answered is in the folder.
  }

  replaceAll(changes: readonly IndexChange[]): void {
    inTransaction(this.#database, () => {
      for (const table of [...WORD_TABLES, 'pages']) this.#database.exec(`DELETE FROM ${table}`);
      for (const change of changes) this.#apply(change);
    });
    this.#assertInPlace();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #apply({ url, page, version }: IndexChange): void {
    const held = this.#versionOf.get(url);
    if (held !== undefined && numberOf(held, 'version') >= version) return;
    const { language, anchors, duplicates, rank, capturedMs } = page ?? NOTHING;
    const texts = [language, JSON.stringify(anchors), JSON.stringify(duplicates)];
    const isServed = page === undefined ? 0 : 1;
    const row = this.#setPage.get(url, version, isServed, ...texts, rank, capturedMs);
    const id = rowId(row?.['id']);
    for (const drop of this.#drops) drop.run(id);
    if (page === undefined) return;
    const asWords = (text: string): string => withWordEnds(cleaned(text));
    const [title, linked] = [asWords(page.title), asWords(anchorWords(anchors))];
    this.#setWords.run(id, title, linked, asWords(page.text));
    // Those without a word would lower the mean length, with which BM25 compares.
    if (hasWord(title)) this.#setTitle.run(id, title);
    if (hasWord(linked)) this.#setAnchors.run(id, linked);
  }
}

const NOTHING = { language: '', anchors: [], duplicates: [], rank: 0, capturedMs: 0 } as const;

/**
 * The text of n links is repeated 1 + floor(log2(n)) times, so that frequent texts count more
 * without drowning the others.
 */
function anchorWords(anchors: readonly Anchor[]): string {
  const repeated = anchors.flatMap(({ text, count }) =>
    Array.from({ length: 1 + Math.floor(Math.log2(count)) }, () => text),
  );
  return repeated.join('\n');
}

try {
  const writer = new IndexWriter(workerData as string);
  answer({});
  parentPort?.on('message', ({ kind, changes }: WriterTask) => {
    try {
      writer[kind](changes);
      answer({});
    } catch (error) {
      answer({ error: messageOf(error) });
    }
  });
  parentPort?.on('close', () => writer[Symbol.dispose]());
} catch (error) {
  answer({ error: messageOf(error) });
}

function answer(said: WriterAnswer): void {
  parentPort?.postMessage(said);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
