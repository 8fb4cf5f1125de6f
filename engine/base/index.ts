/** The front door of the base layer: what everything else, the batch baseline included, may lean on. */
export { assert, unreachable } from './assert.ts';
export { PercolatorError, isRetryable, type ErrorCode, type TransactionName } from './errors.ts';
export { viewOf } from './bytes.ts';
export { systemClock, type Clock, type SleepOptions } from './clock.ts';
export { isWithin, type Moment, momentOf } from './moment.ts';
export { createRandom, entropySeed, type Random } from './random.ts';
export { isFinal, type NewTrouble, type Trouble, type TroubleKind, Troubles } from './troubles.ts';
