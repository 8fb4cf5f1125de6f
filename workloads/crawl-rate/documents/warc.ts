/**
 * Reads a WARC file, plain or gzipped, as a stream of crawl records.
 *
 *   page          a response with status 200 and an HTML content type
 *   redirect      a response with status 301, 302, 303, 307 or 308 that names its target
 *   failure       a response with any other status, 404 above all
 *   not-html      a response with status 200 and other content: a picture, a style sheet
 *   not-response  a record about the crawl: request, metadata, and revisits, which hold no page;
 *                 or a response that is not HTTP
 *
 * The gzip form has one member per record (wget, Heritrix, Common Crawl) or one for all. The file
 * is unpacked before the search for records, because zlib, unlike the WARC parser's own inflater,
 * notices a file that was cut off or damaged. A damaged file is never repaired: reading stops with
 * one `UsageError` that names the file, the record and the byte.
 *
 * One record of any size is held in memory at a time.
 */
import { AsyncIterReader, WARCParser, type WARCRecord } from 'warcio';
import { UsageError } from '#results';
import { decodeBody, parseHttpResponse } from './http-response.ts';
import { readUnpacked } from './unpacked-file.ts';

export type CrawlRecord =
  | {
      readonly kind: 'page';
      readonly url: string;
      /** The server's content type, with its charset if it has one. */
      readonly contentType: string;
      /** Without chunks and compression, as far as they can be undone. */
      readonly contents: Buffer;
    }
  | { readonly kind: 'redirect'; readonly url: string; readonly target: string }
  | { readonly kind: 'failure'; readonly url: string; readonly status: number }
  | { readonly kind: 'not-html'; readonly url: string }
  | { readonly kind: 'not-response' };

export type Page = Extract<CrawlRecord, { kind: 'page' }>;

/** The records of the file, in order. Throws a `UsageError` of one sentence at the first damage. */
export async function* readWarc(file: string): AsyncGenerator<CrawlRecord> {
  const place: FilePosition = { file, record: 0, byte: 0 };
  const bytes = readUnpacked(file);
  try {
    const reader = new AsyncIterReader(bytes, null);
    for (;;) {
      const record = await namingPlace(place, () => nextRecord(reader, place));
      if (record === undefined) return;
      yield record;
    }
  } finally {
    await bytes.return(undefined); // Closes the file for a caller that stops early.
  }
}

/** The current position, for the sentence about a damaged file. */
interface FilePosition {
  readonly file: string;
  /** Counted from 1. */
  record: number;
  /** Where the record begins, in the unpacked file. */
  byte: number;
}

async function nextRecord(
  reader: AsyncIterReader,
  place: FilePosition,
): Promise<CrawlRecord | undefined> {
  place.byte = reader.getReadOffset();
  place.record++;
  // A new parser for every record: a parser that reads on would skip damage between records.
  const record = await new WARCParser(reader, { parseHttp: false }).parse();
  if (record === null && reader.getReadOffset() === place.byte) return undefined;
  if (record?.warcHeaders.statusline.startsWith('WARC/') !== true) {
    throw new Damage('does not begin with "WARC/"');
  }
  const length = lengthOf(record);
  const block = await readBlock(record, length);
  if (block.length < length) {
    throw new Damage(`is cut off: it promises ${length} bytes and only ${block.length} are there`);
  }
  const separator = Buffer.from(await reader.readSize(4)).toString('latin1');
  if (!'\r\n\r\n'.startsWith(separator)) {
    throw new Damage(`does not end after the ${length} bytes that it promises`);
  }
  return classify(record, block);
}

function lengthOf(record: WARCRecord): number {
  const length = record.warcHeader('Content-Length') ?? '';
  if (!/^\d+$/u.test(length)) throw new Damage('does not say its length');
  return Number(length);
}

async function readBlock(record: WARCRecord, length: number): Promise<Buffer> {
  if (length === 0) return Buffer.alloc(0);
  const block = await record.readFully(false);
  return Buffer.from(block.buffer, block.byteOffset, block.byteLength);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/iu;

function classify(record: WARCRecord, block: Buffer): CrawlRecord {
  const response = record.warcType === 'response' ? parseHttpResponse(block) : undefined;
  if (response === undefined) return { kind: 'not-response' };
  // No valid URL holds a tab or a line end; document records end their fields with them.
  const url = (record.warcTargetURI ?? '').replaceAll(/[\t\n\r]/gu, '');
  const { status, headers } = response;
  const target = URL.parse(headers.get('location') ?? '', url)?.href;
  if (REDIRECTS.has(status) && headers.has('location') && target !== undefined) {
    return { kind: 'redirect', url, target };
  }
  if (status !== 200) return { kind: 'failure', url, status };
  const contentType = headers.get('content-type') ?? '';
  if (!HTML.test(contentType)) return { kind: 'not-html', url };
  // A body that would unpack to too much stays packed.
  const contents = decodeBody(response) ?? response.rawBody;
  return { kind: 'page', url, contentType, contents };
}

/** The fault of a record, as the end of the sentence that begins with its place. */
class Damage extends Error {}

/** Runs one step of reading, and turns an error into the sentence that names the place. */
async function namingPlace<T>(place: FilePosition, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { file, record, byte } = place;
    const reason = error instanceof Error ? error.message : String(error);
    const problem = error instanceof Damage ? reason : `cannot be unpacked or read (${reason})`;
    throw new UsageError(
      `${JSON.stringify(file)} is damaged: record ${record}, at byte ${byte} of the unpacked file, ${problem}.`,
      { cause: error },
    );
  }
}
