/**
 * The part of a text that a result shows, with the words that matched marked.
 *
 * FTS5 has functions for this, `snippet` and `highlight`, but the first takes time that grows with
 * the square of the hits: five minutes for a page of a megabyte in which every other word is a hit.
 * Pages are untrusted. So the text is cut into passages, FTS5 indexes these in memory by the same
 * tokenizer, and the best one is shown. The time grows with the length of the text, so passages
 * come only from its beginning.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { MarkedText } from './serving-index.ts';
import { TOKENIZER, withoutWordEnds, withWordEnds, WORD_END } from './query.ts';

/** FTS5 puts these around a hit. `cleaned` takes them out of every page. */
const [HIT_BEGINS, HIT_ENDS] = ['\u0002', '\u0003'];
const PASSAGE_CHARACTERS = 280;
/** Passages begin before this place; words far after it are found, but not shown. */
const LOOKED_AT_CHARACTERS = 150_000;
/** By how much a cut may move to the next space. Fewer: more words are cut in two. */
const WORD_REST_CHARACTERS = 40;

export class Excerpts {
  readonly #database = new DatabaseSync(':memory:');
  readonly #add: StatementSync;
  readonly #best: StatementSync;

  constructor() {
    this.#database.exec(`CREATE VIRTUAL TABLE passages USING fts5(text, ${TOKENIZER})`);
    this.#add = this.#database.prepare('INSERT INTO passages (text) VALUES (?)');
    this.#best = this.#database.prepare(
      `SELECT highlight(passages, 0, '${HIT_BEGINS}', '${HIT_ENDS}') AS text
       FROM passages WHERE passages MATCH ? ORDER BY bm25(passages), rowid LIMIT 1`,
    );
  }

  /** The passage that has most of what the expression asks for; the first one if none has any. */
  best(text: string, expression: string): MarkedText {
    return this.#bestOf(passagesOf(text), expression);
  }

  /** The beginning of the text, whether it has a hit or not. */
  beginning(text: string, charactersMax: number, expression: string): MarkedText {
    const cut =
      text.length <= charactersMax ? text : `${text.slice(0, wholeAt(text, charactersMax))}…`;
    return this.#bestOf([cut], expression);
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** No passage stays in the table, also after an error: the next caller would be shown it. */
  #bestOf(passages: readonly string[], expression: string): MarkedText {
    this.#database.exec('BEGIN');
    try {
      for (const passage of passages) this.#add.run(withWordEnds(passage));
      const found = this.#best.get(expression)?.['text'];
      return markedText(withoutWordEnds(String(found ?? passages[0] ?? '')));
    } finally {
      this.#database.exec('ROLLBACK');
    }
  }
}

/** The text without characters that would be taken for marks, or end the text for FTS5. */
export function cleaned(text: string): string {
  const marks = ['\0', HIT_BEGINS, HIT_ENDS, WORD_END];
  return marks.reduce((left, mark) => left.replaceAll(mark, '\u{FFFD}'), text.toWellFormed());
}

/** Cut at spaces where there are any. Each begins in the middle of the one before it. */
function passagesOf(text: string): readonly string[] {
  const passages: string[] = [];
  for (let start = 0; start < Math.min(text.length, LOOKED_AT_CHARACTERS);) {
    const end = wordEnd(text, start + PASSAGE_CHARACTERS);
    const words = text.slice(start, end).trim();
    passages.push(`${start > 0 ? '…' : ''}${words}${end < text.length ? '…' : ''}`);
    if (end === text.length) break;
    start = wordEnd(text, start + PASSAGE_CHARACTERS / 2);
  }
  return passages;
}

/** The end of the word at a position if it is near, else the position. */
function wordEnd(text: string, at: number): number {
  const near = text.slice(at, at + WORD_REST_CHARACTERS);
  const space = near.indexOf(' ');
  if (space >= 0) return at + space;
  return near.length < WORD_REST_CHARACTERS ? text.length : wholeAt(text, at);
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
