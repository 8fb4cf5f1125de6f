/**
 * The gaps of a damaged log: bytes of a file that are no intact group, or a file that is missing.
 *
 *     gap ─┬─ records that are still intact
 *          ├─ damaged ones, with a row and a place
 *          └─ the rest: it cannot be told what it was, unless the hint knows all that was there
 */
import type { Damage } from '../bigtable.ts';
import { KEY_BYTES_MAX, rowKeyOf, rowOf, tableIdOf } from './keys.ts';
import {
  GROUP_BYTES,
  type GroupReader,
  isIntact,
  type LogRecord,
  type Mark,
  nameOfLog,
  recordAt,
  recordLength,
} from './record.ts';
import { NONE, type SortedIndex } from './sorted-index.ts';

/** Rows that the sentence about a gap names; reading tells all that are in use. */
const ROWS_SHOWN = 3;
/** A longer gap is searched in pieces; a record across their border counts as lost. */
const PIECE_BYTES = 2 ** 28;

export interface Gap {
  readonly file: number;
  readonly from: number;
  readonly to: number;
  readonly what: string;
  readonly intact: readonly LogRecord[];
  /** Damaged, with a key and a place that are probably right. */
  readonly lost: readonly LogRecord[];
  /** Whether some of its bytes belong to no record in the lists. */
  readonly isPartial: boolean;
}

/** A gap of which nothing is there any more. */
export function emptyGap(file: number, { from, to }: Pick<Gap, 'from' | 'to'>, what: string): Gap {
  return { file, from, to, what, intact: [], lost: [], isPartial: true };
}

/** Where the reader has found no intact group; it goes on after the gap. */
export function gapAt(reader: GroupReader): Gap {
  const { file, offset: from } = reader;
  const to = reader.skip();
  const intact: LogRecord[] = [];
  const lost: LogRecord[] = [];
  let isPartial = to - from < GROUP_BYTES;
  for (let at = from + GROUP_BYTES; at < to; at += PIECE_BYTES) {
    const bytes = reader.copy(at, Math.min(PIECE_BYTES, to - at));
    const found = survivingRecords(bytes, { file, offset: at });
    for (const record of found.intact) intact.push(record);
    for (const record of found.lost) lost.push(record);
    isPartial ||= found.isPartial;
  }
  return { file, from, to, what: 'a group is not intact', intact, lost, isPartial };
}

export interface GapContext {
  readonly severity: Damage['severity'];
  /** With a row that cannot be read at the place of its record. */
  readonly index: SortedIndex;
  /** What is called so by its callers, by its id. */
  readonly tables: ReadonlyMap<number, string>;
  /** The index knows everything that was before it. */
  readonly isKnown: (gap: Gap) => boolean;
}

/** A sentence for each gap, that says what it has cost as far as that can be told. */
export function damageOf(gaps: readonly Gap[], context: GapContext): readonly Damage[] {
  const rows = rowsIn(gaps, context.index);
  return gaps.map((gap) => {
    const { severity, tables, isKnown } = context;
    const hit = rows.get(gap) ?? new Set();
    const isUnknown = !isKnown(gap);
    const parts = [`${nameOfLog(gap.file)}, ${bytesOf(gap)}: ${gap.what}`, ...intactIn(gap)];
    if (hit.size > 0) parts.push(`${rowsText(hit, tables)}${isUnknown ? UNLESS : ''}`);
    if (isUnknown && gap.isPartial) parts.push(UNKNOWN);
    else if (hit.size === 0) parts.push('no row in use is lost');
    return { severity, sentence: parts.join('; ') };
  });
}

const UNLESS = ', unless the damage is in a key';
const UNKNOWN =
  'what else was there cannot be told: a row may be missing, or as it was before, without a word';

function bytesOf({ from, to }: Gap): string {
  return to > from ? `bytes ${from} to ${to - 1}` : `byte ${from}`;
}

function intactIn({ intact }: Gap): readonly string[] {
  if (intact.length === 0) return [];
  return [`${intact.length === 1 ? 'one record' : `${intact.length} records`} in it can be read`];
}

function rowsText(keys: ReadonlySet<string>, tables: ReadonlyMap<number, string>): string {
  const shown = [...keys].slice(0, ROWS_SHOWN).map((name) => {
    const key = Buffer.from(name, 'latin1');
    const id = tableIdOf(key);
    return `${JSON.stringify(rowOf(key))} of ${tables.get(id) ?? `the table with id ${id}`}`;
  });
  const more = keys.size - shown.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  return `it has cost ${keys.size === 1 ? 'row' : 'rows'} ${shown.join(', ')}${rest}`;
}

/** The keys of the rows that a gap has hit, of those that are in use. */
function rowsIn(gaps: readonly Gap[], index: SortedIndex): ReadonlyMap<Gap, ReadonlySet<string>> {
  const rows = new Map<Gap, Set<string>>();
  const byFile = Map.groupBy(gaps, ({ file }) => file);
  const intact = new Set(gaps.flatMap((gap) => gap.intact.map(({ place }) => nameOf(place))));
  const add = (gap: Gap, key: Buffer): void => {
    const known = rows.get(gap) ?? new Set();
    rows.set(gap, known.add(rowKeyOf(key).toString('latin1')));
  };
  for (
    let at = index.ceiling(Buffer.alloc(0));
    gaps.length > 0 && at !== NONE;
    at = index.next(at)
  ) {
    const place = index.entry(at);
    const gap = byFile
      .get(place.file)
      ?.find(({ from, to }) => from <= place.offset && place.offset < to);
    if (gap !== undefined && !intact.has(nameOf(place))) add(gap, index.key(at));
  }
  for (const gap of gaps) {
    for (const { kind, key } of gap.lost) {
      const row = rowKeyOf(key);
      if (kind === 'value' && index.startsWith(index.ceiling(row), row)) add(gap, key);
    }
  }
  return rows;
}

function nameOf({ file, offset }: Mark): string {
  return `${file} ${offset}`;
}

/*
 * The records in bytes that are no intact group: each record has a checksum of its own, which
 * includes its place, so one that is intact is found wherever it lies.
 *
 *     damaged group   header │ record │ rec?rd │ record │ ...
 *                              intact   lost: the record after it begins where its lengths say
 *
 * A damaged record is named only if its lengths lead to an intact one, or to the end of the bytes.
 * Its key may be the part that is damaged, and then it is the wrong one. Where no lengths lead
 * anywhere, what the bytes held cannot be told.
 */

export interface SurvivingRecords {
  readonly intact: readonly LogRecord[];
  /** Damaged, with a key and a place that are probably right. */
  readonly lost: readonly LogRecord[];
  /** Whether some bytes belong to no record in the lists. */
  readonly isPartial: boolean;
}

/** @param first where the bytes begin in the log */
function survivingRecords(bytes: Buffer, first: Mark): SurvivingRecords {
  const intact: LogRecord[] = [];
  const lost: LogRecord[] = [];
  let isPartial = false;
  for (let at = 0; at < bytes.length;) {
    const chain = chainAt(bytes, at, first);
    if (chain === undefined) {
      isPartial = true;
      at = nextIntact(bytes, at + 1, first);
      continue;
    }
    for (const record of chain.records) {
      const list = isWhole(bytes, record, first) ? intact : lost;
      list.push(record);
    }
    at = chain.end;
  }
  return { intact, lost, isPartial };
}

interface Chain {
  readonly records: readonly LogRecord[];
  readonly end: number;
}

/** Records one after the other, up to the first intact one or the end; undefined if neither. */
function chainAt(bytes: Buffer, start: number, first: Mark): Chain | undefined {
  const records: LogRecord[] = [];
  for (let at = start; at < bytes.length;) {
    const record = plausibleAt(bytes, at, first);
    if (record === undefined) return undefined;
    records.push(record);
    at += record.place.length;
    if (isWhole(bytes, record, first) || at === bytes.length) return { records, end: at };
  }
  return undefined;
}

function nextIntact(bytes: Buffer, from: number, first: Mark): number {
  for (let at = from; at < bytes.length; at++) {
    const record = plausibleAt(bytes, at, first);
    if (record !== undefined && isWhole(bytes, record, first)) return at;
  }
  return bytes.length;
}

/** What has the form of a record, and a key with a row in it. */
function plausibleAt(bytes: Buffer, at: number, first: Mark): LogRecord | undefined {
  const length = recordLength(bytes, at);
  if (length === undefined || at + length > bytes.length) return undefined;
  const record = recordAt(bytes, at, first);
  const { key } = record;
  return key.length <= KEY_BYTES_MAX && hasRow(key) ? record : undefined;
}

/** Whether the key has a table and the end mark of a row (keys.ts). */
function hasRow(key: Buffer): boolean {
  for (let zero = key.indexOf(0, 4); zero >= 0; zero = key.indexOf(0, zero + 2)) {
    if (key[zero + 1] === 1) return true;
  }
  return false;
}

function isWhole(bytes: Buffer, { place }: LogRecord, first: Mark): boolean {
  const at = place.offset - first.offset;
  return isIntact(bytes.subarray(at, at + place.length), place);
}
