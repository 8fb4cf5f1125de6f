/**
 * The visible text of an HTML page, as one line. Two pages with the same words in the same order
 * have the same visible text, whatever their markup, scripts and white space.
 *
 * The title counts; comments and the contents of `script`, `style`, `template` and `noscript` do
 * not. Elements end words, except for inline elements (`<b>`, `<a>`...): `un<b>do</b>` is one word.
 * There is no layout, so text that a style sheet hides counts as visible.
 */
import { TextDecoder } from 'node:util';
import { Parser } from 'htmlparser2';

/** The visible text of a page; `contentType` is that of the server, for its charset. */
export function visibleText(contents: Uint8Array, contentType: string): string {
  const pieces: string[] = [];
  let hiddenDepth = 0;
  const boundary = (name: string): void => {
    if (endsWords(name)) pieces.push(' ');
  };
  const parser = new Parser({
    onopentagname(name) {
      if (isHidden(name)) hiddenDepth++;
      boundary(name);
    },
    ontext(text) {
      if (hiddenDepth === 0) pieces.push(text);
    },
    onclosetag(name) {
      if (isHidden(name)) hiddenDepth--;
      boundary(name);
    },
  });
  parser.end(decodeText(contents, contentType));
  return pieces.join('').replaceAll(/\s+/gu, ' ').trim();
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

/** Bytes of a page in which to look for its own charset declaration, as browsers do. */
const CHARSET_BYTES = 1024;
const CONTENT_TYPE_CHARSET = /charset\s*=\s*["']?\s*([\w-]+)/iu;
const META_CHARSET = /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/iu;

/** The text of a page or another file; see `visibleText`. */
export function decodeText(contents: Uint8Array, contentType: string): string {
  return decoderFor(charsetOf(contents, contentType)).decode(contents);
}

/** The charset from, in this order, the byte order mark, the server and the page. */
function charsetOf(contents: Uint8Array, contentType: string): string | undefined {
  const start = Buffer.from(contents.subarray(0, CHARSET_BYTES)).toString('latin1');
  if (start.startsWith('\xEF\xBB\xBF')) return 'utf-8';
  if (start.startsWith('\xFE\xFF')) return 'utf-16be';
  if (start.startsWith('\xFF\xFE')) return 'utf-16le';
  return CONTENT_TYPE_CHARSET.exec(contentType)?.[1] ?? declaredIn(start);
}

/**
 * A page whose declaration can be read as ASCII is not in UTF-16, whatever the declaration says;
 * browsers ignore such a declaration, too.
 */
function declaredIn(start: string): string | undefined {
  const charset = META_CHARSET.exec(start)?.[1];
  return decoderFor(charset).encoding.startsWith('utf-16') ? undefined : charset;
}

/** UTF-8 if there is no charset, or if it is unknown. */
function decoderFor(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
