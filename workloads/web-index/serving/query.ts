/**
 * What a searcher typed, as an expression of FTS5's query language.
 *
 * The text is untrusted, and the language has operators, columns, brackets and syntax errors. So
 * each word becomes a phrase in quotes, in which nothing but the quote is special, and the
 * operators between them are ours. FTS5 splits a phrase as it splits pages: `sqlite3_open` finds
 * the words `sqlite3` and `open` next to each other. What the searcher quotes stays together, too.
 */
import { withoutSoftHyphens } from '../../crawl-rate/documents/visible-text.ts';
import { withWordEnds } from './words.ts';

/** Phrases that count. More cost time and hardly change what is found. */
export const PHRASES_MAX = 32;
/** Characters that are looked at; a longer query is cut, not refused. */
const CHARACTERS_MAX = 1_000;

/** The phrases of the text, in order, each once. Empty if FTS5 finds no word in it. */
export function phrasesOf(typed: string): readonly string[] {
  // FTS5 would end the expression at a NUL.
  const typedText = typed.slice(0, CHARACTERS_MAX).toWellFormed().replaceAll('\0', ' ');
  const text = withoutSoftHyphens(typedText);
  const found = [...text.matchAll(/"([^"]*)"|([^\s"]+)/gu)];
  const phrases = found.map(([, quoted, word]) => quoted ?? word ?? '').filter(hasWord);
  return [...new Set(phrases)].slice(0, PHRASES_MAX);
}

/** Pages with all phrases, or with any of them. */
export function expressionOf(phrases: readonly string[], joined: 'AND' | 'OR'): string {
  return phrases
    .map((phrase) => `"${withWordEnds(phrase).replaceAll('"', '""')}"`)
    .join(` ${joined} `);
}

/** FTS5 makes words only of letters, digits and private-use characters. */
export function hasWord(phrase: string): boolean {
  return /[\p{L}\p{N}\p{Co}]/u.test(phrase);
}
