/**
 * The meaning of a failed call of HBase: whether it may be sent again; and for a mutation, whether
 * it can have been applied.
 *
 * HBase names the class of a Java exception. The classes in `BEFORE` are thrown before a server
 * touches a region, so nothing was applied and even a conditional mutation may be sent again. Those
 * in `REFUSALS` say that nothing was applied and that another try is useless. With every other
 * class, and without an answer to a call that was sent, a mutation is in doubt.
 */
import { type ErrorCode, PercolatorError } from '../../base/index.ts';

export type FailureKind =
  /** The call did not leave this process. */
  | 'unsent'
  /** The connection ended before the answer. */
  | 'lost'
  /** No answer before the deadline. */
  | 'late'
  | 'exception';

export class HBaseFailure extends Error {
  readonly kind: FailureKind;
  /** The class of the Java exception, without its package. */
  readonly className: string;

  constructor(kind: FailureKind, message: string, className = '', cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.className = className;
  }

  /** @param stack the message and the stack; lines after the first are for Java's own developers */
  static ofException(className: string, stack: string): HBaseFailure {
    const [first = ''] = stack.split('\n', 1);
    const name = className.slice(className.lastIndexOf('.') + 1);
    const text = first.startsWith(className) ? first.slice(className.length) : first;
    const message = `${name}${text === '' || text.startsWith(':') ? text : `: ${text}`}`;
    return new HBaseFailure('exception', message.slice(0, 500), name);
  }
}

/** Thrown before anything is touched; the region may be elsewhere. */
const ELSEWHERE = [
  'NotServingRegionException',
  'RegionMovedException',
  'RegionOpeningException',
  'WrongRegionException',
  'RegionServerStoppedException',
  'RegionServerAbortedException',
  'ServerNotRunningYetException',
  'UnknownRegionException',
];
/** Thrown before anything is touched; the server has no time at the moment. */
const BUSY = [
  'CallQueueTooBigException',
  'CallDroppedException',
  'RegionTooBusyException',
  'RpcThrottlingException',
  'PleaseHoldException',
  'MasterNotRunningException',
  'MasterStoppedException',
  'NotAllMetaRegionsOnlineException',
];
const BEFORE: ReadonlySet<string> = new Set([...ELSEWHERE, ...BUSY]);

/** Refusals for good: nothing was applied. */
const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  NoSuchColumnFamilyException: 'FAMILY_NOT_FOUND',
  TableNotFoundException: 'TABLE_NOT_FOUND',
  TableNotEnabledException: 'STORE_UNAVAILABLE',
  NamespaceNotFoundException: 'STORE_REFUSED',
  AccessDeniedException: 'STORE_REFUSED',
  UnknownProtocolException: 'STORE_REFUSED',
  UnknownServiceException: 'STORE_REFUSED',
  CorruptHFileException: 'STORE_DAMAGED', // Thrown by a read, also by that of a check.
  DoNotRetryIOException: 'INVALID_ARGUMENT',
  FailedSanityCheckException: 'INVALID_ARGUMENT',
  RequestTooBigException: 'INVALID_ARGUMENT',
};

/** What a call does; it decides what a lost answer means. */
export type Purpose =
  | 'read'
  /** Blind: applying it twice is the same as once. */
  | 'mutation'
  | 'conditional';

/**
 * Whether the call may be sent again: nothing was applied, or applying it again changes nothing. An
 * exception that no list names is worth another try of what may be repeated: most are transient.
 */
export function mayRepeat(failure: unknown, purpose: Purpose): boolean {
  if (!(failure instanceof HBaseFailure)) return false;
  if (failure.kind === 'unsent' || BEFORE.has(failure.className)) return true;
  return purpose !== 'conditional' && !(failure.className in REFUSALS);
}

/** Whether no process listens at the address, or there is no such host. */
export function isNoServer(failure: unknown): boolean {
  const cause = failure instanceof HBaseFailure ? failure.cause : undefined;
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND';
}

/** What a call has failed with. Rethrows a mistake of this program, which is no answer. */
export function asFailure(error: unknown): HBaseFailure | PercolatorError {
  if (error instanceof HBaseFailure || error instanceof PercolatorError) return error;
  throw error;
}

/** @param what describes the call in the message: `reading t/r` */
export function errorOf(error: unknown, purpose: Purpose, what: string): PercolatorError {
  const failure = asFailure(error);
  if (failure instanceof PercolatorError) return failure;
  const message = `${what}: ${failure.message}`;
  return new PercolatorError(codeOf(failure, purpose), message, { cause: failure });
}

function codeOf(failure: HBaseFailure, purpose: Purpose): ErrorCode {
  const refusal = REFUSALS[failure.className];
  if (refusal !== undefined) return refusal;
  const isHarmless = failure.kind === 'unsent' || BEFORE.has(failure.className);
  return purpose === 'read' || isHarmless ? 'STORE_UNAVAILABLE' : 'STORE_IN_DOUBT';
}
