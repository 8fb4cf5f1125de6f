/**
 * One call: a request message, any number of answers, and a status at the end.
 *
 *     headers, one message ──▶ server ──▶ headers, messages, trailers with the status
 *                                     ──▶ headers with the status and nothing else
 *                                     ──▶ reset, or the connection is lost
 *
 * In every case `onEnd` is called exactly once. A status says whether the server can have processed
 * the call, which no caller could tell: "not connected" is harmless, "connection lost" leaves a
 * mutation in doubt.
 */
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2';
import { type Clock, isWithin, momentOf } from '../../../base/index.ts';
import { CANCEL, type Connection } from './connection.ts';
import type { Deadlines } from '../../deadlines.ts';
import { framed, MessageReader } from './messages.ts';
import { type CallStatus, Code, statusIn, statusOfHttp, statusOfReset } from './status.ts';

export interface CallRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly message: Uint8Array;
  /** Default: no timeout. */
  readonly timeoutMs?: number | undefined;
}

export interface CallServices {
  readonly connection: Connection;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

export interface CallHandler {
  onMessage(message: Buffer): void;
  onEnd(status: CallStatus): void;
}

export class Call {
  readonly #connection: Connection;
  readonly #messages = new MessageReader();
  /**
   * Undefined once the call has ended. Only a full garbage collection frees one of Node's streams,
   * and until then all that the stream refers to stays in memory; so the call lets its handler go.
   */
  #handler: CallHandler | undefined;
  #stream: ClientHttp2Stream | undefined;
  #status: CallStatus | undefined;
  #cause: Error | undefined;
  /** The state of the stream, also before there is one. */
  #isPaused = false;
  #forgetDeadline: (() => void) | undefined;

  constructor(
    { connection, deadlines, clock }: CallServices,
    request: CallRequest,
    handler: CallHandler,
  ) {
    this.#connection = connection;
    this.#handler = handler;
    const { timeoutMs } = request;
    if (timeoutMs !== undefined) {
      this.#forgetDeadline = deadlines.add(timeoutMs, () => this.#expire(timeoutMs));
    }
    const session = connection.session();
    if (session instanceof Promise) void this.#sendWhenConnected(session, request, clock);
    else this.#send(session, request);
  }

  cancel(): void {
    this.#abandon({ code: Code.cancelled, details: 'cancelled by the caller' });
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#stream?.resume();
  }

  async #sendWhenConnected(
    connecting: Promise<ClientHttp2Session>,
    request: CallRequest,
    clock: Clock,
  ): Promise<void> {
    const { timeoutMs } = request;
    const begun = momentOf(clock);
    try {
      const session = await connecting;
      // A process that stood still meanwhile, or whose machine was suspended, sends nothing late.
      if (timeoutMs !== undefined && !isWithin(clock, timeoutMs, begun)) this.#expire(timeoutMs);
      if (this.#handler !== undefined) this.#send(session, request);
    } catch (error) {
      const details = `not connected: ${(error as Error).message}`;
      this.#end({ code: Code.unavailable, details, isUnsent: true });
    }
  }

  #send(session: ClientHttp2Session, { headers, message }: CallRequest): void {
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(headers);
    } catch (error) {
      // The session has just been closed. Nothing was sent.
      const details = `not connected: ${(error as Error).message}`;
      this.#end({ code: Code.unavailable, details, isUnsent: true });
      return;
    }
    this.#stream = stream;
    stream.on('response', (answer) => this.#begin(answer));
    stream.on('data', (piece: Buffer) => this.#take(piece));
    stream.on('trailers', (trailers) => {
      this.#status = statusIn(trailers) ?? this.#status;
    });
    stream.on('end', () => {
      if (this.#status !== undefined) this.#end(this.#status);
    });
    stream.on('error', (error) => {
      this.#cause = error;
    });
    stream.on('close', () => this.#close(stream));
    if (this.#isPaused) stream.pause();
    stream.end(framed(message));
  }

  #begin(answer: IncomingHttpHeaders): void {
    const status = answer[':status'];
    if (typeof status === 'number' && status !== 200) {
      this.#abandon(statusIn(answer) ?? statusOfHttp(status));
      return;
    }
    this.#status = statusIn(answer);
  }

  #take(piece: Buffer): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    try {
      for (const message of this.#messages.push(piece)) handler.onMessage(message);
    } catch (error) {
      this.#abandon({ code: Code.internal, details: (error as Error).message });
    }
  }

  #close(stream: ClientHttp2Stream): void {
    if (this.#handler === undefined) return;
    this.#end(this.#status ?? statusOfReset(stream.rstCode ?? 0, this.#cause));
  }

  #expire(timeoutMs: number): void {
    const isUnsent = this.#stream === undefined;
    const details = `no answer in ${timeoutMs} ms`;
    this.#abandon({ code: Code.deadlineExceeded, details, isUnsent });
    // Perhaps the machine has vanished: TCP would notice only after a quarter of an hour.
    this.#connection.check();
  }

  #abandon(status: CallStatus): void {
    const stream = this.#stream;
    this.#end(status);
    stream?.close(CANCEL);
  }

  #end(status: CallStatus): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    this.#forgetDeadline?.();
    this.#handler = undefined;
    this.#forgetDeadline = undefined;
    this.#stream = undefined;
    const isCut = status.code === Code.ok && !this.#messages.isEmpty;
    const details = 'the answer ended in the middle of a message';
    handler.onEnd(isCut ? { code: Code.internal, details } : status);
  }
}
