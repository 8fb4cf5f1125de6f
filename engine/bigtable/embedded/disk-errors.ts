/** What an error of the disk means for its caller: whether to try again, and if not, why. */
import { type ErrorCode, PercolatorError } from '../../base/index.ts';

/** Until there is room: on the file system, or in the user's quota. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** Until an operator changes a path or its permissions. */
const REFUSED: ReadonlySet<string> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
]);
const STAYING: ReadonlySet<ErrorCode> = new Set([
  'STORE_DAMAGED',
  'STORE_REFUSED',
  'STORE_FULL',
  'WRONG_DATABASE',
]);

/** The code for a failure that stays until its cause is mended; otherwise STORE_UNAVAILABLE. */
export function codeOf(cause: unknown): ErrorCode {
  if (cause instanceof PercolatorError) {
    return STAYING.has(cause.code) ? cause.code : 'STORE_UNAVAILABLE';
  }
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  if (FULL.has(code)) return 'STORE_FULL';
  return REFUSED.has(code) ? 'STORE_REFUSED' : 'STORE_UNAVAILABLE';
}

export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'for a reason that is no error';
  const isFull = codeOf(cause) === 'STORE_FULL' && !(cause instanceof PercolatorError);
  return isFull ? `the disk is full: ${cause.message}` : cause.message;
}

/** Until what the sentence says is changed. */
export function refused(what: string, cause?: unknown): PercolatorError {
  return new PercolatorError('STORE_REFUSED', what, { cause });
}

/** For a process that had one store open, and finds another one in its place (P74). */
export function anotherStore(): PercolatorError {
  const what =
    'another store is in its place than the one that this process had open: put that one back, or open again';
  return new PercolatorError('WRONG_DATABASE', what);
}
