/**
 * The HTTP response inside a WARC record, read as browsers read it: status, headers, and the body
 * as the author wrote it (http-body.ts).
 *
 * Servers write heads in many ways, and crawlers store them as they came. So interim answers (`100
 * Continue`) are passed over, a header may go on in the next line, lines may end with LF alone, and
 * bytes are UTF-8 wherever they can be.
 */
import { isUtf8 } from 'node:buffer';
import { computedMIMEType, MIMEType } from 'whatwg-mimetype';
import { decodeBody } from './http-body.ts';

export interface HttpResponse {
  readonly status: number;
  /** By lower-case name. Of a header that is repeated, the first value, except for lists. */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * The content, if it is of a wanted type; undefined if it is not; or why there is none, as the
   * end of a sentence that begins with the record.
   */
  readContent(isWanted: (contentType: string) => boolean): Content | string | undefined;
}

export interface Content {
  /** `text/html`, or with the charset that the server names: `text/html;charset="utf-8"`. */
  readonly contentType: string;
  /** Without chunks and compression. */
  readonly contents: Buffer;
}

/** The response; undefined if the block does not begin like one. */
export function parseHttpResponse(block: Buffer): HttpResponse | undefined {
  const { head, rawBody } = splitHead(block);
  const [statusLine = '', ...lines] = unfold(head).split('\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return undefined;
  if (status < 200 && status !== SWITCHING) return parseHttpResponse(rawBody);
  const headers = parseHeaders(lines);
  const readContent: HttpResponse['readContent'] = (isWanted) =>
    contentOf({ headers, rawBody }, isWanted);
  return { status, headers, readContent };
}

/** ICY: SHOUTcast's servers, which browsers take for HTTP. */
const STATUS_LINE = /^\s*(?:HTTP\/\d+(?:\.\d+)?|ICY)\s+(\d{3})(?!\d)/iu;
const SWITCHING = 101;

/** The first blank line ends the head, whether its lines end with CR LF or with LF alone. */
function splitHead(block: Buffer): { head: string; rawBody: Buffer } {
  const start = /^[\r\n]*/u.exec(block.toString('latin1', 0, 8))?.[0].length ?? 0;
  const ends = ['\r\n\r\n', '\n\n']
    .map((blank) => ({ at: block.indexOf(blank, start), length: blank.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at);
  const end = ends[0] ?? { at: block.length, length: 0 };
  return {
    head: block.toString('latin1', start, end.at),
    rawBody: block.subarray(end.at + end.length),
  };
}

/** A line that begins with white space goes on with the one before it. */
function unfold(head: string): string {
  return head.replaceAll('\r\n', '\n').replaceAll(/\n[\t ]+/gu, ' ');
}

/** Headers whose values are lists, which may be split over several headers. */
const LISTS: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'transfer-encoding',
]);

function parseHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = inUtf8(line.slice(colon + 1)).trim();
    const known = headers.get(name);
    if (known === undefined) headers.set(name, value);
    else if (LISTS.has(name)) headers.set(name, `${known}, ${value}`);
  }
  return headers;
}

/** The text of bytes that were read as Latin-1, for which UTF-8 was meant if they are UTF-8. */
function inUtf8(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}

function contentOf(
  { headers, rawBody }: { readonly headers: ReadonlyMap<string, string>; readonly rawBody: Buffer },
  isWanted: (contentType: string) => boolean,
): Content | string | undefined {
  const named = namedType(headers.get('content-type') ?? '');
  if (named !== undefined && !isWanted(named)) return undefined;
  const contents = decodeBody(headers, rawBody);
  if (typeof contents === 'string') return contents;
  const contentType = named ?? computedMIMEType(contents).essence;
  return isWanted(contentType) ? { contentType, contents } : undefined;
}

const VALUES = /(?:[^,"]|"(?:\\.|[^\\"])*(?:"|$))+/gu;

/**
 * The type that the server names; undefined if it names none. Of several the last one counts, and
 * it keeps the charset of an equal one before it (the Fetch standard, "extract a MIME type").
 */
function namedType(contentType: string): string | undefined {
  let essence: string | undefined;
  let charset: string | undefined;
  for (const value of contentType.slice(0, HEADER_LENGTH_MAX).match(VALUES) ?? []) {
    const type = MIMEType.parse(value);
    if (type === null || type.essence === '*/*') continue;
    charset = type.parameters.get('charset') ?? (type.essence === essence ? charset : undefined);
    ({ essence } = type);
  }
  return charset === undefined ? essence : `${essence};charset=${JSON.stringify(charset)}`;
}

const HEADER_LENGTH_MAX = 4_096;
