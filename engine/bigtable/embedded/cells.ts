/** The part of an lmdb database that reading needs. Apart, because large and small rows both need it. */
import type { RangeIterable } from 'lmdb';

/**
 * Longer values are left out of a pass over cells, and fetched by those who want them: a pass copies what it meets,
 * wanted or not. Larger: more copied in vain. Smaller: more seeks, each of which costs as much as copying this.
 */
export const LISTED_VALUE_BYTES_MAX = 2_048;

export interface Cells {
  get(key: Buffer): Buffer | undefined;
  doesExist(key: Buffer): boolean;
  getKeys(range: { start: Buffer; end: Buffer; limit?: number }): RangeIterable<Buffer>;
  /** Without the values of more than `LISTED_VALUE_BYTES_MAX`. */
  getRange(range: {
    start: Buffer;
    end: Buffer;
    limit?: number;
  }): RangeIterable<{ key: Buffer; value: Buffer | undefined }>;
}
