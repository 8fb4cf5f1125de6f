/**
 * Values that contain their row and the operation that wrote them. So every read can be checked at
 * almost no cost, and the storage can be compared with the writes after a run.
 *
 *     bytes 0-3    number of the row
 *     bytes 4-11   number of the operation that wrote it
 *     the rest     always the same noise
 */
import { createRandom } from '#engine';

export const STAMP_BYTES = 12;

export interface Stamp {
  readonly row: number;
  readonly operation: number;
}

/** Returns a maker of values of `bytes` bytes. */
export function stamper(bytes: number, seed: number): (stamp: Stamp) => Buffer {
  const random = createRandom(seed).fork('noise');
  const template = Buffer.from(Array.from({ length: bytes }, () => random.integer(0, 255)));
  return ({ row, operation }) => {
    const value = Buffer.allocUnsafe(bytes);
    template.copy(value);
    value.writeUInt32LE(row, 0);
    value.writeDoubleLE(operation, 4);
    return value;
  };
}

/** Null if the value is too short for a stamp. */
export function stampOf(value: Uint8Array): Stamp | null {
  if (value.byteLength < STAMP_BYTES) return null;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return { row: view.getUint32(0, true), operation: view.getFloat64(4, true) };
}
