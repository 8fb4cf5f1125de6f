/** The options of a collector: unit, default, cost of a wrong value; validated in one place. */
import { PercolatorError, type Warning } from '../base/index.ts';
import {
  checkOptions,
  COUNT,
  filledIn,
  FUNCTION,
  type Given,
  option,
  type OptionDefaults,
  type OptionRules,
  POSITIVE,
  SIGNAL,
  WHOLE,
} from '../base/options.ts';
import type { Manifest } from '../bigtable/index.ts';

/** The options that are numbers. */
interface CollectorPace {
  /**
   * Milliseconds after which no message sent before can arrive any more: no mutation, and no copy
   * of one. Default 60,000, or the store's own `manifest.messageLifetimeMs` if that is more; less
   * than the store's is refused (P66, server applies late). `collectGarbage` waits for it only
   * where the store cannot end what is in flight: a folder can (P84, message outlives its sender).
   * Too small: a late copy of a prewrite finds that the evidence against it is gone, and data is
   * lost (P4, rollback record gone early). Too large: garbage stays that much longer.
   */
  readonly messageLifetimeMs: number;
  /**
   * Rows per step. Default 256. Too small: a round trip every few rows.
   * Too large: a step keeps the storage busy for long.
   */
  readonly rowsPerStep: number;
  /**
   * Milliseconds of rest after a step. Default 1. Too small: transactions slow down meanwhile.
   * Too large: a cycle takes that much longer for each step.
   */
  readonly pauseMs: number;
  /**
   * Milliseconds of rest after a cycle, after a step that failed or was held back, and after a look
   * at leases that `collectGarbage` waits for. Default 1,000. Too small: the collector burns CPU
   * with nothing to collect. Too large: garbage stays that much longer.
   */
  readonly restMs: number;
  /**
   * Milliseconds of history to keep: what snapshots of that long ago see. Default 0. It needs a
   * process that notes times (`timesEveryMs`): before the first note of that time, nothing is
   * collected. Too large: all versions of that time stay.
   */
  readonly historyMs: number;
}

export interface CollectorOptions extends Given<CollectorPace> {
  /**
   * Called once when a step fails, and once more when a step has succeeded again (P56, silent
   * background failures); and for what has ended the collector. Default: Node prints the first one
   * of each kind on standard error; a function that does nothing silences it. `Collector.warnings`
   * lists all anyway. `collectGarbage` rejects instead.
   */
  readonly onWarning?: ((warning: Warning) => void) | undefined;
  /**
   * Ends the collection when it aborts: after the step in progress, and without any wait. What was
   * done stays done, and the next cycle continues there. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
}

/** One collection and a collector that goes on have the same options. */
export type CollectGarbageOptions = CollectorOptions;

/** The options with their defaults filled in. */
export interface CollectorSettings extends CollectorPace {
  /** Whether the store is to end what is in flight, if it can, instead of a wait (P84). */
  readonly fences: boolean;
  /** How many cycles may go on from one that looks at every row, before another one does. */
  readonly shortCyclesMax: number;
}

const PACE: OptionDefaults<CollectorPace> = {
  messageLifetimeMs: option(POSITIVE, 60_000),
  rowsPerStep: option(COUNT, 256),
  pauseMs: option(POSITIVE, 1),
  restMs: option(POSITIVE, 1_000),
  historyMs: option(WHOLE, 0),
};

const RULES: OptionRules<CollectorOptions> = { ...PACE, onWarning: FUNCTION, signal: SIGNAL };

/**
 * With the defaults, a cycle an hour looks at every row. More: what only such a cycle finds stays
 * longer (cycle.ts). Fewer: more of the collector's time goes into rows that have not changed.
 */
const SHORT_CYCLES_MAX = 60;

/**
 * @param manifest of the store that is collected
 * @throws INVALID_ARGUMENT naming the wrong option
 */
export function settingsOf(
  options: CollectorOptions,
  { name, messageLifetimeMs: leastMs = 0, skipsOldRows = false }: Manifest,
): CollectorSettings {
  checkOptions('the collector', options, RULES);
  const leastByDefault = Math.max(PACE.messageLifetimeMs.standard, leastMs);
  const { messageLifetimeMs = leastByDefault } = options;
  if (messageLifetimeMs < leastMs) {
    const message = `messageLifetimeMs must be at least ${leastMs}, not ${messageLifetimeMs}: the store ${name} may apply a call that late`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return {
    ...filledIn(PACE, { ...options, messageLifetimeMs }),
    fences: false, // A wait between cycles is welcome, and refuses nothing that others have sent.
    shortCyclesMax: skipsOldRows ? SHORT_CYCLES_MAX : 0,
  };
}
