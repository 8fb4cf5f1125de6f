/**
 * The HTTP response inside a WARC record, read as browsers read it: status, headers, and the body
 * as the author wrote it.
 *
 * Servers write heads in many ways, and crawlers store them as they came. So interim answers (`100
 * Continue`) are passed over, a header may go on in the next line, lines may end with LF alone, and
 * bytes are UTF-8 wherever they can be.
 */
import { isUtf8 } from 'node:buffer';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { computedMIMEType, MIMEType } from 'whatwg-mimetype';
import { headerLength } from './unpacked-file.ts';

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

/*
 * The body of a response as its author wrote it.
 *
 * A WARC keeps the bytes of the wire, so a body may be in chunks (Transfer-Encoding) and packed
 * (Content-Encoding, and rarely Transfer-Encoding). If these stayed, a page that is served in two
 * ways would look like two pages. What browsers unpack is unpacked: raw deflate, the beginning of
 * what was cut off, gzip with a wrong checksum or with other bytes after its end. Many crawlers
 * store a body already unpacked but keep the original headers, so a body that does not unpack is
 * taken as it is, if it is text. Packed bytes are never taken for text.
 */

/**
 * The body without chunks and compression, or why there is none, as the end of a sentence that
 * begins with the record.
 */
function decodeBody(headers: ReadonlyMap<string, string>, rawBody: Buffer): Buffer | string {
  const transfer = codingsOf(headers.get('transfer-encoding'));
  // The encoding applied last is named last, and undone first.
  const codings = [...codingsOf(headers.get('content-encoding')), ...transfer].toReversed();
  let body = transfer.includes('chunked') ? joinChunks(rawBody) : rawBody;
  try {
    for (const coding of codings) {
      const unpacked = unpack(body, coding);
      if (unpacked === undefined) return `has a body in ${coding} that does not unpack`;
      body = unpacked;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    return 'has a body that unpacks to too much';
  }
  return headerLength(body) === undefined
    ? body
    : 'has a body that is packed once more than it says';
}

/** The codings of a header, which some servers put in quotes; `chunked` is one that is undone. */
function codingsOf(header = ''): readonly string[] {
  return header
    .toLowerCase()
    .split(/[\s,"']+/u)
    .filter((coding) => !PLAIN.has(coding));
}

const PLAIN: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8']);

/** Undefined if the body does not unpack, and is no text either. */
function unpack(body: Buffer, coding: string): Buffer | undefined {
  if (coding === 'chunked' || body.length === 0) return body;
  const { whole = [], beginning = [] } = UNPACKERS[coding] ?? {};
  const unpacked = tryEach(whole, body);
  if (unpacked !== undefined || isText(body)) return unpacked ?? body;
  const start = tryEach(beginning, body);
  return start?.length === 0 ? undefined : start;
}

type Unpacker = (body: Buffer) => Buffer;

/** What unpacks a body that is as it should be, and the beginning of one that is not. */
interface Unpacking {
  readonly whole: readonly Unpacker[];
  readonly beginning: readonly Unpacker[];
}

/** Bodies that would unpack to more than this are not unpacked: such a page is an attack. */
const maxOutputLength: number = 2 ** 27;
const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = constants;
const CUT_OFF = { maxOutputLength, finishFlush: Z_SYNC_FLUSH } as const;

const GZIP: Unpacking = {
  whole: [(body) => gunzipSync(body, { maxOutputLength })],
  beginning: [gunzipBeginning],
};
const UNPACKERS: Readonly<Record<string, Unpacking>> = {
  gzip: GZIP,
  'x-gzip': GZIP,
  deflate: {
    whole: [inflateSync, inflateRawSync].map(
      (inflate) => (body) => inflate(body, { maxOutputLength }),
    ),
    beginning: [inflateSync, inflateRawSync].map((inflate) => (body) => inflate(body, CUT_OFF)),
  },
  br: {
    whole: [(body) => brotliDecompressSync(body, { maxOutputLength })],
    beginning: [
      (body) =>
        brotliDecompressSync(body, { maxOutputLength, finishFlush: BROTLI_OPERATION_FLUSH }),
    ],
  },
  zstd: {
    whole: [(body) => zstdDecompressSync(body, { maxOutputLength })],
    beginning: [(body) => zstdDecompressSync(body, { maxOutputLength, finishFlush: ZSTD_e_flush })],
  },
};

function tryEach(unpackers: readonly Unpacker[], body: Buffer): Buffer | undefined {
  for (const unpacker of unpackers) {
    try {
      return unpacker(body);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw error;
    }
  }
  return undefined;
}

/** The first member, as far as it goes, whatever its checksum says and whatever follows it. */
function gunzipBeginning(body: Buffer): Buffer {
  return inflateRawSync(body.subarray(headerLength(body) ?? body.length), CUT_OFF);
}

/** Where the MIME Sniffing standard looks for bytes that no text has. */
const SNIFFED_BYTES = 1_445;
/** Tab, line feed, form feed, carriage return, escape. */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b]);

function isText(body: Buffer): boolean {
  const start = body.subarray(0, SNIFFED_BYTES);
  if (/^(?:\xFE\xFF|\xFF\xFE)/u.test(start.toString('latin1', 0, 2))) return true; // UTF-16
  return start.every((byte) => byte >= 0x20 || TEXT_CONTROLS.has(byte));
}

const SIZE_LINE = /^0*([\da-f]{1,8})\s*(?:;[^\n]*)?\r?\n/iu;
const SIZE_LINE_BYTES_MAX = 4_096;
/** What follows the chunk of size 0: the end, an empty line, or trailers. */
const AFTER_LAST = /^(?:$|\r?\n|[\w-]+:)/u;

/**
 * `<size in hexadecimal> [; extension] line end <size bytes> line end`, ended by a chunk of size 0,
 * or cut off. A body of any other form was stored without its chunks, and is taken as it is.
 */
function joinChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  const startsEmpty = /^[\r\n]*/u.exec(body.toString('latin1', 0, 8))?.[0].length ?? 0;
  for (let at = startsEmpty; at < body.length;) {
    const lineFeed = body.indexOf('\n', at);
    const lineMax = Math.min(lineFeed + 1, at + SIZE_LINE_BYTES_MAX);
    const line = SIZE_LINE.exec(body.toString('latin1', at, lineMax));
    if (line === null) {
      const isCutOff = chunks.length > 0 && lineFeed < 0;
      return isCutOff ? Buffer.concat(chunks) : body;
    }
    const start = at + line[0].length;
    const end = start + Number.parseInt(line[1] ?? '', 16);
    const after = body.toString('latin1', end, end + 80);
    if (end === start) return AFTER_LAST.test(after) ? Buffer.concat(chunks) : body;
    chunks.push(body.subarray(start, end));
    if (end > body.length) return isCutOffIn(chunks, line[0]) ? Buffer.concat(chunks) : body;
    const lineEnd = /^(?:\r?\n|\r?$)/u.exec(after);
    if (lineEnd === null) return body;
    at = end + lineEnd[0].length;
  }
  return chunks.length > 0 ? Buffer.concat(chunks) : body;
}

/** A page may begin with a number in a line of its own, but hardly with CR LF after it. */
function isCutOffIn(chunks: readonly Buffer[], sizeLine: string): boolean {
  return chunks.length > 1 || sizeLine.endsWith('\r\n');
}
