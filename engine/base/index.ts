/**
 * The front door of the base layer, on which the rest of the engine, the workloads and the batch
 * baseline may depend.
 */
export { assert, unreachable } from './errors.ts';
export {
  type DamagedRow,
  type ErrorCode,
  hasCode,
  isRetryable,
  PercolatorError,
  takeAll,
  type TransactionName,
} from './errors.ts';
export { unlessAborted } from './abort.ts';
export { BoundedMap } from './bounded-map.ts';
export { asciiOf, byteLength, bytesOf, compareTexts, copyOf, textOf, viewOf } from './host.ts';
export { systemClock, type Clock, type SleepOptions } from './clock.ts';
export { loadPackages } from './optional-packages.ts';
export { isWithin, type Moment, momentOf } from './clock.ts';
export { createRandom, entropyName, entropySeed, type Random } from './random.ts';
export { isFinal, type NewWarning, type Warning, type WarningKind, Warnings } from './warnings.ts';
