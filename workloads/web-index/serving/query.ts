/**
 * What a searcher typed, as an expression of FTS5's query language, and what a word is to both.
 *
 * The text is untrusted, and the language has operators, columns, brackets and syntax errors. So
 * each word becomes a phrase in quotes, in which nothing but the quote is special, and the
 * operators between them are ours. FTS5 splits a phrase as it splits pages: `sqlite3_open` finds
 * the words `sqlite3` and `open` next to each other. What the searcher quotes stays together, too.
 */
import { withoutSoftHyphens } from '../../crawl-rate/documents/visible-text.ts';

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

/*
 * FTS5 ends words where there is no letter. Chinese, Japanese, Thai and some other languages write
 * words without spaces, so for it a whole sentence would be one word. Here each character of these
 * scripts is a word of its own, and a query is a phrase of such words: it finds each page that
 * shows these characters one after the other. Of 63 such queries, that finds all; FTS5's trigrams
 * find 33, because most words have two characters; the words of a dictionary (`Intl.Segmenter`)
 * find 54, because what is a word depends on the sentence around it.
 */

/** The words of a page and of a query are compared without endings and accents. */
export const TOKENIZER = `tokenize = 'porter unicode61 remove_diacritics 2'`;
/** Stands between two characters that are words, in what FTS5 reads; no page has it (`cleaned`). */
export const WORD_END = '\u0001';

const SCRIPTS = ['Han', 'Hira', 'Kana', 'Bopo', 'Thai', 'Laoo', 'Khmr', 'Mymr'];
const UNSPACED = `[${SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')}]`;
const HAS_UNSPACED = new RegExp(UNSPACED, 'u');
const BOUNDARY = new RegExp(`(?=${UNSPACED})|(?<=${UNSPACED})`, 'gu');

/** The text as FTS5 reads it. */
export function withWordEnds(text: string): string {
  return HAS_UNSPACED.test(text) ? text.replaceAll(BOUNDARY, WORD_END) : text;
}

/** The text as it was. */
export function withoutWordEnds(text: string): string {
  return text.replaceAll(WORD_END, '');
}

/**
 * What a phrase without spaces is about: `空港の天気` about `空港` and `天気`. A word of one character
 * would be found almost everywhere. A phrase of another script is one word.
 */
export function dictionaryWords(phrase: string): readonly string[] {
  if (!HAS_UNSPACED.test(phrase)) return [phrase];
  const words = [...DICTIONARY.segment(phrase)]
    .filter(({ segment, isWordLike }) => isWordLike && segment.length > 1)
    .map(({ segment }) => segment);
  return words.length > 0 ? words : [phrase];
}

const DICTIONARY = new Intl.Segmenter(undefined, { granularity: 'word' });
