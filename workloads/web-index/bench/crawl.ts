/**
 * The crawl of the bench: copies of a real crawl on hosts of their own, and editions of its pages.
 *
 * A page says at its end which copy and which edition it is. So copies are no duplicates of each
 * other, every recrawl changes its page, and a result tells which edition it shows. The first
 * documents are crawled repeatedly, in turn; the others are crawled once.
 */
import { type Capture, kindOf, readCaptures } from '../model/index.ts';

export interface BenchCrawl {
  readonly documents: number;
  /** How many of them are crawled again. */
  readonly recrawled: number;
  /** All documents, before the first recrawl. */
  repository(): Captures;
  /** The capture of the recrawl with this number, from 0. */
  recrawl(arrival: number): Capture;
  /** Which edition of its page that recrawl brings; from 1. */
  editionAt(arrival: number): number;
  /** Documents that no recrawl changes. */
  unchanged(): Captures;
}

type Captures = Generator<Capture>;

export interface CrawlSize {
  /** WARC file that is copied. */
  readonly file: string;
  readonly documents: number;
  readonly recrawled: number;
}

/** A moment of the crawler's clock; its value means nothing. */
const FIRST_MS = Date.UTC(2026, 0, 1);

export async function openBenchCrawl({
  file,
  documents,
  recrawled,
}: CrawlSize): Promise<BenchCrawl> {
  const captures = await Array.fromAsync(readCaptures([file], { onDamage: () => {} }));
  const pages = captures.filter((capture) => kindOf(capture) === 'page');
  const capture = (document: number, edition: number, ordinal: number): Capture => {
    const page = pages[document % pages.length] as Capture;
    const copy = Math.floor(document / pages.length);
    const url = urlOf(page.url, copy);
    const mark = `<p>Copy ${copy}, edition ${edition}.</p>`;
    const body = Buffer.concat([page.body, Buffer.from(mark)]);
    return { ...page, url, body, ordinal, timeMs: FIRST_MS + ordinal };
  };
  const editionAt = (arrival: number): number => 1 + Math.floor(arrival / recrawled);
  function* firsts(from: number): Captures {
    for (let document = from; document < documents; document++) {
      yield capture(document, 0, document);
    }
  }
  return {
    documents,
    recrawled,
    repository: () => firsts(0),
    recrawl: (arrival) => capture(arrival % recrawled, editionAt(arrival), documents + arrival),
    editionAt,
    unchanged: () => firsts(recrawled),
  };
}

/** The edition that a result shows; undefined if its text does not end with this crawl's mark. */
export function editionOf(text: string): number | undefined {
  const [, edition] = /Copy \d+, edition (\d+)\.$/.exec(text.slice(-60)) ?? [];
  return edition === undefined ? undefined : Number(edition);
}

function urlOf(original: string, copy: number): string {
  const url = new URL(original);
  if (copy > 0) url.hostname = `copy${copy}.${url.hostname}`;
  return url.href;
}
