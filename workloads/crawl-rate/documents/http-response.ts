/**
 * The HTTP response inside a WARC record: status, headers, and the body as the author wrote it.
 *
 * A WARC keeps the bytes of the wire, so the body may be chunked (Transfer-Encoding) and compressed
 * (Content-Encoding). This file undoes both; otherwise the same page served in two ways would look
 * like two pages. Many crawlers store the body already decoded but keep the original headers, so a
 * body that does not decode is taken as it is, and is not an error.
 */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

export interface HttpResponse {
  readonly status: number;
  /** By lower-case name. If a header is repeated, the first value. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body as in the WARC; `decodeBody` undoes the encodings. */
  readonly rawBody: Buffer;
}

/** The response; undefined if the block does not begin like one. */
export function parseHttpResponse(block: Buffer): HttpResponse | undefined {
  const { head, rawBody } = splitHead(block);
  const [statusLine = '', ...lines] = head.split(/\r?\n/u);
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})\b/u.exec(statusLine)?.[1];
  if (status === undefined) return undefined;
  return { status: Number(status), headers: parseHeaders(lines), rawBody };
}

/**
 * The body without chunks and compression, as far as they can be undone; undefined if it would
 * unpack to too much.
 */
export function decodeBody({ headers, rawBody }: HttpResponse): Buffer | undefined {
  const chunked = /\bchunked\b/iu.test(headers.get('transfer-encoding') ?? '');
  const encodings = (headers.get('content-encoding') ?? '').toLowerCase().split(/\s*,\s*/u);
  const body = chunked ? joinChunks(rawBody) : rawBody;
  // The encoding applied last is named last, and undone first.
  return encodings
    .toReversed()
    .reduce<Buffer | undefined>((bytes, encoding) => bytes && decompress(bytes, encoding), body);
}

/**
 * Servers end lines with CR LF, some with LF alone. The first blank line of either form ends the
 * head.
 */
function splitHead(block: Buffer): { head: string; rawBody: Buffer } {
  const ends = ['\r\n\r\n', '\n\n']
    .map((blank) => ({ at: block.indexOf(blank), length: blank.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at);
  const end = ends[0] ?? { at: block.length, length: 0 };
  return {
    head: block.toString('latin1', 0, end.at),
    rawBody: block.subarray(end.at + end.length),
  };
}

function parseHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

/** `<size in hexadecimal> [; extension] CR LF <size bytes> CR LF`, ended by a chunk of size 0. */
function joinChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let start = 0;
  for (;;) {
    const lineEnd = body.indexOf('\r\n', start);
    const size = /^([\da-f]{1,8})\s*(?:;.*)?$/iu.exec(
      body.toString('latin1', start, Math.max(start, lineEnd)).trim(),
    )?.[1];
    if (size === undefined) {
      const isCutOff = lineEnd < 0 && chunks.length > 0;
      return isCutOff ? Buffer.concat(chunks) : body;
    }
    const chunkStart = lineEnd + 2;
    const chunkEnd = chunkStart + Number.parseInt(size, 16);
    if (chunkEnd === chunkStart) return Buffer.concat(chunks);
    chunks.push(body.subarray(chunkStart, chunkEnd));
    start = chunkEnd + 2;
  }
}

/** Bodies that would unpack to more than this are not unpacked: such a page is an attack. */
const UNPACKED_BYTES_MAX = 2 ** 27;

const DECOMPRESSORS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: (body) => gunzipSync(body, { maxOutputLength: UNPACKED_BYTES_MAX }),
  'x-gzip': (body) => gunzipSync(body, { maxOutputLength: UNPACKED_BYTES_MAX }),
  deflate: (body) => inflateSync(body, { maxOutputLength: UNPACKED_BYTES_MAX }),
  br: (body) => brotliDecompressSync(body, { maxOutputLength: UNPACKED_BYTES_MAX }),
  zstd: (body) => zstdDecompressSync(body, { maxOutputLength: UNPACKED_BYTES_MAX }),
};

function decompress(body: Buffer, encoding: string): Buffer | undefined {
  try {
    return DECOMPRESSORS[encoding]?.(body) ?? body;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    return body; // Stored decoded, or cut off: compare the bytes as they are.
  }
}
