/**
 * A document and its two encoded forms.
 *
 * A crawler delivers documents: an address, the bytes found there, and three keys, each of which
 * can mark the document as a duplicate of another one. Its id is its arrival number, fixed-width
 * decimal, so that the order of the strings is the order of arrival.
 *
 * Form 1, the record: one line of bytes, for files that a MapReduce splits at line ends.
 *
 *     <id> TAB <key 1> TAB <key 2> TAB <key 3> TAB <url> TAB <contents, escaped> LF
 *
 *   Only the contents are escaped (backslash, tab, line feed, carriage return become `\\` `\t` `\n`
 *   `\r`); the other five fields must not hold a tab or a line end, and `encodeRecord` checks this.
 *   A record is bytes, not text: contents may be anything, so never turn a line into a string.
 *
 * Form 2, the cell value: the content of one Bigtable cell, whose row is the id.
 *
 *     (u16 length, key) three times, (u32 length, url), contents
 *
 *   The keys come first with their lengths, so that an observer that looks for duplicates reads
 *   them without touching the contents.
 */
import { viewOf } from '#engine/base';

export type Keys = readonly [string, string, string];

/** The parts of a document that clustering needs. */
export interface KeyedDocument {
  readonly id: string;
  readonly keys: Keys;
}

export interface Document extends KeyedDocument {
  readonly url: string;
  readonly contents: Uint8Array;
}

/** Enough digits for ten thousand million documents, more than any repository here. */
const ID_DIGITS = 10;

/** The id of the document with arrival number `arrival`, counted from 0. */
export function documentId(arrival: number): string {
  return arrival.toString().padStart(ID_DIGITS, '0');
}

/** The record form, line feed included. */
export function encodeRecord(document: Document): Buffer {
  const { id, keys, url, contents } = document;
  const head = `${id}\t${keys[0]}\t${keys[1]}\t${keys[2]}\t${url}\t`;
  if (!HEAD_FORM.test(head)) {
    throw new RangeError(`a field of document ${id} holds a tab or a line end: ${head}`);
  }
  return Buffer.concat([Buffer.from(head), escape(contents), LINE_END]);
}

/** Reads one record, with or without its line feed. Throws a RangeError if it is not one. */
export function decodeRecord(line: Uint8Array): Document {
  const { fields, rest } = splitHead(viewOf(line), 5);
  const [id, key1, key2, key3, url] = fields as [string, string, string, string, string];
  return { id, url, keys: [key1, key2, key3], contents: unescape(rest) };
}

/** The id and keys of a record; address and contents are not read. */
export function decodeRecordKeys(line: Uint8Array): KeyedDocument {
  const [id, key1, key2, key3] = splitHead(viewOf(line), 4).fields as [
    string,
    string,
    string,
    string,
  ];
  return { id, keys: [key1, key2, key3] };
}

/** The cell value form. */
export function encodeDocument({ keys, url, contents }: Document): Buffer {
  const parts = [...keys.map((key) => withLength(key, 2)), withLength(url, 4), contents];
  return Buffer.concat(parts);
}

/** Reads a cell value of row `id`. The contents share the memory of `value`. */
export function decodeDocument(id: string, value: Uint8Array): Document {
  const { keys, end } = readKeys(viewOf(value));
  const bytes = viewOf(value);
  const urlStart = end + 4;
  const urlEnd = urlStart + bytes.readUInt32BE(end);
  return {
    id,
    keys,
    url: bytes.toString('utf8', urlStart, urlEnd),
    contents: bytes.subarray(urlEnd),
  };
}

/** The keys of a cell value; neither address nor contents are read. */
export function decodeKeys(value: Uint8Array): Keys {
  return readKeys(viewOf(value)).keys;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BACKSLASH = 0x5c;
const LINE_END = Buffer.from('\n');

/** Five fields, each closed by a tab, and no other tab or line end in between. */
const HEAD_FORM = /^(?:[^\t\n\r]*\t){5}$/;

/** The byte after the backslash, by the byte that it represents. */
const ESCAPES: ReadonlyMap<number, number> = new Map([
  [BACKSLASH, BACKSLASH],
  [TAB, 't'.charCodeAt(0)],
  [LINE_FEED, 'n'.charCodeAt(0)],
  [CARRIAGE_RETURN, 'r'.charCodeAt(0)],
]);
const UNESCAPES: ReadonlyMap<number, number> = new Map(
  [...ESCAPES].map(([plain, escaped]) => [escaped, plain]),
);

/** Returns contents without any of the four bytes, the usual case, as they are. */
function escape(contents: Uint8Array): Uint8Array {
  const bytes = viewOf(contents);
  if (![...ESCAPES.keys()].some((byte) => bytes.includes(byte))) return bytes;
  const escaped = Buffer.alloc(2 * bytes.length);
  let length = 0;
  for (const byte of bytes) {
    const letter = ESCAPES.get(byte);
    if (letter !== undefined) escaped[length++] = BACKSLASH;
    escaped[length++] = letter ?? byte;
  }
  return escaped.subarray(0, length);
}

function unescape(escaped: Buffer): Buffer {
  if (!escaped.includes(BACKSLASH)) return escaped;
  const contents = Buffer.alloc(escaped.length);
  let length = 0;
  for (let i = 0; i < escaped.length; i++) {
    const byte = escaped[i] as number;
    contents[length++] = byte === BACKSLASH ? unescapeByte(escaped[++i]) : byte;
  }
  return contents.subarray(0, length);
}

function unescapeByte(letter: number | undefined): number {
  const plain = letter === undefined ? undefined : UNESCAPES.get(letter);
  if (plain === undefined) throw new RangeError('a record holds a backslash that escapes nothing');
  return plain;
}

/** Cuts `count` fields off the front of a line; `rest` is what follows, without the line feed. */
function splitHead(line: Buffer, count: number): { fields: string[]; rest: Buffer } {
  const fields: string[] = [];
  let start = 0;
  while (fields.length < count) {
    const end = line.indexOf(TAB, start);
    if (end < 0) throw new RangeError(`not a document's record: ${line.toString('utf8', 0, 80)}`);
    fields.push(line.toString('utf8', start, end));
    start = end + 1;
  }
  const end = line.at(-1) === LINE_FEED ? line.length - 1 : line.length;
  return { fields, rest: line.subarray(start, end) };
}

function withLength(text: string, lengthBytes: 2 | 4): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes.length, 0, lengthBytes); // Throws when the text is too long.
  return Buffer.concat([length, bytes]);
}

function readKeys(bytes: Buffer): { keys: Keys; end: number } {
  let end = 0;
  const next = (): string => {
    const start = end + 2;
    end = start + bytes.readUInt16BE(end);
    return bytes.toString('utf8', start, end);
  };
  return { keys: [next(), next(), next()], end };
}
