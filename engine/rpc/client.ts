/**
 * A connection to a gRPC server that reconnects quickly: it finds a restarted server within about
 * a fifth of a second.
 *
 * A call fails at once if the last attempt to connect has failed, and at its deadline if the server
 * is silent. It is never repeated here, because only the caller knows whether that is safe. An open
 * connection keeps the process alive.
 */
import type {
  ChannelOptions,
  Client,
  MethodDefinition,
  ServiceDefinition,
  ServiceError,
} from '@grpc/grpc-js';
import { TIMER_MS_MAX } from '../base/clock.ts';
import { type Clock, PercolatorError, Warnings } from '../base/index.ts';
import {
  checkVersion,
  describingService,
  type Description,
  fullNameOf,
  grpc,
  loadRpc,
  methodOf,
  STAYING,
  versioned,
} from './service.ts';
import { secureChannel, type SecureChannel } from './secure-channel.ts';
import { checkSecurity, type SecurityOptions } from './tls.ts';

export interface RpcClient {
  readonly address: string;
  /**
   * @throws STORE_UNAVAILABLE if the server could not answer; with the server's message, what stays
   *   until an operator changes it (`STAYING`); WRONG_DATABASE also if a server of another kind is
   *   there. STORE_CLOSED after `close`; PACKAGE_MISSING
   */
  call<Response>(
    method: string,
    request: object,
    options: { readonly deadlineMs: number },
  ): Promise<Response>;
  /** What the server says of itself. @throws as `call` */
  describe(options: { readonly deadlineMs: number }): Promise<Description>;
  /** For streaming calls. @throws PACKAGE_MISSING, STORE_CLOSED */
  open(): Promise<StreamLine>;
  /** The error that `call` would throw, for one of a stream. */
  explain(error: ServiceError): Promise<PercolatorError>;
  close(): void;
}

/** A connection for streams. */
export interface StreamLine {
  readonly channel: Client;
  /**
   * Aborts when there is another connection, with newer certificates: streams should go over to it,
   * before the certificates of this one expire.
   */
  readonly renewed: AbortSignal;
  /** Its streams have ended. */
  release(): void;
}

/**
 * Milliseconds of silence until a connection is probed, and then until it counts as broken: the
 * other machine is gone, or the network drops all packets, and the system reports neither. Without
 * this, its streams would wait forever.
 */
const KEEPALIVE_MS = 10_000;
/** How long a server of another kind may take to say what it is. */
const DESCRIBE_MS = 1_000;
/** How long a connection with a new certificate may take before the old one is kept. */
const RENEW_MS = 30_000;
const OPTIONS: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 20,
  'grpc.min_reconnect_backoff_ms': 20,
  'grpc.max_reconnect_backoff_ms': 200,
  'grpc.enable_retries': 0,
};

export interface ConnectOptions extends SecurityOptions {
  readonly clock: Clock;
  readonly keepaliveMs?: number | undefined;
  /** Hear of new certificates that cannot be used. Default: Node prints the first one. */
  readonly warnings?: Warnings | undefined;
}

/**
 * Loads the libraries, and connects, when it is first used.
 * @throws INVALID_ARGUMENT for an address that is not to be called without certificates, or
 *   certificates that cannot be used
 */
export function connect(
  address: string,
  serviceOf: () => ServiceDefinition,
  options: ConnectOptions,
): RpcClient {
  checkSecurity('cannot connect to', address, options);
  return new Connection(address, serviceOf, options);
}

type Method = MethodDefinition<object, object>;

/** A channel, and how many calls and holders of streams are on it. */
interface Line {
  readonly channel: Client;
  running: number;
  readonly renewed: AbortController;
}

class Connection implements RpcClient {
  readonly address: string;
  readonly #serviceOf: () => ServiceDefinition;
  readonly #options: ConnectOptions;
  readonly #security: SecureChannel | undefined;
  readonly #stopListening: (() => void) | undefined;
  #line: Line | undefined;
  /** One with a newer certificate, until it is ready. */
  #next: Line | undefined;
  /** Those of former certificates that something still runs on. */
  readonly #former = new Set<Line>();
  #isClosed = false;

  constructor(address: string, serviceOf: () => ServiceDefinition, options: ConnectOptions) {
    this.address = address;
    this.#serviceOf = serviceOf;
    this.#options = options;
    const { tls, clock, warnings = new Warnings(undefined) } = options;
    if (tls === undefined) return;
    const onEnding = (): void => this.#renew();
    const security = secureChannel(address, { tls, clock, warnings, onEnding });
    this.#security = security;
    this.#stopListening = tls.onChange(() => {
      if (security.takeUp()) this.#renew();
    });
  }

  async open(): Promise<StreamLine> {
    const line = await this.#current();
    line.running += 1;
    const release = once(() => this.#leave(line));
    return { channel: line.channel, renewed: line.renewed.signal, release };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopListening?.();
    this.#security?.close();
    for (const line of [this.#line, this.#next, ...this.#former]) line?.channel.close();
  }

  async call<Response>(
    name: string,
    request: object,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<Response> {
    const method = (): Method => methodOf(this.#serviceOf(), name);
    return this.#askOwn<Response & object>(method, request, deadlineMs);
  }

  async describe({ deadlineMs }: { readonly deadlineMs: number }): Promise<Description> {
    return this.#askOwn<Description>(
      () => methodOf(describingService(), 'Describe'),
      {},
      deadlineMs,
    );
  }

  /** Asks a server of this version. */
  async #askOwn<Response extends object>(
    method: () => Method,
    request: object,
    deadlineMs: number,
  ): Promise<Response> {
    try {
      const answer = await this.#ask<Response>(method, request, deadlineMs);
      checkVersion(`the server at ${this.address}`, answer);
      return answer;
    } catch (error) {
      throw error instanceof PercolatorError ? error : await this.explain(error as ServiceError);
    }
  }

  async explain(cause: ServiceError): Promise<PercolatorError> {
    const { status, connectivityState } = grpc();
    // A server that is connected speaks for itself: its words must reach the caller.
    const isUnanswered =
      (cause.code === status.UNAVAILABLE || cause.code === status.DEADLINE_EXCEEDED) &&
      this.#line?.channel.getChannel().getConnectivityState(false) !== connectivityState.READY;
    if (isUnanswered && this.#security?.failure !== undefined) {
      const message = `no connection with TLS to ${this.address}: ${this.#security.failure}`;
      return new PercolatorError('STORE_UNAVAILABLE', message, { cause });
    }
    if (cause.code !== status.UNIMPLEMENTED) return errorOf(cause);
    const message = `a server of another kind is at ${this.address}: it ${await this.#describe()}, and not ${fullNameOf(this.#serviceOf())}`;
    return new PercolatorError('WRONG_DATABASE', message, { cause });
  }

  async #current(): Promise<Line> {
    await loadRpc();
    if (this.#isClosed) throw new PercolatorError('STORE_CLOSED', 'the connection was closed');
    this.#line ??= this.#newLine();
    return this.#line;
  }

  #newLine(): Line {
    const { Client: Channel, credentials } = grpc();
    const { keepaliveMs = KEEPALIVE_MS } = this.#options;
    const security = this.#security;
    const shown = security?.credentials() ?? credentials.createInsecure();
    const channel = new Channel(this.address, shown, channelOptions(keepaliveMs));
    if (security !== undefined) eachTimeReady(channel, () => security.accepted());
    return { channel, running: 0, renewed: new AbortController() };
  }

  /** A call on the line, or its streams, have ended. */
  #leave(line: Line): void {
    line.running -= 1;
    if (line.running > 0 || line === this.#line) return;
    this.#former.delete(line);
    line.channel.close();
  }

  /**
   * Goes over to a connection on which both sides show their newest certificates, once there is
   * one. Calls that run end on the old connection; if the server does not accept the new
   * certificate, all stay there.
   */
  #renew(): void {
    if (this.#line === undefined) return;
    this.#next?.channel.close(); // Its certificate has been replaced, too.
    const next = this.#newLine();
    this.#next = next;
    const { clock } = this.#options;
    const deadline = clock.wallMs() + RENEW_MS;
    whenReady(next.channel, deadline, (isReady) => {
      if (!isReady || this.#isClosed || this.#next !== next) {
        // A channel that is closed while it becomes ready connects again.
        void clock.yield().then(() => next.channel.close());
        return;
      }
      const former = this.#line;
      this.#next = undefined;
      this.#line = next;
      if (former === undefined) return;
      if (former.running === 0) former.channel.close();
      else this.#former.add(former);
      former.renewed.abort();
    });
  }

  async #ask<Response>(
    method: () => Method,
    request: object,
    deadlineMs: number,
  ): Promise<Response> {
    const line = await this.#current();
    const { Metadata } = grpc();
    const { path, requestSerialize, responseDeserialize } = method();
    const deadline = this.#options.clock.wallMs() + Math.min(deadlineMs, TIMER_MS_MAX);
    return new Promise((resolve, reject) => {
      line.running += 1;
      line.channel.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        versioned(request),
        new Metadata(),
        { deadline },
        (error, response) => {
          this.#leave(line);
          if (error === null) resolve(response as Response);
          else reject(error);
        },
      );
    });
  }

  /** What is at the address, if it is not what this client is for. */
  async #describe(): Promise<string> {
    try {
      const method = (): Method => methodOf(describingService(), 'Describe');
      const { service: found } = await this.#ask<Description>(method, {}, DESCRIBE_MS);
      return `serves ${found}`;
    } catch {
      return 'does not say what it serves';
    }
  }
}

/**
 * Calls back when the channel is ready, or will not be: it was closed, or the time is over. Not
 * gRPC's `waitForReady`: a channel that is closed meanwhile connects again there, and stays.
 */
function whenReady(client: Client, deadlineMs: number, done: (isReady: boolean) => void): void {
  const { READY, SHUTDOWN } = grpc().connectivityState;
  const channel = client.getChannel();
  const look = (error?: Error): void => {
    const state = channel.getConnectivityState(false);
    if (error !== undefined || state === READY || state === SHUTDOWN) {
      done(error === undefined && state === READY);
      return;
    }
    channel.getConnectivityState(true); // Connects, also after a failure.
    channel.watchConnectivityState(state, deadlineMs, look);
  };
  look();
}

/**
 * Calls back each time the channel is ready: the server has sent its first words of HTTP/2, which
 * with TLS 1.3 it does only after it has judged this process's certificate.
 */
function eachTimeReady(client: Client, act: () => void): void {
  const { READY, SHUTDOWN } = grpc().connectivityState;
  const channel = client.getChannel();
  const look = (): void => {
    const state = channel.getConnectivityState(false);
    if (state === SHUTDOWN) return;
    if (state === READY) act();
    channel.watchConnectivityState(state, Infinity, look);
  };
  look();
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

function channelOptions(keepaliveMs: number): ChannelOptions {
  const silenceMs = Math.min(keepaliveMs, TIMER_MS_MAX); // gRPC sets its timers unchecked.
  return {
    ...OPTIONS,
    'grpc.keepalive_time_ms': silenceMs,
    'grpc.keepalive_timeout_ms': silenceMs,
  };
}

/**
 * A service's opinion of itself, such as "closed", is not an error of this process: another server
 * may run at that address tomorrow.
 */
function errorOf(cause: ServiceError): PercolatorError {
  const { status } = grpc();
  const text = cause.details || cause.message;
  // gRPC's own bound of a message has the same status as a full disk.
  const isTooLarge = / message larger than max/.test(text);
  const [staying] = STAYING.find(([, name]) => status[name] === cause.code) ?? [];
  const code = isTooLarge ? 'INVALID_ARGUMENT' : (staying ?? 'STORE_UNAVAILABLE');
  return new PercolatorError(code, text, { cause });
}
