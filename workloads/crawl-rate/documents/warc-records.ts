/**
 * The records of a WARC file, one after the other, with what is damaged left out.
 *
 * Crawls are long and come from strangers, so each damaged record costs one report, and reading
 * goes on:
 *
 *  - A gzip member that cannot be unpacked, or has a wrong checksum, ends a stretch of the file
 *    (unpacked-file.ts). Of such a member a record counts only if another one follows it there: the
 *    last one is hit. The next stretch begins with the next member that begins like a record.
 *  - In what was unpacked, the next record is looked for at the next line that begins like one. The
 *    reader trusts no length: after a record there must be an empty line, the end, or the end of a
 *    gzip member. If there is not, it goes back to the end of the record's head, and searches line
 *    by line, instead of skipping the bytes that the head promises.
 *
 * It does not search in the block of a record that keeps its promise, however large block and head
 * are: the block is what a site has sent, and may hold what looks like records of other sites.
 *
 * Memory is bounded by `RECORD_BYTES_MAX`, whatever the file says, and time by `REREADS_MAX`.
 */
import { UsageError } from '#results';
import { parseHttpResponse } from './http-response.ts';
import { FileDamage, readUnpacked, type UnpackedPiece } from './unpacked-file.ts';

/** Bytes of the head of a WARC record: its type, URL and date. */
export const HEAD_BYTES_MAX = 65_536;
/** Bytes of a record, with the headers of its response. Longer ones are skipped, not held. */
export const RECORD_BYTES_MAX: number = 8 * 2 ** 20;
/**
 * How often a file is read far ahead in vain: from its beginning again, because a record was too
 * large and its length was wrong, or for the end of a head that has none. Fewer: after more such
 * records, what lies in the promised lengths of others is left out. More: a hostile file takes that
 * many times as long.
 */
export const REREADS_MAX = 8;

export interface WarcRecord {
  /** Counted from 1 in the file. */
  readonly number: number;
  /** By lower-case name; empty if there is none. */
  header(name: string): string;
  readonly block: Buffer;
}

/** What was left out of a file, and why. */
export interface Damage {
  readonly file: string;
  /** Counted from 1 in the file. */
  readonly record: number;
  /** Continues "record N ...". */
  readonly problem: string;
}

/** A sentence about a record that was left out. */
export function describeDamage({ file, record, problem }: Damage): string {
  return `${JSON.stringify(file)}: record ${record} ${problem}`;
}

/** @throws UsageError if the file cannot be read at all, or does not begin like a WARC */
export async function* readRecords(
  file: string,
  onDamage: (damage: Damage) => void,
): AsyncGenerator<WarcRecord> {
  let number = 0;
  for (let from: number | undefined = 0; from !== undefined;) {
    const start: number = from;
    const bytes = new ByteWindow(() => readUnpacked(file, start));
    try {
      for (;;) {
        number++;
        await bytes.skipLineEnds();
        const read = (await bytes.atEnd()) ? undefined : await readRecord(bytes);
        const end = bytes.place;
        await bytes.skipLineEnds();
        const isHit = !(await bytes.beginsRecord()) && end > bytes.damagedFrom;
        const failure = isHit || read === undefined ? await bytes.findFailure() : undefined;
        if (failure !== undefined) {
          onDamage({ file, record: number, problem: `cannot be unpacked (${failure.message})` });
          from = failure.next;
          break;
        }
        if (typeof read === 'string') onDamage({ file, record: number, problem: read });
        else if (read !== undefined) yield { ...read, number };
        else return;
      }
    } finally {
      await bytes.close();
    }
  }
}

/** The next record; or what is wrong with it: the window is then at the record after it. */
async function readRecord(bytes: ByteWindow): Promise<Omit<WarcRecord, 'number'> | string> {
  const head = await bytes.takeHead();
  if (head === undefined) {
    return skipTo(bytes, 'does not begin like one, or has a head that does not end');
  }
  const headers = parseHead(head);
  const header = (name: string): string => headers.get(name) ?? '';
  const length = header('content-length');
  if (!/^\d{1,15}$/u.test(length)) return skipTo(bytes, 'does not say its length');
  const size = Number(length);
  const hasLongHead = head.length > HEAD_BYTES_MAX;
  if (hasLongHead || size > RECORD_BYTES_MAX) {
    const problem = hasLongHead
      ? `has a head that is too large: ${head.length} bytes`
      : `is too large: it promises ${size} bytes`;
    return (await bytes.skipBlock(size)) ? problem : skipTo(bytes, problem);
  }
  if (!(await bytes.endsAfter(size))) {
    return skipTo(bytes, `does not end after the ${size} bytes that it promises`);
  }
  const block = bytes.take(size);
  // Some recorders count the empty line after the block as a part of it.
  const isWithEnd = bytes.isAtMemberEnd() && block.indexOf(RECORD_END, size - 4) === size - 4;
  return { header, block: isWithEnd ? block.subarray(0, size - 4) : block };
}

async function skipTo(bytes: ByteWindow, problem: string): Promise<string> {
  await bytes.skipToRecord();
  return problem;
}

function parseHead(head: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of head.toString('utf8').split(/\r?\n/u)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0) headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

const RECORD_END = Buffer.from('\r\n\r\n');
const RECORD_START = Buffer.from('\nWARC/');
/** What follows a block that is passed over: an empty line, or the end. */
const AFTER_BLOCK = /^\s{0,8}$|^\r?\n\r?\n/u;
const AFTER_BLOCK_BYTES = 9;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The bytes of a stream, from the place of reading on. */
class ByteWindow {
  readonly #open: () => AsyncGenerator<UnpackedPiece>;
  #source: AsyncGenerator<UnpackedPiece>;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes of the stream before those that are held. */
  #passed = 0;
  /** How often this file has been read far ahead in vain. */
  #rereads = 0;
  #ended = false;
  /** Where members end in the stream, from the place of reading on. */
  #memberEnds: number[] = [];
  #damagedFrom = Number.POSITIVE_INFINITY;
  /** What ended the stream before its end. */
  #failure: FileDamage | undefined;

  /** @param open the stream, from its beginning */
  constructor(open: () => AsyncGenerator<UnpackedPiece>) {
    this.#open = open;
    this.#source = open();
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
  }

  async atEnd(): Promise<boolean> {
    return (await this.#hold(1)) === 0;
  }

  /** Bytes of the stream before the place of reading. */
  get place(): number {
    return this.#passed;
  }

  /** Where a damaged member begins in the stream, as far as it is known by now. */
  get damagedFrom(): number {
    return Math.min(this.#damagedFrom, this.#failure?.bytesBefore ?? this.#damagedFrom);
  }

  /** Drops the rest of the stream, and tells what ended it before its end, if anything did. */
  async findFailure(): Promise<FileDamage | undefined> {
    while ((await this.#hold(1)) > 0) this.take(this.#held.length);
    return this.#failure;
  }

  async beginsRecord(): Promise<boolean> {
    await this.#hold(RECORD_START.length - 1);
    return this.#held.indexOf(RECORD_START.subarray(1)) === 0;
  }

  /** Call it after `endsAfter`: it knows of the ends in what is held. */
  isAtMemberEnd(): boolean {
    return this.#memberEnds.includes(this.#passed);
  }

  take(size: number): Buffer {
    const taken = this.#held.subarray(0, size);
    this.#held = this.#held.subarray(size);
    this.#passed += taken.length;
    return taken;
  }

  async skipLineEnds(): Promise<void> {
    while ((await this.#hold(1)) > 0) {
      let end = 0;
      while (this.#held[end] === LINE_FEED || this.#held[end] === CARRIAGE_RETURN) end++;
      if (end === 0) return;
      this.take(end);
    }
  }

  /** The head of a record with the empty line that ends it; it may be too large to be used. */
  async takeHead(): Promise<Buffer | undefined> {
    if (!(await this.beginsRecord())) return undefined;
    await this.#hold(HEAD_BYTES_MAX);
    const head = this.#takeHeadWithin(HEAD_BYTES_MAX);
    if (head !== undefined || this.#rereads >= REREADS_MAX) return head;
    await this.#hold(RECORD_BYTES_MAX);
    const longHead = this.#takeHeadWithin(RECORD_BYTES_MAX);
    if (longHead === undefined) this.#rereads++;
    return longHead;
  }

  #takeHeadWithin(bytesMax: number): Buffer | undefined {
    const head = this.#held.subarray(0, bytesMax);
    const ends = ['\r\n\r\n', '\n\n']
      .map((blank) => ({ at: head.indexOf(blank), length: blank.length }))
      .filter(({ at }) => at >= 0)
      .toSorted((a, b) => a.at - b.at);
    return ends[0] && this.take(ends[0].at + ends[0].length);
  }

  /** Whether an empty line, or the end of the file or of a member, is `size` bytes from here. */
  async endsAfter(size: number): Promise<boolean> {
    const held = await this.#hold(size + 4);
    if (held < size) return false;
    if (this.#memberEnds.includes(this.#passed + size)) return true;
    const rest = this.#held.toString('latin1', size, size + 4);
    return /^\s{0,3}$|^\r?\n\r?\n/u.test(rest);
  }

  /**
   * Drops a block that is too large to be held. False if it does not end after `size` bytes: then
   * nothing is dropped, unless that has happened too often in this file.
   */
  async skipBlock(size: number): Promise<boolean> {
    const start = this.#passed;
    const isThere = await this.#drop(size);
    await this.#hold(AFTER_BLOCK_BYTES);
    const after = this.#held.toString('latin1', 0, AFTER_BLOCK_BYTES);
    if (isThere && AFTER_BLOCK.test(after)) return true;
    if (++this.#rereads <= REREADS_MAX) await this.#goTo(start);
    return false;
  }

  /** Drops all before the next line that begins like a record; everything, if there is none. */
  async skipToRecord(): Promise<void> {
    for (;;) {
      const held = await this.#hold(this.#held.length + 1);
      const at = this.#held.indexOf(RECORD_START);
      if (at >= 0) return void this.take(at + 1);
      this.take(Math.max(0, held - RECORD_START.length + 1));
      if (this.#ended) return void this.take(this.#held.length);
    }
  }

  /** Whether there were so many bytes. */
  async #drop(size: number): Promise<boolean> {
    for (let left = size; left > 0;) {
      if ((await this.#hold(1)) === 0) return false;
      left -= this.take(left).length;
    }
    return true;
  }

  /** Reads the stream again, from its beginning to this place. */
  async #goTo(place: number): Promise<void> {
    await this.close();
    this.#source = this.#open();
    this.#held = Buffer.alloc(0);
    this.#passed = 0;
    this.#memberEnds = [];
    this.#damagedFrom = Number.POSITIVE_INFINITY;
    this.#ended = false;
    this.#failure = undefined;
    await this.#drop(place);
  }

  /** Reads on until `size` bytes are held, or the stream has ended; returns how many there are. */
  async #hold(size: number): Promise<number> {
    const chunks = [this.#held];
    let held = this.#held.length;
    while (held < size && !this.#ended) {
      const { bytes, endsMember, isDamaged } = await this.#next();
      if (isDamaged) this.#damagedFrom = Math.min(this.#damagedFrom, this.#passed + held);
      chunks.push(bytes);
      held += bytes.length;
      if (!endsMember) continue;
      this.#memberEnds = this.#memberEnds.filter((end) => end >= this.#passed);
      this.#memberEnds.push(this.#passed + held);
    }
    if (chunks.length > 1) this.#held = Buffer.concat(chunks);
    return held;
  }

  async #next(): Promise<UnpackedPiece> {
    try {
      const { done, value } = await this.#source.next();
      if (done !== true) return value;
    } catch (error) {
      if (error instanceof UsageError) throw error;
      this.#failure =
        error instanceof FileDamage
          ? error
          : new FileDamage(String(error), { bytesBefore: 0, next: undefined });
    }
    this.#ended = true;
    return { bytes: Buffer.alloc(0), endsMember: false, isDamaged: false };
  }
}

/*
 * Reads a WARC file, plain or gzipped, as a stream of crawl records.
 *
 *   page          a response with status 200 and an HTML content type
 *   redirect      a response with status 301, 302, 303, 307 or 308 that names its target
 *   failure       a response with any other status, 404 above all
 *   not-html      a response with status 200 and other content: a picture, a style sheet
 *   not-response  a record about the crawl: request, metadata, and revisits, which hold no page;
 *                 or a response that is not HTTP
 *
 * What is damaged is reported and left out, as is a page whose body cannot be
 * unpacked.
 */

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
