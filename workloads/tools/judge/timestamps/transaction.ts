/**
 * One transaction of a history with timestamps, and the parser of its line; docs/judge.md describes
 * the format.
 *
 *     {"process": 1, "start": 10, "commit": 12, "outcome": "ok", "ops": [
 *       {"read": "x", "value": 1}, {"write": "x", "value": 2}, {"delete": "y"}, {"lock": "z"},
 *       {"scan": {"from": "a", "to": "c"}, "rows": [{"key": "b", "value": 3}]}]}
 *
 * Unknown fields are refused rather than ignored: a misspelt `commit` would change the verdict.
 */
import { BadLineError } from '../lines.ts';
import { compareKeys, type Key } from './cells.ts';

/** A number up to 2^53 - 1, a bigint above, so that equal timestamps compare as equal. */
export type RawTimestamp = number | bigint;

export interface TimestampedTransaction {
  readonly process: string;
  readonly start: RawTimestamp;
  readonly commit: RawTimestamp | undefined;
  readonly outcome: 'ok' | 'fail' | 'info';
  /** Real time, of one clock and any unit. */
  readonly begin: number | undefined;
  readonly end: number | undefined;
  readonly operations: readonly ParsedOperation[];
}

/** The result of a read: a value, as JSON, or the version. */
export type ReadResult =
  /** Undefined: there was no value. */
  | { readonly value: string | undefined; readonly version?: undefined }
  /**
   * The commit timestamp of the version; `own` for a write of the transaction itself; null: there
   * was none.
   */
  | { readonly version: RawTimestamp | 'own' | null; readonly value?: undefined };

export type ParsedOperation =
  | { readonly kind: 'read'; readonly key: Key; readonly seen: ReadResult }
  /** The value is undefined only if reads tell versions. */
  | { readonly kind: 'write'; readonly key: Key; readonly value: string | undefined }
  | { readonly kind: 'delete'; readonly key: Key }
  | { readonly kind: 'lock'; readonly key: Key }
  | ParsedScan;

export interface ParsedScan {
  readonly kind: 'scan';
  /** Included; undefined: from the first key. */
  readonly from: Key | undefined;
  /** Not included; undefined: to the last key. */
  readonly to: Key | undefined;
  /** If the scan returned this many rows, its range ends after the last one. */
  readonly limit: number | undefined;
  readonly rows: readonly { readonly key: Key; readonly seen: ReadResult }[];
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws BadLineError that names the fault of the line and the right form */
export function parseTransaction(text: string): TimestampedTransaction {
  const fields = fieldsOf(parseJson(text), 'a line', FIELDS);
  const outcome = outcomeOf(fields['outcome']);
  const commit = optional(fields['commit'], (given) => timestampOf(given, '"commit"'));
  if (outcome === 'fail' && commit !== undefined) {
    throw new BadLineError('a transaction with "outcome": "fail" must have no "commit"');
  }
  const operations = fields['ops'];
  if (!Array.isArray(operations)) {
    throw new BadLineError(`"ops" must be an array of operations, but is ${shown(operations)}`);
  }
  const begin = optional(fields['begin'], (given) => timeOf(given, '"begin"'));
  const end = optional(fields['end'], (given) => timeOf(given, '"end"'));
  if (begin !== undefined && end !== undefined && end < begin) {
    throw new BadLineError(`"end" must not be before "begin", which is ${begin}, but is ${end}`);
  }
  const { process = '' } = fields;
  if (typeof process !== 'string' && typeof process !== 'number' && typeof process !== 'bigint') {
    throw new BadLineError(`"process" must be a name or a number, but is ${shown(process)}`);
  }
  return {
    process: `${process}`,
    start: timestampOf(fields['start'], '"start"'),
    commit,
    outcome,
    begin,
    end,
    operations: operations.map(operationOf),
  };
}

const FIELDS = ['process', 'start', 'commit', 'outcome', 'begin', 'end', 'ops'];

/** Numbers of 16 digits, or with a positive exponent: others are not beyond 2^53 - 1. */
const LARGE = /[:,[]\s*-?(?:\d{16}|[\d.]+e\+?\d)/i;

/** Whole numbers beyond 2^53 - 1 become bigints: several have the same double. */
function parseJson(text: string): unknown {
  try {
    const parsed: unknown = LARGE.test(text)
      ? JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
      : JSON.parse(text); // Parsing without a reviver is ten times as fast.
    refuseTwice(text, parsed);
    return parsed;
  } catch (error) {
    if (error instanceof BadLineError) throw error;
    if (error instanceof RangeError) throw error; // Nested too deeply: lines.ts says so.
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadLineError(`a line must be one JSON object, but ${reason}`);
  }
}

/**
 * JSON.parse takes the last of two fields of one name. The line has such fields if it has more
 * names than what was parsed has, or else a text in it looks like a name.
 */
function refuseTwice(text: string, parsed: unknown): void {
  if ((text.match(NAME)?.length ?? 0) === namesIn(parsed)) return;
  const names = [new Set<string>()];
  for (const [token, quoted = ''] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:?|[{}]/g)) {
    if (token === '{') names.push(new Set());
    else if (token === '}') names.pop();
    else if (token.endsWith(':')) {
      const known = names.at(-1);
      const name = JSON.parse(quoted) as string;
      if (known?.has(name) === true) {
        throw new BadLineError(`a line must have each field once, but has ${quoted} twice`);
      }
      known?.add(name);
    }
  }
}

/** The end of the name of a field; in a text, also a quotation mark that is not its end. */
const NAME = /"\s*:/g;

function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + namesIn(one), 0);
  let names = 0;
  for (const one of Object.values(value)) names += 1 + namesIn(one);
  return names;
}

function exactly(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return wholeOf(context.source ?? '') ?? value;
}

/** A short text with a large exponent must not fill the memory. */
const ZEROS_MAX = 1_000;

/** The whole number that the text of a number means; undefined if it is not whole, or too large. */
function wholeOf(source: string): bigint | undefined {
  const parts = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source);
  if (parts === null) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = whole + fraction;
  const zeros = Number(exponent) - fraction.length;
  if (zeros > ZEROS_MAX) return undefined;
  if (zeros >= 0) return BigInt(digits + '0'.repeat(zeros));
  return /^0+$/.test(digits.slice(zeros)) ? BigInt(digits.slice(0, zeros)) : undefined;
}

function operationOf(given: unknown): ParsedOperation {
  const [kind] = isFields(given) ? Object.keys(KINDS).filter((name) => name in given) : [];
  const read = kind === undefined ? undefined : KINDS[kind];
  if (read !== undefined && isFields(given)) return read(given);
  const kinds = Object.keys(KINDS).join(', ');
  throw new BadLineError(
    `an operation must be an object with one of ${kinds}, but is ${shown(given)}`,
  );
}

const KINDS: Readonly<Record<string, (fields: Fields) => ParsedOperation>> = {
  read(given) {
    const fields = fieldsOf(given, 'a read', ['read', 'value', 'version']);
    return { kind: 'read', key: keyOf(fields['read'], '"read"'), seen: seenOf(fields, 'a read') };
  },
  write(given) {
    const fields = fieldsOf(given, 'a write', ['write', 'value']);
    if (fields['value'] === null) {
      throw new BadLineError(
        'a write must have a "value" that is not null; use {"delete": key} to remove a value',
      );
    }
    return {
      kind: 'write',
      key: keyOf(fields['write'], '"write"'),
      value: valueOf(fields['value']),
    };
  },
  delete(given) {
    return {
      kind: 'delete',
      key: keyOf(fieldsOf(given, 'a delete', ['delete'])['delete'], '"delete"'),
    };
  },
  lock(given) {
    return { kind: 'lock', key: keyOf(fieldsOf(given, 'a lock', ['lock'])['lock'], '"lock"') };
  },
  scan(given) {
    const fields = fieldsOf(given, 'a scan', ['scan', 'rows']);
    const range = fieldsOf(fields['scan'], '"scan"', ['from', 'to', 'limit']);
    const rows = fields['rows'];
    if (!Array.isArray(rows)) {
      throw new BadLineError(`a scan must have the array "rows", but that is ${shown(rows)}`);
    }
    const from = optional(range['from'], (key) => keyOf(key, '"from"'));
    const to = optional(range['to'], (key) => keyOf(key, '"to"'));
    if (from !== undefined && to !== undefined && compareKeys(from, to) > 0) {
      const [first, last] = [shown(from), shown(to)];
      throw new BadLineError(
        `a scan must not have its "from" after its "to", but is from ${first} to ${last}`,
      );
    }
    return {
      kind: 'scan',
      from,
      to,
      limit: optional(range['limit'], limitOf),
      rows: rows.map((row: unknown) => {
        const ofRow = fieldsOf(row, 'a row', ['key', 'value', 'version']);
        return { key: keyOf(ofRow['key'], '"key"'), seen: seenOf(ofRow, 'a row') };
      }),
    };
  },
};

function seenOf({ value, version }: Fields, what: string): ReadResult {
  if ((value === undefined) === (version === undefined)) {
    throw new BadLineError(
      `${what} must have either a "value" or a "version"; null is for a key without one`,
    );
  }
  if (version === undefined) return { value: valueOf(value) };
  if (version === null || version === 'own') return { version };
  return { version: timestampOf(version, '"version"') };
}

/** JSON text that is equal for equal values; undefined for null. */
function valueOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => valueOf(one) ?? 'null').join()}]`;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const texts = entries.map(([name, one]) => `${JSON.stringify(name)}:${valueOf(one) ?? 'null'}`);
  return `{${texts.join()}}`;
}

function timestampOf(given: unknown, name: string): RawTimestamp {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given;
  if (typeof given === 'bigint' && given >= 0n) return given;
  if (typeof given === 'string' && /^\d{1,40}$/.test(given)) {
    return given.length < 16 ? Number(given) : smallest(BigInt(given));
  }
  const form = 'a timestamp (a whole number, or a string of its digits)';
  throw new BadLineError(`${name} must be ${form}, but is ${shown(given)}`);
}

function smallest(timestamp: bigint): RawTimestamp {
  return timestamp <= Number.MAX_SAFE_INTEGER ? Number(timestamp) : timestamp;
}

function timeOf(given: unknown, name: string): number {
  if (typeof given === 'number' && Number.isFinite(given)) return given;
  if (typeof given === 'bigint') return Number(given);
  throw new BadLineError(`${name} must be a time (a number, in any unit), but is ${shown(given)}`);
}

function limitOf(given: unknown): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given > 0) return given;
  throw new BadLineError(`"limit" must be a whole number of at least 1, but is ${shown(given)}`);
}

function keyOf(given: unknown, name: string): Key {
  if (typeof given === 'string') return given;
  const isNumber = typeof given === 'number' || typeof given === 'bigint';
  if (typeof given === 'number' && Math.abs(given) <= Number.MAX_SAFE_INTEGER) return given;
  const exact = isNumber ? '; larger ones are given as strings' : '';
  throw new BadLineError(
    `${name} must be a key (a string, or a number up to 2^53 - 1${exact}), but is ${shown(given)}`,
  );
}

function outcomeOf(given: unknown): TimestampedTransaction['outcome'] {
  if (given === 'ok' || given === 'fail' || given === 'info') return given;
  throw new BadLineError(`"outcome" must be "ok", "fail" or "info", but is ${shown(given)}`);
}

function fieldsOf(given: unknown, what: string, known: readonly string[]): Fields {
  if (!isFields(given)) throw new BadLineError(`${what} must be an object, but is ${shown(given)}`);
  for (const name in given) {
    if (known.includes(name)) continue;
    const names = known.map((one) => `"${one}"`).join(', ');
    throw new BadLineError(`${what} must have only ${names}, but has ${JSON.stringify(name)}`);
  }
  return given;
}

function isFields(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

function optional<T>(given: unknown, parse: (given: unknown) => T): T | undefined {
  return given === undefined || given === null ? undefined : parse(given);
}

function shown(given: unknown): string {
  if (given === undefined) return 'missing';
  const text = typeof given === 'bigint' ? `${given}` : JSON.stringify(given, bigintsAsText);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}
