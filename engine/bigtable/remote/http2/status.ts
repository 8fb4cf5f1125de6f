/** How a call ended, as a gRPC status, and the translation from HTTP/2's ways of ending. */
import { constants, type IncomingHttpHeaders } from 'node:http2';

/** The gRPC status codes that occur here. */
export const Code = {
  ok: 0,
  cancelled: 1,
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

export interface CallStatus {
  readonly code: number;
  readonly details: string;
  /** True if the server has certainly not processed the call, and never will. */
  readonly isUnsent?: boolean | undefined;
}

/** The error of gRPC's own clients, with whether the server can have seen the call. */
export class CallError extends Error {
  readonly code: number;
  readonly details: string;
  readonly isUnsent: boolean;

  constructor({ code, details, isUnsent = false }: CallStatus) {
    super(`${code}: ${details}`);
    this.code = code;
    this.details = details;
    this.isUnsent = isUnsent;
  }
}

/** The status in trailers, or in headers that are the whole answer; undefined if there is none. */
export function statusIn(headers: IncomingHttpHeaders): CallStatus | undefined {
  const code = headers['grpc-status'];
  if (typeof code !== 'string') return undefined;
  const message = headers['grpc-message'];
  return { code: Number(code), details: typeof message === 'string' ? decode(message) : '' };
}

/** A status for an answer that is not gRPC's, most likely a proxy's. */
export function statusOfHttp(status: number): CallStatus {
  return {
    code: CODES_OF_HTTP.get(status) ?? Code.unknown,
    details: `the server answered with HTTP status ${status}`,
  };
}

const CODES_OF_HTTP: ReadonlyMap<number, number> = new Map<number, number>([
  [400, Code.internal],
  [401, Code.unauthenticated],
  [403, Code.permissionDenied],
  [404, Code.unimplemented],
  [429, Code.unavailable],
  [502, Code.unavailable],
  [503, Code.unavailable],
  [504, Code.unavailable],
]);

/**
 * A status for a stream that ended without one.
 * @param cause the error of the stream, if there was one
 */
export function statusOfReset(rstCode: number, cause: Error | undefined): CallStatus {
  const { NGHTTP2_REFUSED_STREAM, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } =
    constants;
  switch (rstCode) {
    case NGHTTP2_REFUSED_STREAM: // By its definition, and after GOAWAY: never processed.
      return { code: Code.unavailable, details: 'the server refused the stream', isUnsent: true };
    case NGHTTP2_CANCEL:
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return { code: Code.unavailable, details: cause?.message ?? 'the connection was lost' };
    default: {
      // Node also resets a stream, with INTERNAL_ERROR, when its connection is lost.
      if (cause !== undefined && !isReset(cause)) {
        return { code: Code.unavailable, details: cause.message };
      }
      // The words of gRPC's own clients, by which callers know such an end.
      return { code: Code.internal, details: `Received RST_STREAM with code ${rstCode}` };
    }
  }
}

/** Whether the stream was reset on its own; other errors are those of its connection. */
function isReset(cause: NodeJS.ErrnoException): boolean {
  return cause.code === 'ERR_HTTP2_STREAM_ERROR';
}

/**
 * grpc-message is percent-encoded; a message that is not, or is malformed, is returned unchanged.
 */
function decode(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
