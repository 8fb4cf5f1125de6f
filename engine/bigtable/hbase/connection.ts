/**
 * One connection to a server of HBase, for one of its services, made anew when it is lost.
 *
 *     hello     "HBas", version 0, authentication 80 (none); the length and header of the connection
 *               with Kerberos, another beginning comes before the header (kerberos.ts)
 *     call      length of the rest; header and parameter, each after its own length
 *     answer    the same; answers come in any order, and a number says which call each is for
 *
 * A call fails in one of four ways, which matter to a mutation: it was never sent, it was answered
 * with a Java exception, the connection was lost before an answer, or the deadline has passed.
 * Nothing is repeated here. The deadlines of many calls share one sleep (`Deadlines`).
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Clock, isWithin, type Moment, momentOf, PercolatorError } from '../../base/index.ts';
import { HBaseFailure } from './failures.ts';
import { hostOf, type Kerberos } from './kerberos.ts';
import { type Codec, type Framed, messageOf, readerOf } from './messages.ts';
import type { Channel } from './servers.ts';

const PREAMBLE = Buffer.from([...Buffer.from('HBas'), 0, 80]);
const CONNECT_MS_MAX = 3000;
/** A key distribution center may be asked, and several of them may be tried. */
const AUTHENTICATE_MS_MAX = 10_000;
/** After a failure to connect, calls are refused for this long, instead of each connecting anew. */
const PAUSE_MS = 100;
/** After so long without a byte for calls that wait, another connection is made. */
const SILENCE_MS_MAX = 10_000;
/** The number of an answer that is for the connection as a whole. */
const FOR_ALL = 2 ** 32 - 1;

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Through TLS, with the authorities that Node trusts. */
  readonly tls: boolean;
  /** The name under which HBase's logs and permissions know this client, without Kerberos. */
  readonly user: string;
  /** Proves who the user is, and demands the same of the server. */
  readonly kerberos?: Kerberos | undefined;
}

interface Pending {
  readonly response: Codec<object>;
  readonly resolve: (response: never) => void;
  readonly reject: (failure: unknown) => void;
  readonly stop: () => void;
}

interface ResponseHeader {
  readonly callId: number;
  readonly exception?: {
    readonly exceptionClassName?: string;
    readonly stackTrace?: string;
  } | null;
}

export class Connection implements Channel {
  readonly #address: string;
  readonly #service: string;
  readonly #options: ConnectionOptions;
  readonly #messages: { readonly request: Framed; readonly response: Framed };
  #socket: Socket | undefined;
  #connecting: Promise<Socket> | undefined;
  /** The one on which no call is sent yet. */
  #newSocket: Socket | undefined;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;
  /** Since when calls wait and nothing has been received; undefined if no call waits. */
  #silentSinceMs: number | undefined;
  #notBeforeMs = 0;
  #lastFailure: unknown;
  #isClosed = false;

  /** @param address `host:port` */
  constructor(address: string, service: string, options: ConnectionOptions) {
    this.#address = address;
    this.#service = service;
    this.#options = options;
    this.#messages = { request: messageOf('RequestHeader'), response: messageOf('ResponseHeader') };
  }

  async call<Response>(
    methodName: string,
    message: { readonly type: Framed; readonly value: object; readonly response: Codec<Response> },
    timeoutMs: number,
  ): Promise<Response> {
    let socket = this.#socket;
    let leftMs = timeoutMs;
    if (socket === undefined) {
      const begun = momentOf(this.#options.clock);
      socket = await this.#connected();
      leftMs = this.#leftMs(timeoutMs, begun);
    }
    const callId = this.#nextCall();
    const timeout = Math.ceil(leftMs);
    const header = { callId, methodName, requestParam: true, timeout };
    const writer = message.type.append(message.value, this.#messages.request.append(header));
    return new Promise<Response>((resolve, reject) => {
      const stop = this.#options.deadlines.add(leftMs, () => {
        this.#pending.delete(callId);
        this.#leaveIfSilent(socket);
        reject(new HBaseFailure('late', `no answer from ${this.#address} in ${timeout} ms`));
      });
      const response = message.response as unknown as Codec<object>;
      this.#pending.set(callId, { response, resolve, reject, stop });
      this.#silentSinceMs ??= this.#options.clock.monotonicMs();
      send(socket, writer.finish());
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
    this.#newSocket?.destroy();
  }

  /**
   * How much time is left after connecting. The process may have been suspended meanwhile.
   * @throws HBaseFailure `unsent` if none is left
   */
  #leftMs(timeoutMs: number, begun: Moment): number {
    const { clock } = this.#options;
    if (isWithin(clock, timeoutMs, begun)) {
      return begun.monotonicMs + timeoutMs - clock.monotonicMs();
    }
    const message = `no connection to ${this.#address} in ${Math.ceil(timeoutMs)} ms`;
    throw new HBaseFailure('unsent', message);
  }

  #nextCall(): number {
    this.#calls = (this.#calls + 1) % FOR_ALL;
    return this.#calls;
  }

  #connected(): Promise<Socket> {
    if (this.#isClosed) throw new HBaseFailure('unsent', 'the connection was closed');
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#options.clock.monotonicMs() < this.#notBeforeMs) throw this.#lastFailure;
    this.#connecting = this.#connect();
    return this.#connecting;
  }

  async #connect(): Promise<Socket> {
    try {
      const socket = await this.#open();
      if (this.#isClosed) {
        socket.destroy();
        throw new Error('the connection was closed');
      }
      const preamble = await this.#begin(socket);
      this.#receiveFrom(socket);
      this.#socket = socket;
      send(socket, this.#hello(), preamble);
      return socket;
    } catch (error) {
      this.#lastFailure = whyNotConnected(error, this.#address);
      this.#notBeforeMs = this.#options.clock.monotonicMs() + PAUSE_MS;
      throw this.#lastFailure;
    } finally {
      this.#connecting = undefined;
      this.#newSocket = undefined;
    }
  }

  /** @returns what to send before the header of the connection */
  async #begin(socket: Socket): Promise<Buffer> {
    const { kerberos, deadlines } = this.#options;
    if (kerberos === undefined) return PREAMBLE;
    this.#newSocket = socket;
    const stop = deadlines.add(AUTHENTICATE_MS_MAX, () => {
      socket.destroy(new Error(`Kerberos has not let it in after ${AUTHENTICATE_MS_MAX} ms`));
    });
    try {
      await kerberos.authenticate(socket, this.#address);
      return Buffer.alloc(0);
    } finally {
      stop();
    }
  }

  #open(): Promise<Socket> {
    const host = hostOf(this.#address);
    const port = Number(this.#address.slice(this.#address.lastIndexOf(':') + 1));
    const { tls, deadlines } = this.#options;
    return new Promise((resolve, reject) => {
      const isReady = (): void => {
        stop();
        resolve(socket);
      };
      const socket = tls
        ? connectTls({ host, port, ...serverNameOf(host) }, isReady)
        : connectPlain({ host, port }, isReady);
      socket.setNoDelay(true);
      const stop = deadlines.add(CONNECT_MS_MAX, () => {
        socket.destroy(new Error(`not connected in ${CONNECT_MS_MAX} ms`));
      });
      socket.once('error', reject);
      socket.once('close', () => {
        stop();
        reject(new Error('the connection was closed'));
      });
    });
  }

  #hello(): Uint8Array {
    const { user, kerberos } = this.#options;
    // A name next to that of the ticket would ask for the rights of another user.
    const userInfo = kerberos === undefined ? { effectiveUser: user } : undefined;
    return messageOf('ConnectionHeader').encode({ userInfo, serviceName: this.#service });
  }

  #receiveFrom(socket: Socket): void {
    const frames = new Frames();
    let failure: unknown;
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => this.#lose(socket, failure));
    socket.resume().on('data', (bytes: Buffer) => {
      try {
        for (const frame of frames.add(bytes)) this.#receive(frame);
        const { clock } = this.#options;
        this.#silentSinceMs = this.#pending.size === 0 ? undefined : clock.monotonicMs();
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
  }

  #receive(frame: Buffer): void {
    const reader = readerOf(frame);
    const header = this.#messages.response.read(reader) as ResponseHeader;
    const { callId, exception } = header;
    const failure = exception && failureOf(exception);
    // A field that was not sent reads as its default, here 0.
    const isForAll = callId === FOR_ALL || !Object.hasOwn(header, 'callId');
    if (isForAll) throw this.#asFatal(failure);
    const pending = this.#pending.get(callId);
    if (pending === undefined) return; // Its deadline has passed.
    this.#pending.delete(callId);
    pending.stop();
    if (failure) {
      pending.reject(failure);
      return;
    }
    try {
      const length = reader.uint32();
      const body = frame.subarray(reader.pos, reader.pos + length);
      pending.resolve(pending.response.decode(body) as never);
    } catch (error) {
      pending.reject(new HBaseFailure('lost', `an answer cannot be read: ${String(error)}`));
    }
  }

  #asFatal(failure: HBaseFailure | null | undefined): Error {
    if (!failure) return new Error('an answer without the number of its call');
    if (failure.className !== 'AccessDeniedException') return failure;
    const server = `the HBase server ${this.#address}`;
    const sentence =
      this.#options.kerberos === undefined
        ? `${server} asks for Kerberos (${failure.message}); give the principal of the servers, as in ` +
          'hbase://host:16000?principal=hbase/_HOST@REALM'
        : `${server} refuses the user of the Kerberos ticket: ${failure.message}`;
    return new PercolatorError('STORE_REFUSED', sentence);
  }

  /**
   * The other machine is gone, or the network drops all packets: the system would report that after
   * a quarter of an hour. What is still in our own socket is dropped, and does not arrive later.
   */
  #leaveIfSilent(socket: Socket): void {
    const sinceMs = this.#silentSinceMs;
    if (this.#socket !== socket || sinceMs === undefined) return;
    if (this.#options.clock.monotonicMs() - sinceMs < SILENCE_MS_MAX) return;
    this.#socket = undefined;
    socket.resetAndDestroy();
  }

  /** Every call without an answer may have had its effect, or not. */
  #lose(socket: Socket, cause: unknown): void {
    if (this.#socket === socket) this.#socket = undefined;
    this.#silentSinceMs = undefined;
    const reason = cause instanceof Error ? cause.message : 'closed by the server';
    const failure =
      cause instanceof PercolatorError
        ? cause
        : new HBaseFailure('lost', `the connection to ${this.#address} was lost: ${reason}`);
    for (const { reject, stop } of this.#pending.values()) {
      stop();
      reject(failure);
    }
    this.#pending.clear();
  }
}

/** The name that TLS tells the server: RFC 6066 forbids an address there. */
export function serverNameOf(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

/** What is written in one turn is sent together. */
function send(socket: Socket, body: Uint8Array, before: Buffer = Buffer.alloc(0)): void {
  const frame = Buffer.allocUnsafe(before.length + 4 + body.length);
  frame.set(before, 0);
  frame.writeUInt32BE(body.length, before.length);
  frame.set(body, before.length + 4);
  if (socket.writableCorked === 0) {
    socket.cork();
    queueMicrotask(() => socket.uncork());
  }
  socket.write(frame);
}

function whyNotConnected(error: unknown, address: string): Error {
  if (error instanceof HBaseFailure || error instanceof PercolatorError) return error;
  if (isAboutTrust(error)) return untrusted(error, address);
  const message = `no connection to ${address}: ${(error as Error).message}`;
  return new HBaseFailure('unsent', message, '', error);
}

/** Node's codes for a certificate that it does not trust, or that is for another name. */
function isAboutTrust(error: unknown): error is Error {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /CERT|VERIFY/.test(code);
}

function untrusted({ message }: Error, address: string): PercolatorError {
  const [reason = ''] = message.split('; ', 1);
  return new PercolatorError(
    'STORE_REFUSED',
    `the HBase server ${address} shows a certificate that is not trusted: ${reason}; ` +
      'NODE_EXTRA_CA_CERTS can name a file with more authorities',
  );
}

function failureOf({
  exceptionClassName = 'java.lang.Exception',
  stackTrace = '',
}: NonNullable<ResponseHeader['exception']>): HBaseFailure {
  return HBaseFailure.ofException(exceptionClassName, stackTrace);
}

/** Cuts what a socket delivers into frames, each of which begins with its length in four bytes. */
const LENGTH_BYTES = 4;
/** Answers are far smaller; a larger length means that the other side speaks something else. */
const FRAME_BYTES_MAX = 1 << 30;

export class Frames {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** How many bytes must be there before another frame can be complete. */
  #needed = LENGTH_BYTES;

  /** The frames that are now complete. */
  add(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Buffer[] = [];
    for (;;) {
      this.#needed = LENGTH_BYTES;
      if (rest.length < LENGTH_BYTES) break;
      const length = rest.readUInt32BE(0);
      if (length > FRAME_BYTES_MAX) {
        throw new Error('the server does not speak the protocol of HBase');
      }
      this.#needed = LENGTH_BYTES + length;
      if (rest.length < this.#needed) break;
      frames.push(rest.subarray(LENGTH_BYTES, this.#needed));
      rest = rest.subarray(this.#needed);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return frames;
  }
}

/*
 * Keeps the deadlines of many calls with one sleep instead of a timer for each: tens of thousands
 * of calls come per second, and hardly one of them is ever late.
 *
 * `onLate` runs up to `TICK_MS` after the deadline.
 */

const TICK_MS = 50;

interface Entry {
  readonly dueMs: number;
  readonly onLate: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  /** Invariant: true while there is an entry. */
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onLate` after `timeoutMs`, unless the returned function is called before. */
  add(timeoutMs: number, onLate: () => void): () => void {
    const entry = { dueMs: this.#clock.monotonicMs() + timeoutMs, onLate };
    this.#entries.add(entry);
    if (!this.#isWatching) void this.#watch();
    return () => {
      this.#entries.delete(entry);
    };
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#entries.size > 0) {
      // In the background: the connection that is waited for keeps the process alive.
      await this.#clock.sleep(TICK_MS, undefined, { background: true });
      this.#endLate();
    }
    this.#isWatching = false;
  }

  #endLate(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const entry of this.#entries) {
      if (entry.dueMs > nowMs) continue;
      this.#entries.delete(entry);
      entry.onLate();
    }
  }
}
