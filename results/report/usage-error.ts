/**
 * The one error a user can repair: a wrong option, a missing file, a folder that cannot be written,
 * a corrupt record.
 *
 * Its message is one clear sentence that names the option or file, what was found there, and what
 * would be right. Whoever throws it promises to have left nothing half-written. `runCommand` prints
 * the sentence alone, without a stack trace, and exits with code 2.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
