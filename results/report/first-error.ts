/**
 * The error that ended a piece of work, although its clean-up failed, too: `await using` then
 * throws a `SuppressedError` around both, whose own message names neither.
 */
export function firstErrorOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstErrorOf(error.suppressed) : error;
}
