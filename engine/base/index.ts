/**
 * The front door of the base layer, on which the rest of the engine, the workloads and the batch
 * baseline may depend.
 */
export { assert, unreachable } from './assert.ts';
export {
  type DamagedRow,
  type ErrorCode,
  hasCode,
  isRetryable,
  PercolatorError,
  type TransactionName,
} from './errors.ts';
export { viewOf } from './bytes.ts';
export { systemClock, type Clock, type SleepOptions } from './clock.ts';
export { isWithin, type Moment, momentOf } from './moment.ts';
export { createRandom, entropyName, entropySeed, type Random } from './random.ts';
export { isFinal, type NewTrouble, type Trouble, type TroubleKind, Troubles } from './troubles.ts';
