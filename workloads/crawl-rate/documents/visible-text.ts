/**
 * The visible text of an HTML page, as one line. Two pages with the same words in the same order
 * have the same visible text, whatever their markup, scripts and white space.
 *
 * The title counts; comments and the contents of `script`, `style`, `template` and `noscript` do
 * not. Elements end words, except for inline elements (`<b>`, `<a>`...): `un<b>do</b>` is one word.
 * There is no layout, so text that a style sheet hides counts as visible.
 */
import { isUtf8 } from 'node:buffer';
import { legacyHookDecode } from '@exodus/bytes/encoding.js';
import sniffEncoding from 'html-encoding-sniffer';
import { Parser, type ParserOptions } from 'htmlparser2';
import { MIMEType } from 'whatwg-mimetype';

/** The visible text of a page; `contentType` is that of the server, for its charset. */
export function visibleText(contents: Uint8Array, contentType: string): string {
  const pieces: string[] = [];
  let hiddenDepth = 0;
  const boundary = (name: string): void => {
    if (endsWords(name)) pieces.push(' ');
  };
  const handler = {
    onopentagname(name: string): void {
      if (isHidden(name)) hiddenDepth++;
      boundary(name);
    },
    ontext(text: string): void {
      if (hiddenDepth === 0) pieces.push(text);
    },
    onclosetag(name: string): void {
      if (isHidden(name)) hiddenDepth--;
      boundary(name);
    },
  };
  const parser = new Parser(handler, parserOptions(contentType));
  parser.end(decodeText(contents, contentType));
  return withoutSoftHyphens(pieces.join('')).replaceAll(/\s+/gu, ' ').trim();
}

/** How a page is parsed: in XHTML `<script/>` is a whole element, in HTML it is never closed. */
export function parserOptions(contentType: string): ParserOptions {
  const isXhtml = MIMEType.parse(contentType)?.isXML() === true;
  return { recognizeSelfClosing: isXhtml, recognizeCDATA: isXhtml };
}

/** A soft hyphen says where a word may be broken; it is not a part of the word, and ends none. */
export function withoutSoftHyphens(text: string): string {
  return text.replaceAll('\u00AD', '');
}

/** Whether the contents of an element are never visible. */
export function isHidden(name: string): boolean {
  return HIDDEN.has(name);
}

/** Whether the beginning and the end of an element separate words. */
export function endsWords(name: string): boolean {
  return !INSIDE_WORDS.has(name);
}

const HIDDEN: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript']);

const INSIDE_WORDS: ReadonlySet<string> = new Set(
  `a abbr b bdi bdo big cite code del dfn em font i ins kbd mark
  q s samp small span strike strong sub sup tt u var wbr`.split(/\s+/u),
);

/**
 * The text of a page or another file, in the charset in which browsers would read it: that of the
 * byte order mark, of the server, or of the page. A file that names none is in UTF-8 if it can be,
 * and otherwise in windows-1252, as browsers assume of old pages.
 */
export function decodeText(contents: Uint8Array, contentType: string): string {
  const type = MIMEType.parse(contentType);
  const options = {
    // XML names its charset in its declaration; style sheets and scripts have none of their own.
    xml: type?.isHTML() === false,
    transportLayerEncodingLabel: type?.parameters.get('charset'),
    defaultEncoding: isUtf8(withoutLastCharacter(contents)) ? 'UTF-8' : 'windows-1252',
  };
  return legacyHookDecode(contents, sniffEncoding(contents, options));
}

/** A page may have been cut off within a character. */
function withoutLastCharacter(contents: Uint8Array): Uint8Array {
  const end = contents.subarray(-CHARACTER_BYTES_MAX).findLastIndex((byte) => byte < 0x80);
  return end < 0 ? contents : contents.subarray(0, contents.length - CHARACTER_BYTES_MAX + end + 1);
}

const CHARACTER_BYTES_MAX = 4;
