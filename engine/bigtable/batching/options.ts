/** The options of batching: unit, default and the cost of a wrong value; validated in one place. */
import { PercolatorError } from '../../base/index.ts';
import type { RowMutation } from '../bigtable.ts';

export interface BatchingOptions {
  /**
   * Milliseconds that an operation waits for company while others are in flight. Default 1; 0 waits only for
   * what is runnable already. Too small: batches of one. Too large: that much latency for each step of a
   * transaction, and its locks are held as long. The paper's was seconds.
   */
  readonly delayMs?: number | undefined;
  /**
   * Rows after which a batch does not wait any longer, and at most in one RPC, unless a single caller brings
   * more. Default 256. Too small: more RPCs. Too large: the first row of an answer waits for the last.
   */
  readonly rowsMax?: number | undefined;
  /**
   * RPCs in flight at a time in each lane. Default 8. Too small: the storage idles between two batches. Too
   * large: batches stay small.
   */
  readonly inFlightMax?: number | undefined;
  /**
   * Blind mutations that a caller's commit waits for. They go in a lane of their own, so that they never
   * wait behind bulk work. Default: none.
   */
  readonly isUrgent?: ((row: RowMutation) => boolean) | undefined;
}

/** Filled in. */
export type BatchingSettings = {
  readonly [K in keyof BatchingOptions]-?: NonNullable<BatchingOptions[K]>;
};

/** @throws INVALID_ARGUMENT naming the option that is wrong */
export function settingsOf(options: BatchingOptions): BatchingSettings {
  const { delayMs = 1, rowsMax = 256, inFlightMax = 8 } = options;
  check('delayMs', delayMs, delayMs >= 0 && Number.isFinite(delayMs), 'a number of at least 0');
  check('rowsMax', rowsMax, isCount(rowsMax), 'a whole number above 0');
  check('inFlightMax', inFlightMax, isCount(inFlightMax), 'a whole number above 0');
  return { delayMs, rowsMax, inFlightMax, isUrgent: options.isUrgent ?? (() => false) };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function check(name: string, value: number, isRight: boolean, expected: string): void {
  if (isRight) return;
  throw new PercolatorError('INVALID_ARGUMENT', `${name} must be ${expected}, not ${value}`);
}
