/**
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
import { KEY_BYTES_MAX } from './keys.ts';
import { isIntact, type LogRecord, type Mark, recordAt, recordLength } from './record.ts';

export interface SurvivingRecords {
  readonly intact: readonly LogRecord[];
  /** Damaged, with a key and a place that are probably right. */
  readonly lost: readonly LogRecord[];
  /** Whether some bytes belong to no record in the lists. */
  readonly isPartial: boolean;
}

/** @param first where the bytes begin in the log */
export function survivingRecords(bytes: Buffer, first: Mark): SurvivingRecords {
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
