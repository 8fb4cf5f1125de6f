/**
 * One HTTP/2 connection to a server without TLS, reconnected when it is lost.
 *
 *     call ──▶ connected: its stream, at once
 *          ──▶ connecting: waits for the connection
 *          ──▶ failed a moment ago: refused, until it is time to try again
 *
 * The pause after a failure begins short, because a restarted server is there in a moment, and
 * doubles. No call waits in a queue for a server that is gone: callers that may repeat a call do so
 * (data-calls.ts).
 *
 * A connection takes no new calls, and ends with those it has, if the server is about to close it
 * (GOAWAY), or if it has used half of HTTP/2's stream numbers.
 */
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import type { Clock } from '../../../base/index.ts';
import type { Deadlines } from '../../deadlines.ts';

const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 1000;
const CONNECT_MS_MAX = 5000;
const PING_MS_MAX = 2000;
/** Half of a connection's stream numbers; at 25,000 a second they last six hours. */
const STREAMS_MAX = 2 ** 29;
/** How much the server may send before we have read it: per answer, and for all together. */
const STREAM_WINDOW_BYTES = 4 << 20;
const CONNECTION_WINDOW_BYTES = 64 << 20;
/**
 * In megabytes. A few large requests reach Node's default of 10, after which it refuses streams.
 */
const MEMORY_MAX = 1024;

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** How many calls a session takes before another one replaces it. Default: 2^29. */
  readonly streamsMax?: number | undefined;
}

export class Connection {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #streamsMax: number;
  /** The session that takes new calls. */
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  /** Sessions that are not closed yet, including those that take no new calls. */
  readonly #open = new Map<ClientHttp2Session, Socket>();
  #streams = 0;
  #backoffMs = BACKOFF_MS_MIN;
  #notBeforeMs = 0;
  #lastFailure: Error | undefined;
  #isClosed = false;

  constructor(address: string, { clock, deadlines, streamsMax = STREAMS_MAX }: ConnectionOptions) {
    this.#address = address;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#streamsMax = streamsMax;
  }

  /**
   * A session for one more call: the session itself if there is one, so that the call is sent in
   * this turn. Rejects if the server cannot be reached.
   */
  session(): ClientHttp2Session | Promise<ClientHttp2Session> {
    const session = this.#session;
    if (session !== undefined) {
      if (!session.destroyed && ++this.#streams < this.#streamsMax) return session;
      this.#retire(session); // It would refuse this call already.
    }
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#isClosed) return Promise.reject(new Error('the connection was closed'));
    if (this.#clock.monotonicMs() < this.#notBeforeMs) {
      return Promise.reject(this.#lastFailure ?? new Error('not connected'));
    }
    this.#connecting = this.#connect();
    return this.#connecting;
  }

  /**
   * Pings the server. If it does not answer in time, the connection is given up, with all its
   * calls.
   */
  check(): void {
    const session = this.#session;
    if (session === undefined || session.destroyed) return;
    const stop = this.#deadlines.add(PING_MS_MAX, () => {
      session.destroy(new Error('the server no longer answers'));
    });
    session.ping((): void => stop());
  }

  /** Resolves when the calls in flight have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#session = undefined;
    await Promise.all(
      [...this.#open.keys()].map((session) => {
        // Not as a callback of `close`, which never calls it if the session was already closing.
        const closed = new Promise<void>((resolve) => session.once('close', () => resolve()));
        this.#retire(session);
        return closed;
      }),
    );
  }

  /** Ends the socket of a session whose last call has ended, in case the server does not. */
  #cutWhenUnused(session: ClientHttp2Session, socket: Socket): void {
    this.#deadlines.add(PING_MS_MAX, () => {
      if (session.destroyed) socket.destroy();
      else this.#cutWhenUnused(session, socket);
    });
  }

  async #connect(): Promise<ClientHttp2Session> {
    try {
      const session = await this.#openSession();
      this.#backoffMs = BACKOFF_MS_MIN;
      this.#streams = 0;
      this.#session = session;
      return session;
    } catch (error) {
      this.#lastFailure = error as Error;
      this.#notBeforeMs = this.#clock.monotonicMs() + this.#backoffMs;
      this.#backoffMs = Math.min(2 * this.#backoffMs, BACKOFF_MS_MAX);
      throw error;
    } finally {
      this.#connecting = undefined;
    }
  }

  #openSession(): Promise<ClientHttp2Session> {
    const url = new URL(`http://${this.#address}`);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const socket = connectSocket({ host, port: Number(url.port || 80) });
    const session = connect(url, {
      createConnection: () => socket,
      maxSessionMemory: MEMORY_MAX,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#open.set(session, socket);
    const stop = this.#deadlines.add(CONNECT_MS_MAX, () => {
      session.destroy(new Error(`no connection to ${this.#address} in ${CONNECT_MS_MAX} ms`));
    });
    session.on('goaway', () => this.#retire(session));
    session.on('close', () => {
      stop();
      this.#open.delete(session);
      this.#retire(session);
    });
    return new Promise((resolve, reject) => {
      session.on('error', reject); // Later errors reach each stream.
      session.once('close', () => reject(new Error(`no connection to ${this.#address}`)));
      session.once('connect', () => {
        stop();
        session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
        resolve(session);
      });
    });
  }

  /** Ends the use of the session for new calls. */
  #retire(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
    if (!session.closed && !session.destroyed) session.close();
    const socket = this.#open.get(session);
    if (socket !== undefined) this.#cutWhenUnused(session, socket);
  }
}

/** Tells the server that the caller no longer waits for the answer. */
export const CANCEL: number = constants.NGHTTP2_CANCEL;
