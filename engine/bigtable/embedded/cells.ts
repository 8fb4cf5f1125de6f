/**
 * The part of an lmdb database that reading needs. A separate file, because large and small rows
 * need it.
 */
import type { RangeIterable } from 'lmdb';

/**
 * Longer values are left out of a pass over cells, and fetched when wanted: a pass copies all it
 * meets, wanted or not. Larger: more copied in vain. Smaller: more seeks, each as expensive as
 * copying this much.
 */
export const LISTED_VALUE_BYTES_MAX = 2_048;

export interface Cells {
  get(key: Buffer): Buffer | undefined;
  doesExist(key: Buffer): boolean;
  getKeys(range: { start: Buffer; end: Buffer; limit?: number }): RangeIterable<Buffer>;
  /** Leaves out values longer than `LISTED_VALUE_BYTES_MAX`. */
  getRange(range: {
    start: Buffer;
    end: Buffer;
    limit?: number;
  }): RangeIterable<{ key: Buffer; value: Buffer | undefined }>;
}
