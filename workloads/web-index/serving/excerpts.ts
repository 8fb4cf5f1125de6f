/**
 * The part of a text that a result shows, with the words that matched marked.
 *
 * FTS5 has functions for this, `snippet` and `highlight`, but the first takes time that grows with
 * the square of the hits: five minutes for a page of a megabyte in which every other word is a hit.
 * Pages are untrusted. So the text is cut into passages, these are indexed in memory by the same
 * tokenizer, and FTS5 marks the best one alone. The time grows with the length, and that is cut.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { MarkedText } from './serving-index.ts';

/** The words of a page and of a query are compared without endings and accents. */
export const TOKENIZER = `tokenize = 'porter unicode61 remove_diacritics 2'`;
/** FTS5 puts these around a hit. `cleaned` takes them out of every page. */
const [HIT_BEGINS, HIT_ENDS] = ['\u0002', '\u0003'];
const PASSAGE_CHARACTERS = 280;
/** Passages are taken from the text up to here; words after it are found, but not shown. */
const LOOKED_AT_CHARACTERS = 150_000;

export class Excerpts {
  readonly #database = new DatabaseSync(':memory:');
  readonly #add: StatementSync;
  readonly #clear: StatementSync;
  readonly #best: StatementSync;

  constructor() {
    this.#database.exec(`CREATE VIRTUAL TABLE passages USING fts5(text, ${TOKENIZER})`);
    this.#add = this.#database.prepare('INSERT INTO passages (text) VALUES (?)');
    this.#clear = this.#database.prepare('DELETE FROM passages');
    this.#best = this.#database.prepare(
      `SELECT highlight(passages, 0, '${HIT_BEGINS}', '${HIT_ENDS}') AS text
       FROM passages WHERE passages MATCH ? ORDER BY bm25(passages), rowid LIMIT 1`,
    );
  }

  /** The passage that has most of what the expression asks for; the first one if none has any. */
  best(text: string, expression: string): MarkedText {
    const passages = passagesOf(text.slice(0, wholeAt(text, LOOKED_AT_CHARACTERS)));
    this.#database.exec('BEGIN');
    try {
      for (const passage of passages) this.#add.run(passage);
      const found = this.#best.get(expression)?.['text'];
      this.#clear.run();
      return markedText(String(found ?? passages[0] ?? ''));
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  /** The beginning of a text that is shown in any case. */
  beginning(text: string, charactersMax: number, expression: string): MarkedText {
    const cut =
      text.length <= charactersMax ? text : `${text.slice(0, wholeAt(text, charactersMax))}…`;
    this.#add.run(cut);
    const found = this.#best.get(expression)?.['text'];
    this.#clear.run();
    return markedText(String(found ?? cut));
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** The text without characters that would be taken for marks, or end the text for FTS5. */
export function cleaned(text: string): string {
  const marks = ['\0', HIT_BEGINS, HIT_ENDS];
  return marks.reduce((left, mark) => left.replaceAll(mark, '\u{FFFD}'), text.toWellFormed());
}

/** Cut at spaces where there are any. Each begins in the middle of the one before it. */
function passagesOf(text: string): readonly string[] {
  const passages: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = wordEnd(text, start + PASSAGE_CHARACTERS);
    const words = text.slice(start, end).trim();
    passages.push(`${start > 0 ? '…' : ''}${words}${end < text.length ? '…' : ''}`);
    if (end === text.length) break;
    start = wordEnd(text, start + PASSAGE_CHARACTERS / 2);
  }
  return passages;
}

/** The end of the word at a position, if it is near. */
function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const space = text.indexOf(' ', at);
  if (space >= 0 && space < at + 40) return space;
  return text.length < at + 40 ? text.length : wholeAt(text, at);
}

/** The position, or the one before it if it lies within a character of two units. */
function wholeAt(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

/** The pieces of a text with marks around its hits. */
function markedText(text: string): MarkedText {
  return text.split(HIT_BEGINS).flatMap((piece, i) => {
    const [hit = '', rest = ''] = i === 0 ? ['', piece] : piece.split(HIT_ENDS);
    const pieces = [
      { text: hit, isHit: true },
      { text: rest, isHit: false },
    ];
    return pieces.filter((one) => one.text !== '');
  });
}
