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
 * What is damaged is reported and left out (warc-records.ts), as is a page whose body cannot be
 * unpacked.
 */
import { parseHttpResponse } from './http-response.ts';
import { type Damage, readRecords, type WarcRecord } from './warc-records.ts';

export type CrawlRecord =
  | {
      readonly kind: 'page';
      readonly url: string;
      /** As the server and the contents tell it, with its charset if it has one. */
      readonly contentType: string;
      /** Without chunks and compression. */
      readonly contents: Buffer;
    }
  | { readonly kind: 'redirect'; readonly url: string; readonly target: string }
  | { readonly kind: 'failure'; readonly url: string; readonly status: number }
  | { readonly kind: 'not-html'; readonly url: string }
  | { readonly kind: 'not-response' };

export type Page = Extract<CrawlRecord, { kind: 'page' }>;

/**
 * The records of the file, in order.
 * @param onDamage called for each record that is left out; by default they are not told of
 * @throws UsageError if the file cannot be read, or is no WARC
 */
export async function* readWarc(
  file: string,
  onDamage: (damage: Damage) => void = () => {},
): AsyncGenerator<CrawlRecord> {
  for await (const record of readRecords(file, onDamage)) {
    const read = classify(record);
    if (typeof read !== 'string') yield read;
    else onDamage({ file, record: record.number, problem: read });
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HTML = /^(?:text\/html|application\/xhtml\+xml)(?:;|$)/u;

/** The record, or why it is left out. */
function classify(record: WarcRecord): CrawlRecord | string {
  const isResponse = record.header('warc-type') === 'response';
  const response = isResponse ? parseHttpResponse(record.block) : undefined;
  if (response === undefined) return { kind: 'not-response' };
  // No valid URL holds a tab or a line end; document records end their fields with them.
  const url = withoutBrackets(record.header('warc-target-uri')).replaceAll(/[\t\n\r]/gu, '');
  const { status, headers } = response;
  const target = URL.parse(headers.get('location') ?? '', url)?.href;
  if (REDIRECTS.has(status) && headers.has('location') && target !== undefined) {
    return { kind: 'redirect', url, target };
  }
  if (status !== 200) return { kind: 'failure', url, status };
  const content = response.readContent((type) => HTML.test(type));
  if (typeof content === 'string') return content;
  if (content === undefined) return { kind: 'not-html', url };
  return { kind: 'page', url, ...content };
}

/** wget writes addresses as `<http://...>`. */
export function withoutBrackets(address: string): string {
  return address.replace(/^<(.*)>$/u, '$1');
}
