/**
 * The captures of WARC files, gzipped or not, in the order in which they lie in the files.
 *
 * Each record that is damaged or against the limits (limits.ts) is reported and left out. Records
 * that are no HTTP response are left out without a word: requests, metadata, and revisits, which
 * hold no page.
 */
import { decodeBody, parseHttpResponse } from '../../crawl-rate/documents/http-response.ts';
import { type Capture, kindOf } from './capture.ts';
import { BODY_BYTES_MAX } from './limits.ts';
import { webUrl } from './url.ts';
import { type Damage, readRecords, type WarcRecord } from './warc-records.ts';

export interface ReadOptions {
  /** Called for each record that is left out. */
  readonly onDamage: (damage: Damage) => void;
}

/** @throws UsageError for a file that cannot be read, or is no WARC */
export async function* readCaptures(
  files: readonly string[],
  { onDamage }: ReadOptions,
): AsyncGenerator<Capture> {
  let ordinal = 0;
  for (const file of files) {
    for await (const record of readRecords(file, onDamage)) {
      ordinal++;
      if (record.header('warc-type') !== 'response') continue;
      const read = captureOf(record, ordinal);
      if (typeof read === 'string') onDamage({ file, record: record.number, problem: read });
      else if (read !== undefined) yield read;
    }
  }
}

/** A sentence about a record that was left out. */
export function describeDamage({ file, record, problem }: Damage): string {
  return `${JSON.stringify(file)}: record ${record} ${problem}`;
}

/** The capture; undefined if the record is not about HTTP; or why it is left out. */
function captureOf(record: WarcRecord, ordinal: number): Capture | string | undefined {
  const response = parseHttpResponse(record.block);
  if (response === undefined) return undefined;
  const url = webUrl(record.header('warc-target-uri').replace(/^<(.*)>$/u, '$1'));
  if (url === undefined) return 'has no http or https URL, or one that is too long';
  const timeMs = Date.parse(record.header('warc-date'));
  if (Number.isNaN(timeMs)) return 'does not say when it was made';
  const text = (name: string): string => (response.headers.get(name) ?? '').slice(0, 4_096);
  const head = {
    url,
    timeMs,
    ordinal,
    status: response.status,
    contentType: text('content-type'),
    contentLanguage: text('content-language'),
    location: text('location'),
  };
  const kind = kindOf(head);
  if (kind !== 'page' && kind !== 'resource') return { ...head, body: Buffer.alloc(0) };
  const body = decodeBody(response);
  if (body === undefined) return 'has a body that unpacks to too much';
  if (body.length > BODY_BYTES_MAX) return `has a body of ${body.length} bytes, which is too large`;
  return { ...head, body };
}
