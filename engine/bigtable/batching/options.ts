/** The options of batching: unit, default and the cost of a wrong value; validated in one place. */
import { PercolatorError } from '../../base/index.ts';
import type { RowMutation } from '../bigtable.ts';

export interface BatchingOptions {
  /**
   * Milliseconds that an operation waits for company while others are in flight. Default 1; 0 waits
   * only for work that is already runnable. Too small: batches of one. Too large: that much latency
   * for each step of a transaction, whose locks are held as long. The paper's delay was seconds.
   */
  readonly delayMs?: number | undefined;
  /**
   * Rows at which a batch stops waiting, and the maximum in one RPC, unless a single caller brings
   * more. Default 256. Too small: more RPCs. Too large: the first row of an answer waits for the
   * last.
   */
  readonly rowsMax?: number | undefined;
  /**
   * RPCs in flight at a time in each lane. Default 8. Too small: the storage idles between two
   * batches. Too large: batches stay small.
   */
  readonly inFlightMax?: number | undefined;
  /**
   * Selects blind mutations that a caller's commit waits for. They have a lane of their own, so
   * that they never wait for bulk work. Default: none.
   */
  readonly isUrgent?: ((row: RowMutation) => boolean) | undefined;
}

/** The options with their defaults. */
export type BatchingSettings = {
  readonly [K in keyof BatchingOptions]-?: NonNullable<BatchingOptions[K]>;
};

/** @throws INVALID_ARGUMENT naming the wrong option */
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
