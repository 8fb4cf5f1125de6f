/**
 * A real crawl as documents for the experiment.
 *
 * The files are read twice. The first pass collects the redirects, which may come after the pages
 * they concern, counts the records, and reports those that are damaged and left out. The second
 * pass makes the documents, one at a time, so that a crawl may be larger than memory.
 *
 * Pages are numbered in the order of the files, and these numbers are their ids.
 */
import { UsageError } from '#results';
import { documentId, type Document } from './document.ts';
import { keysOfPage, Redirects } from './page-keys.ts';
import { readWarc, type CrawlRecord } from './warc.ts';
import type { Damage } from './warc-records.ts';

export interface Crawl {
  /** The number of records of each kind (see warc.ts). */
  readonly records: RecordCounts;
  /** The records that are left out, and why. */
  readonly damages: readonly Damage[];
  /** All pages as documents, from the first. May be called again. */
  documents(): AsyncGenerator<Document>;
}

type RecordCounts = Readonly<Record<CrawlRecord['kind'], number>>;

/** Throws a `UsageError` if a file cannot be read, or if no file has a page. */
export async function openCrawl(files: readonly string[]): Promise<Crawl> {
  const redirects = new Redirects();
  const records = { page: 0, redirect: 0, failure: 0, 'not-html': 0, 'not-response': 0 };
  const damages: Damage[] = [];
  for await (const record of readAll(files, (damage) => void damages.push(damage))) {
    records[record.kind]++;
    if (record.kind === 'redirect') redirects.add(record.url, record.target);
  }
  if (records.page === 0) throw withoutPages(files);
  async function* documents(): AsyncGenerator<Document> {
    let arrival = 0;
    for await (const record of readAll(files, () => {})) {
      if (record.kind !== 'page') continue;
      const { url, contents } = record;
      yield { id: documentId(arrival++), url, keys: keysOfPage(record, redirects), contents };
    }
  }
  return { records, damages, documents };
}

function withoutPages(files: readonly string[]): UsageError {
  const names = files.map((file) => JSON.stringify(file)).join(' or ');
  return new UsageError(
    `--input must be a WARC file with pages, but no response in ${names} has status 200 and an HTML content type.`,
  );
}

async function* readAll(
  files: readonly string[],
  onDamage: (damage: Damage) => void,
): AsyncGenerator<CrawlRecord> {
  for (const file of files) yield* readWarc(file, onDamage);
}
