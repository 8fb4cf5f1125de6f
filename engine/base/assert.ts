/**
 * Assertions: what the programmer believes, checked in the running code.
 *
 * An assertion states a property of this program, never of the world: a full disk, a conflict or a
 * lost answer is a `PercolatorError`. A failed assertion is a bug in the engine.
 */

/** Throws if `condition` does not hold. The message states the property that was believed. */
export function assert(condition: boolean, property: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${property}`);
}

/** Ends an exhaustive `switch`: reached only if a case of a closed union was forgotten. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
