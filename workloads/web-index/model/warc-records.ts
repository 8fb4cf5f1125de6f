/**
 * The records of WARC files, one after the other, with what is damaged left out.
 *
 * The reader of the experiment of figure 7 stops at the first damage, since it compares whole
 * crawls. This one is for crawls of strangers: each damaged record is reported, and reading goes
 * on at the next line that begins like a record. It trusts no length: after a record there must be
 * an empty line, or the end. If there is not, the reader goes back to the end of the record's head,
 * and searches for the next record line by line, instead of skipping the bytes that the head
 * promises.
 *
 * It does not search in the block of a record that keeps its promise, however large block and head
 * are: the block is what a site has sent, and may hold what looks like records of other sites.
 *
 * Memory is bounded by `RECORD_BYTES_MAX`, whatever the file says, and time by `REREADS_MAX`.
 */
import { UsageError } from '#results';
import { readUnpacked } from '../../crawl-rate/documents/unpacked-file.ts';
import { HEAD_BYTES_MAX, RECORD_BYTES_MAX, REREADS_MAX } from './limits.ts';

export interface WarcRecord {
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

/** @throws UsageError if the file cannot be read at all, or does not begin like a WARC */
export async function* readRecords(
  file: string,
  onDamage: (damage: Damage) => void,
): AsyncGenerator<WarcRecord & { readonly number: number }> {
  const bytes = new ByteWindow(() => readUnpacked(file));
  try {
    for (let number = 1; ; number++) {
      await bytes.skipLineEnds();
      const read = (await bytes.atEnd()) ? undefined : await readRecord(bytes);
      if (bytes.failure !== undefined && typeof read !== 'object' && (await bytes.atEnd())) {
        onDamage({ file, record: number, problem: whyNotUnpacked(bytes.failure) });
        return;
      }
      if (read === undefined) return;
      if (typeof read === 'object') yield { ...read, number };
      else onDamage({ file, record: number, problem: read });
    }
  } finally {
    await bytes.close();
  }
}

function whyNotUnpacked(failure: unknown): string {
  if (failure instanceof UsageError) throw failure;
  const reason = failure instanceof Error ? failure.message : String(failure);
  return `and all after it cannot be unpacked (${reason})`;
}

/** The next record; or what is wrong with it: the window is then at the record after it. */
async function readRecord(bytes: ByteWindow): Promise<WarcRecord | string> {
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
  return { header, block: bytes.take(size) };
}

async function skipTo(bytes: ByteWindow, problem: string): Promise<string> {
  await bytes.skipToRecord();
  return problem;
}

function parseHead(head: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of head.toString('utf8').split(/\r?\n/u)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

const RECORD_START = Buffer.from('\nWARC/');
/** What follows a block that is passed over: an empty line, or the end. */
const AFTER_BLOCK = /^\s{0,8}$|^\r?\n\r?\n/u;
const AFTER_BLOCK_BYTES = 9;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The bytes of a stream, from the place of reading on. */
class ByteWindow {
  readonly #open: () => AsyncGenerator<Buffer>;
  #source: AsyncGenerator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes of the stream before those that are held. */
  #passed = 0;
  /** How often this file has been read far ahead in vain. */
  #rereads = 0;
  #ended = false;
  /** What ended the stream before its end. */
  failure: unknown;

  /** @param open the stream, from its beginning */
  constructor(open: () => AsyncGenerator<Buffer>) {
    this.#open = open;
    this.#source = open();
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
  }

  async atEnd(): Promise<boolean> {
    return (await this.#hold(1)) === 0;
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
    await this.#hold(HEAD_BYTES_MAX);
    if (this.#held.toString('latin1', 0, 5) !== 'WARC/') return undefined;
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

  /** Whether there is an empty line, or the end of the file, `size` bytes from here. */
  async endsAfter(size: number): Promise<boolean> {
    const held = await this.#hold(size + 4);
    if (held < size) return false;
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
    this.#ended = false;
    this.failure = undefined;
    await this.#drop(place);
  }

  /** Reads on until `size` bytes are held, or the stream has ended; returns how many there are. */
  async #hold(size: number): Promise<number> {
    const chunks = [this.#held];
    let held = this.#held.length;
    while (held < size && !this.#ended) {
      const chunk = await this.#next();
      chunks.push(chunk);
      held += chunk.length;
    }
    if (chunks.length > 1) this.#held = Buffer.concat(chunks);
    return held;
  }

  async #next(): Promise<Buffer> {
    try {
      const { done, value } = await this.#source.next();
      if (done !== true) return value;
    } catch (error) {
      this.failure = error;
    }
    this.#ended = true;
    return Buffer.alloc(0);
  }
}
