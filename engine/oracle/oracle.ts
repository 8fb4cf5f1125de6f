/**
 * The timestamp oracle (section 2.3): "a server that hands out timestamps in strictly increasing order".
 *
 * The whole of snapshot isolation leans on two promises, whoever keeps them:
 *
 * 1. No timestamp is handed out twice, and a request made after another one was answered gets a
 *    larger timestamp; across all processes, and across crashes (P35, P36, P37).
 * 2. A request is answered with a timestamp allocated after the request was made, never with one
 *    kept from before. A commit timestamp must be younger than the transaction's last lock: a
 *    reader with a larger start timestamp is then certain to meet the lock or the write (P10).
 */
import type { Timestamp } from '../bigtable/index.ts';

export interface TimestampOracle {
  /** A timestamp larger than every one handed out before this call. */
  next(): Promise<Timestamp>;
}

/** Where a batch of timestamps comes from: the store's row, or a server. */
export interface TimestampSource {
  /** The first of `count` consecutive timestamps, which are the caller's alone. */
  allocate(count: number): Promise<Timestamp>;
}
