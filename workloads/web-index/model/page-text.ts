/**
 * Walks through an HTML page, and collects text as one line.
 *
 * White space is one space; elements end words, except for those inside of them: `un<b>do</b>` is
 * one word. NUL and broken surrogates, which some stores and libraries refuse, become spaces or
 * replacement characters.
 */
import { Parser, type Handler } from 'htmlparser2';
import { decodeText, endsWords } from '../../crawl-rate/documents/visible-text.ts';
import type { Capture } from './capture.ts';

export function parsePage(capture: Capture, handler: Partial<Handler>): void {
  new Parser(handler).end(decodeText(capture.body, capture.contentType));
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
  const line = text.replaceAll(/[\s\0]+/gu, ' ').trim();
  return (line.length > lengthMax ? line.slice(0, lengthMax) : line).toWellFormed();
}
