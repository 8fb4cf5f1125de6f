/**
 * Walks through an HTML page, and collects text as one line.
 *
 * White space is one space; elements end words, except for those inside of them: `un<b>do</b>` is
 * one word, and so is `un&shy;do`. Control characters, for which JSON writes six each, become
 * spaces; broken surrogates, which some stores and libraries refuse, become replacement characters.
 */
import { Parser, type Handler } from 'htmlparser2';
import {
  decodeText,
  endsWords,
  parserOptions,
  withoutSoftHyphens,
} from '../../crawl-rate/documents/visible-text.ts';
import type { Capture } from './capture.ts';
import { NESTING_MAX } from './limits.ts';

/** Characters that are parsed between two looks at the nesting. */
const PIECE_LENGTH = 16_384;

/** Ends early where the nesting becomes too much; what is open then is not closed. */
export function parsePage(capture: Capture, handler: Partial<Handler>): void {
  let depth = 0;
  let deepest = 0;
  const measuring: Partial<Handler> = {
    ...handler,
    onopentag(...given) {
      deepest = Math.max(deepest, ++depth);
      handler.onopentag?.(...given);
    },
    onclosetag(...given) {
      depth--;
      handler.onclosetag?.(...given);
    },
  };
  const parser = new Parser(measuring, parserOptions(capture.contentType));
  const text = decodeText(capture.body, capture.contentType);
  let nesting = 0;
  for (let from = 0; from < text.length && nesting <= NESTING_MAX; from += PIECE_LENGTH) {
    deepest = depth;
    // In pieces: a tag that closes nothing takes the most time, and calls no handler.
    parser.write(text.slice(from, from + PIECE_LENGTH));
    nesting += deepest * PIECE_LENGTH;
  }
  if (nesting <= NESTING_MAX) parser.end();
}

/** Text that is collected in pieces. */
export class TextPieces {
  #pieces: string[] = [];

  add(text: string): void {
    this.#pieces.push(text);
  }

  /** An element begins or ends. */
  boundary(name: string): void {
    if (endsWords(name)) this.#pieces.push(' ');
  }

  take(lengthMax?: number): string {
    const text = oneLine(this.#pieces.join(''), lengthMax);
    this.#pieces = [];
    return text;
  }
}

export function oneLine(text: string, lengthMax: number = Number.POSITIVE_INFINITY): string {
  const line = withoutSoftHyphens(text)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return (line.length > lengthMax ? line.slice(0, lengthMax) : line).toWellFormed();
}
