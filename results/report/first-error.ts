/**
 * The error that ended a piece of work. If the clean-up failed, too, `await using` throws a
 * `SuppressedError` around both errors, whose own message names neither.
 */
export function firstErrorOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstErrorOf(error.suppressed) : error;
}
