/**
 * Events of changes as JSON: a line each, or the envelope that consumers of Debezium know.
 *
 *     {"kind":"change","table":"accounts","row":"Bob","column":"bal","value":"$3",
 *      "commitTimestamp":8,"startTimestamp":7,"cursor":"1/..."}
 *     {"kind":"resolved","table":"accounts","timestamp":9,"cursor":"1/..."}
 *
 * A value that is no text is `{ "base64": ... }`, and that of a delete is null. In an envelope, a
 * cell is a record of three fields: row, column, value. Debezium's schemas are not made, as with
 * `schemas.enable=false`; nor are its tombstones.
 */
import { bytesOf } from '../base/index.ts';
import type { Change, ChangeEvent } from './changes.ts';

/** Its text, or its bytes in base64 if it is none. */
export type JsonValue = string | { readonly base64: string };

export function jsonValue(value: Uint8Array): JsonValue {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return { base64: base64Of(value) };
  }
}

/** What `jsonValue` was made of. */
export function bytesOfJson(value: JsonValue): Uint8Array {
  if (typeof value === 'string') return bytesOf(value);
  return Uint8Array.from(atob(value.base64), (one) => one.charCodeAt(0));
}

/** Bytes that become one text at a time: a call takes only so many arguments. */
const PIECE = 8_192;

function base64Of(value: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < value.length; at += PIECE) {
    binary += String.fromCharCode(...value.subarray(at, at + PIECE));
  }
  return btoa(binary);
}

/** What `JSON.stringify` takes. */
export function changeJson(event: ChangeEvent): object {
  if (event.kind === 'resolved') return event;
  const { value, before, ...rest } = event;
  const hadBefore = 'before' in event ? { before: nullable(before) } : {};
  return { ...rest, value: nullable(value), ...hadBefore };
}

function nullable(value: Uint8Array | undefined): JsonValue | null {
  return value === undefined ? null : jsonValue(value);
}

/**
 * The envelope of a change that was read with `before`, without which each put is an update.
 * @param nowMs when the change was read, in milliseconds since 1970
 * @param name of the database, as consumers are to see it
 */
export function debeziumEnvelope(
  change: Change,
  { name, nowMs }: { readonly name: string; readonly nowMs: number },
): object {
  const { table, row, column, value, commitTimestamp, startTimestamp, cursor } = change;
  const recordOf = (one: Uint8Array | undefined): object | null =>
    one === undefined ? null : { row, column, value: jsonValue(one) };
  const isNew = 'before' in change && change.before === undefined;
  return {
    before: recordOf(change.before),
    after: recordOf(value),
    source: {
      connector: 'percolator',
      name,
      db: name,
      table,
      snapshot: 'false',
      txId: startTimestamp,
      commitTimestamp,
      cursor,
    },
    op: value === undefined ? 'd' : isNew ? 'c' : 'u',
    ts_ms: nowMs,
    transaction: { id: `${commitTimestamp}` },
  };
}
