/** The options of batching: unit, default and the cost of a wrong value; validated in one place. */
import { checkOptions, COUNT, FUNCTION, type Kinds, POSITIVE } from '../../base/options.ts';
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
   * Batches in flight at a time in each lane: reads, conditional mutations, urgent and other blind
   * mutations. Default 8. Too small: the storage idles between two batches. Too large: batches stay
   * small. Conditional mutations are not limited where the storage cannot take many in one RPC. If
   * the storage refuses a batch of reads or of blind mutations, its requests are sent again, each
   * alone, all at the same time.
   */
  readonly inFlightMax?: number | undefined;
  /**
   * Selects blind mutations that a caller's commit may wait for. They have a lane of their own, so
   * that they never wait because other blind mutations have reached `inFlightMax`. Default: none.
   */
  readonly isUrgent?: ((row: RowMutation) => boolean) | undefined;
}

/** The options with their defaults. */
export type BatchingSettings = {
  readonly [K in keyof BatchingOptions]-?: NonNullable<BatchingOptions[K]>;
};

const KINDS: Kinds<BatchingOptions> = {
  delayMs: {
    expected: 'a number of at least 0',
    accepts: (value) => value === 0 || POSITIVE.accepts(value),
  },
  rowsMax: COUNT,
  inFlightMax: COUNT,
  isUrgent: FUNCTION,
};

/** @throws INVALID_ARGUMENT naming the wrong option */
export function settingsOf(options: BatchingOptions): BatchingSettings {
  checkOptions('batching', options, KINDS);
  const { delayMs = 1, rowsMax = 256, inFlightMax = 8, isUrgent = () => false } = options;
  return { delayMs, rowsMax, inFlightMax, isUrgent };
}
