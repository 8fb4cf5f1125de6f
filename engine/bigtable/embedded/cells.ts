/** The part of an lmdb database that reading needs. Apart, because large and small rows both need it. */
import type { RangeIterable } from 'lmdb';

export interface Cells {
  get(key: Buffer): Buffer | undefined;
  doesExist(key: Buffer): boolean;
  getKeys(range: { start: Buffer; end: Buffer; limit?: number }): RangeIterable<Buffer>;
  getRange(range: {
    start: Buffer;
    end: Buffer;
    limit?: number;
  }): RangeIterable<{ key: Buffer; value: Buffer }>;
}
