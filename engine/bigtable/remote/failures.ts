/**
 * What a failed call means for who made it, in the engine's words.
 *
 * The question that matters is whether a mutation can have been applied. It cannot if the server refused it
 * with a code that says so, or has never seen it. With every other code, and with those that say that
 * the answer was lost, it is in doubt, and so it is with codes that nobody has thought of.
 */
import { type ErrorCode, PercolatorError } from '../../base/index.ts';
import { Code } from './http2/status.ts';

export interface Failure {
  readonly code: number;
  readonly details: string;
  readonly isUnsent: boolean;
}

/** What a call did; it decides what a lost answer means. */
export type Purpose = 'read' | 'mutation';

/** @param what the call, for people: `reading t/r` */
export function errorOf(reason: unknown, purpose: Purpose, what: string): PercolatorError {
  if (reason instanceof PercolatorError) return reason;
  const failure = failureOf(reason);
  const [code, explanation] = meaningOf(failure, purpose);
  const message = `${what}: ${explanation}`;
  return new PercolatorError(code, message, { cause: reason });
}

/** The same for grpc-js's errors and for our own. */
export function failureOf(reason: unknown): Failure {
  const { code, details, message, isUnsent } = reason as Partial<Failure> & { message?: string };
  const text = details ?? message ?? String(reason);
  return {
    code: typeof code === 'number' ? code : Code.unknown,
    details: text,
    // What grpc-js says before it has sent anything.
    isUnsent: isUnsent ?? /^(?:No connection established|Name resolution failed)/.test(text),
  };
}

/** Worth another try, if what is tried may be done twice. */
export function isPassing({ code }: Failure): boolean {
  return code === Code.unavailable || code === Code.aborted;
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
      // The emulator has no better code for it.
      if (isAboutFamily(details)) return ['FAMILY_NOT_FOUND', details];
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
