/**
 * The value of a write cell: committed data exists, and this is where (Figure 5).
 *
 *     write:c @ commit timestamp = "0000000000000007 put"                  data is at 7
 *                                  "0000000000000007 delete"               there is no value
 *                                  "0000000000000009 touch 7 8"            data of 7 still current,
 *                                                                          last changed at 8
 *
 * The record starts with the transaction's start timestamp in fixed width, so that most records are
 * decoded without strings (`startOf`). A delete is a record like any other: later writers see the
 * conflict, older snapshots still see the value (P17). A touch is the lock record that `lock(cell)`
 * commits: it conflicts with every writer and changes nothing.
 */
import { assert, PercolatorError, viewOf } from '../base/index.ts';
import type { Cell, Timestamp } from '../bigtable/index.ts';
import { isTimestamp, type Operation, type Touched } from './locks/lock.ts';

export interface WriteRecord {
  readonly commitTimestamp: Timestamp;
  readonly startTimestamp: Timestamp;
  readonly operation: Operation;
  /**
   * Timestamp of the data; 0 without a value. Means nothing for an acknowledgment: it has no data.
   */
  readonly dataTimestamp: Timestamp;
  /** When the value last changed: the commit timestamp, unless this is a touch. */
  readonly changedTimestamp: Timestamp;
}

const WIDTH = 16;
const PUT = Buffer.from(' put');
const ZERO = 48;

export function encodeWriteRecord(
  startTimestamp: Timestamp,
  operation: Operation,
  touched?: Touched,
): Buffer {
  assert((operation === 'touch') === (touched !== undefined), 'a touch says what it touched');
  const start = String(startTimestamp).padStart(WIDTH, '0');
  const version = touched ? ` ${touched.dataTimestamp} ${touched.changedTimestamp}` : '';
  return Buffer.from(`${start} ${operation}${version}`);
}

/** @throws TABLE_MISMATCH if the storage has other bytes than this engine writes */
export function decodeWriteRecord(cell: Cell): WriteRecord {
  const { value, timestamp } = cell;
  if (!isPut(value)) return decodeAny(cell);
  // Most records are puts, and every read decodes one. Without strings, and without a check of the
  // digits, this takes a tenth of the time.
  const startTimestamp = startOf(value);
  return {
    commitTimestamp: timestamp,
    startTimestamp,
    operation: 'put',
    dataTimestamp: startTimestamp,
    changedTimestamp: timestamp,
  };
}

function isPut(value: Uint8Array): boolean {
  if (value.length !== WIDTH + PUT.length) return false;
  for (let i = 0; i < PUT.length; i++) {
    if (value[WIDTH + i] !== PUT[i]) return false;
  }
  return true;
}

/** The decimal number of the first `WIDTH` digits. */
function startOf(value: Uint8Array): Timestamp {
  let number = 0;
  for (let i = 0; i < WIDTH; i++) number = 10 * number + ((value[i] ?? ZERO) - ZERO);
  return number;
}

function decodeAny(cell: Cell): WriteRecord {
  const text = viewOf(cell.value).toString('latin1');
  const startTimestamp = Number(text.slice(0, WIDTH));
  const [operation, data, changed] = text.slice(WIDTH + 1).split(' ');
  const isTouch = operation === 'touch';
  const own = operation === 'put' ? startTimestamp : 0;
  const dataTimestamp = isTouch ? Number(data) : own;
  const changedTimestamp = isTouch ? Number(changed) : cell.timestamp;
  const isSound = [startTimestamp, dataTimestamp, changedTimestamp].every(isTimestamp);
  if (!isSound || (operation !== 'put' && operation !== 'delete' && !isTouch)) {
    const message = `the write record of ${cell.timestamp} cannot be decoded: "${text}"; fsck says where it is`;
    throw new PercolatorError('TABLE_MISMATCH', message);
  }
  const { timestamp: commitTimestamp } = cell;
  return { commitTimestamp, startTimestamp, operation, dataTimestamp, changedTimestamp };
}

/** The record of the transaction that started at `startTimestamp`, if it is among `cells`. */
export function recordOf(
  startTimestamp: Timestamp,
  cells: readonly Cell[],
): WriteRecord | undefined {
  return cells.map(decodeWriteRecord).find((record) => record.startTimestamp === startTimestamp);
}
