/**
 * The captures of WARC files, gzipped or not, in the order in which they lie in the files.
 *
 * Each record that is damaged or against the limits (limits.ts) is reported and left out. Records
 * that are no HTTP response are left out without a word: requests, metadata, and revisits, which
 * hold no page.
 *
 * Some crawlers write dates that no program reads. Such a capture has the date of its file's
 * warcinfo record, or the one that the server named, or that of the year 1970: it is better found
 * late in the order than not at all. Each file says once how many there are.
 */
import { parseHttpResponse } from '../../crawl-rate/documents/http-response.ts';
import {
  type Damage,
  readRecords,
  type WarcRecord,
  withoutBrackets,
} from '../../crawl-rate/documents/warc-records.ts';
import { type Capture, kindOf, webUrl } from './capture.ts';
import { BODY_BYTES_MAX } from './limits.ts';

export { type Damage, describeDamage } from '../../crawl-rate/documents/warc-records.ts';

export interface ReadOptions {
  /** Called for each record that is left out. */
  readonly onDamage: (damage: Damage) => void;
  /** Called with a sentence about a file that was read with a doubt. */
  readonly onNote?: ((sentence: string) => void) | undefined;
}

/** @throws UsageError for a file that cannot be read, or is no WARC */
export async function* readCaptures(
  files: readonly string[],
  { onDamage, onNote = () => {} }: ReadOptions,
): AsyncGenerator<Capture> {
  let ordinal = 0;
  for (const file of files) {
    const dates = new Dates();
    for await (const record of readRecords(file, onDamage)) {
      ordinal++;
      dates.see(record);
      if (record.header('warc-type') !== 'response') continue;
      const read = captureOf(record, ordinal, dates);
      if (typeof read === 'string') onDamage({ file, record: record.number, problem: read });
      else if (read !== undefined) yield read;
    }
    if (dates.guessed > 0) onNote(dates.note(file));
  }
}

/** When the captures of a file were made. */
class Dates {
  /** Captures whose own date cannot be read. */
  guessed = 0;
  #ofFile = Number.NaN;

  see(record: WarcRecord): void {
    if (record.header('warc-type') !== 'warcinfo') return;
    this.#ofFile = Date.parse(record.header('warc-date'));
  }

  of(record: WarcRecord, serversDate: string): number {
    const own = Date.parse(record.header('warc-date'));
    if (!Number.isNaN(own)) return own;
    this.guessed++;
    return [this.#ofFile, Date.parse(serversDate), 0].find((one) => !Number.isNaN(one)) ?? 0;
  }

  note(file: string): string {
    const captures = `${this.guessed} ${this.guessed === 1 ? 'capture does' : 'captures do'}`;
    return `${JSON.stringify(file)}: ${captures} not say when they were made; the date of the file's warcinfo record, or that of the server, or 1970 counts`;
  }
}

/** The capture; undefined if the record is not about HTTP; or why it is left out. */
function captureOf(
  record: WarcRecord,
  ordinal: number,
  dates: Dates,
): Capture | string | undefined {
  const response = parseHttpResponse(record.block);
  if (response === undefined) return undefined;
  const url = webUrl(withoutBrackets(record.header('warc-target-uri')));
  if (url === undefined) return 'has no http or https URL, or one that is too long';
  const text = (name: string): string => (response.headers.get(name) ?? '').slice(0, 4_096);
  const head = {
    url,
    timeMs: dates.of(record, text('date')),
    ordinal,
    status: response.status,
    contentType: '',
    contentLanguage: text('content-language'),
    location: text('location'),
  };
  const content =
    response.status === 200 && response.readContent((contentType) => hasBody(head, contentType));
  if (typeof content === 'string') return content;
  if (content === undefined || content === false) return { ...head, body: Buffer.alloc(0) };
  const { contentType, contents: body } = content;
  if (body.length > BODY_BYTES_MAX) return `has a body of ${body.length} bytes, which is too large`;
  return { ...head, contentType, body };
}

/** Whether what is at an address counts, if it is of this type. */
function hasBody(head: Omit<Capture, 'body'>, contentType: string): boolean {
  return ['page', 'resource'].includes(kindOf({ ...head, contentType }));
}
