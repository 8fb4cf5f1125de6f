/**
 * An error that the user can repair: a wrong option, a missing file, a folder that cannot be
 * written, a corrupt record.
 *
 * Its message is one clear sentence that names the option or file, the value found, and the values
 * allowed. Code that throws it promises that no file is half-written. `runCommand` prints the
 * sentence alone, with a stack trace only if `--verbose` is given, and exits with code 2.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * The error that ended a piece of work. If the clean-up failed, too, `await using` throws a
 * `SuppressedError` around both errors, whose own message names neither.
 */
export function firstErrorOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstErrorOf(error.suppressed) : error;
}
