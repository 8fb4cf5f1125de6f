/**
 * The meaning of a failed call for its caller, as an error of the engine.
 *
 * The important question is whether a mutation can have been applied. It cannot if the server
 * refused it with a code that says so, or never received it. With every other code, including lost
 * answers and codes unknown to us, it is in doubt. A call that may be sent twice is sent again
 * while it fails for a passing reason (`retrying`).
 */
import {
  type Clock,
  type ErrorCode,
  isWithin,
  momentOf,
  PercolatorError,
} from '../../base/index.ts';

/** The status codes of gRPC that occur here. */
export const Code = {
  ok: 0,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export interface Failure {
  readonly code: number;
  readonly details: string;
  readonly isUnsent: boolean;
}

/** The effect of a call; it decides what a lost answer means. */
export type Purpose = 'read' | 'mutation';

/** @param what describes the call in the message: `reading t/r` */
export function errorOf(reason: unknown, purpose: Purpose, what: string): PercolatorError {
  if (reason instanceof PercolatorError) return reason;
  const failure = failureOf(reason);
  const [code, explanation] = meaningOf(failure, purpose);
  const message = `${what}: ${explanation}`;
  return new PercolatorError(code, message, { cause: reason });
}

export function failureOf(reason: unknown): Failure {
  const { code, details, message, isUnsent } = reason as Partial<Failure> & { message?: string };
  const text = details ?? message ?? String(reason);
  return {
    code: typeof code === 'number' ? code : Code.unknown,
    details: text,
    isUnsent: isUnsent ?? UNSENT.test(text),
  };
}

/**
 * How grpc-js says that the server has not processed a call, and never will: it was not sent, or
 * the server refused its stream, which by HTTP/2's definition means that.
 */
const UNSENT = /^(?:No connection established|Name resolution failed|Stream refused by server)/;

/** Those of Google's own client: also a server that gave up early, and a quota that is used up. */
const PASSING: ReadonlySet<number> = new Set([
  Code.deadlineExceeded,
  Code.resourceExhausted,
  Code.aborted,
  Code.unavailable,
]);

/** Whether another try is useful, if the call may be made twice. */
export function isPassing({ code, details }: Failure): boolean {
  if (isTooLarge(code, details)) return false;
  return PASSING.has(code) || (code === Code.internal && CUT_STREAM.test(details));
}

/** How clients and proxies say that a stream ended without a status. */
const CUT_STREAM = /rst.stream|unexpected eos/i;

/** Not a quota: gRPC's own bound of a message, by which no copy of this one will ever pass. */
function isTooLarge(code: number, details: string): boolean {
  return (
    code === Code.resourceExhausted && /message (?:is )?(?:larger|too large|exceeds)/i.test(details)
  );
}

function meaningOf(
  { code, details, isUnsent }: Failure,
  purpose: Purpose,
): readonly [ErrorCode, string] {
  switch (code) {
    case Code.notFound:
      return isAboutFamily(details) ? ['FAMILY_NOT_FOUND', details] : ['TABLE_NOT_FOUND', details];
    case Code.invalidArgument:
    case Code.outOfRange:
      return ['INVALID_ARGUMENT', details];
    case Code.permissionDenied:
    case Code.unauthenticated:
      return ['STORE_REFUSED', `the credentials do not allow it: ${details}`];
    case Code.failedPrecondition:
      return ['STORE_REFUSED', explainPrecondition(details)];
    case Code.unimplemented:
      return ['STORE_REFUSED', `the server cannot do it: ${details}`];
    case Code.unknown:
      // The emulator uses this code for unknown families.
      if (isAboutFamily(details)) return ['FAMILY_NOT_FOUND', details];
      break;
    case Code.resourceExhausted:
      if (isTooLarge(code, details)) return ['INVALID_ARGUMENT', details];
      break;
    case Code.dataLoss:
      // What becomes of a mutation after this answer is not documented.
      if (purpose === 'read') return ['STORE_DAMAGED', details];
      break;
    default:
      break;
  }
  const isHarmless = purpose === 'read' || isUnsent;
  return [isHarmless ? 'STORE_UNAVAILABLE' : 'STORE_IN_DOUBT', details];
}

function isAboutFamily(details: string): boolean {
  return /\b(?:column |unknown )family\b/i.test(details);
}

function explainPrecondition(details: string): string {
  const isAboutProfile = /transaction|single.?row|single.?cluster|multi.?cluster|routing/i;
  if (!isAboutProfile.test(details)) return details;
  return (
    'the app profile does not allow single-row transactions, which every commit needs; ' +
    `use one with single-cluster routing that allows them (${details})`
  );
}

/*
 * Calls that may be sent twice are sent again until their deadline. The last failure is thrown; but
 * if any try may have been applied, the call is in doubt, because an unsent last try says nothing
 * about the earlier ones.
 */

export interface Patience {
  readonly clock: Clock;
  /** Deadline of each call, including retries. */
  readonly timeoutMs: number;
}

const RETRY_MS_MIN = 10;
const RETRY_MS_MAX = 500;

/**
 * Runs `send` until it succeeds, fails for good, or the deadline has passed.
 * @param asError the error of the engine for a failed try
 * @param send makes one try, within the time that is left
 */
export async function retrying<T>(
  { clock, timeoutMs }: Patience,
  asError: (error: unknown) => PercolatorError,
  send: (leftMs: number) => Promise<T>,
): Promise<T> {
  const begunAt = momentOf(clock);
  let isInDoubt = false;
  for (let leftMs = timeoutMs, restMs = RETRY_MS_MIN; ;) {
    try {
      return await send(leftMs);
    } catch (error) {
      const meaning = asError(error);
      isInDoubt ||= meaning.code === 'STORE_IN_DOUBT';
      const isFinal = error instanceof PercolatorError || !isPassing(failureOf(error));
      const mayRest = !isFinal && isWithin(clock, timeoutMs - restMs, begunAt);
      if (mayRest) await clock.sleep(restMs);
      // Checked again after the rest, during which the process may have been suspended.
      if (!mayRest || !isWithin(clock, timeoutMs, begunAt)) {
        throw isInDoubt ? inDoubt(meaning) : meaning;
      }
      leftMs = begunAt.monotonicMs + timeoutMs - clock.monotonicMs();
      restMs = Math.min(2 * restMs, RETRY_MS_MAX);
    }
  }
}

function inDoubt({ message, cause }: PercolatorError): PercolatorError {
  return new PercolatorError('STORE_IN_DOUBT', message, { cause });
}
