/**
 * Replaces the class with which grpc-js speaks to a server, for servers without TLS.
 *
 * The official client takes the gRPC module as an option. It receives grpc-js itself, but with this
 * class for Bigtable's data service; the rest of the client stays unchanged: its requests, its
 * retries, its promises. A call costs less processor time than one of grpc-js
 * (`./run.sh bench:transport`). With TLS, and so for Cloud Bigtable, grpc-js stays: it also handles
 * credentials, service configurations and load balancing, which this class lacks.
 *
 * google-gax keeps the loaded services for all clients of a process, so the class is chosen again
 * for each client: the fast one for clients that request it by `CLOCK_OPTION`, grpc-js's own for
 * all others.
 */
import { Readable } from 'node:stream';
import type { CallOptions, Client, GrpcObject, Metadata, ServiceDefinition } from '@grpc/grpc-js';
import type * as grpcJs from '@grpc/grpc-js';
import type { Clock } from '../../../base/index.ts';
import { Call, type CallHandler } from './call.ts';
import { Connection } from './connection.ts';
import { Deadlines } from '../../deadlines.ts';
import { type CallStatus, CallError, Code } from './status.ts';

/** google-gax passes on the options whose names begin with `grpc.`. */
export const CLOCK_OPTION = 'grpc.percolator.clock';
const SERVICE = 'google.bigtable.v2.Bigtable';

type GrpcModule = typeof grpcJs;
type ServiceClass = new (address: string, credentials: unknown, options: Options) => object;
type Options = Readonly<Record<string, unknown>>;

/** grpc-js, with the fast class where it is requested. */
export function withFastStub(grpc: GrpcModule): GrpcModule {
  const loadPackageDefinition = (
    definition: Parameters<GrpcModule['loadPackageDefinition']>[0],
  ): GrpcObject => {
    const loaded = grpc.loadPackageDefinition(definition);
    replaceClass(loaded, (original) =>
      chooseClass(original, definition[SERVICE] as ServiceDefinition),
    );
    return loaded;
  };
  return { ...grpc, loadPackageDefinition };
}

function replaceClass(loaded: GrpcObject, replace: (original: ServiceClass) => ServiceClass): void {
  const path = SERVICE.split('.');
  const name = path.pop() ?? '';
  let at: GrpcObject | undefined = loaded;
  for (const part of path) at = at?.[part] as GrpcObject | undefined;
  if (at?.[name] === undefined) return; // The definition of another service.
  Object.assign(at, { [name]: replace(at[name] as unknown as ServiceClass) });
}

function chooseClass(original: ServiceClass, service: ServiceDefinition): ServiceClass {
  function Chosen(address: string, credentials: unknown, options: Options): object {
    const clock = options[CLOCK_OPTION] as Clock | undefined;
    if (clock === undefined) return new original(address, credentials, options);
    return createFastStub(address, { clock, service });
  }
  return Chosen as unknown as ServiceClass; // With `new`, it returns another object.
}

/**
 * The common part of both classes that is used here: calls by path, with the caller's own codec.
 */
export type Stub = Pick<Client, 'makeUnaryRequest' | 'makeServerStreamRequest' | 'close'> & {
  /** Only in the fast class: resolves when the calls in flight have ended. */
  readonly closed?: () => Promise<void>;
};

interface FastOptions extends CallOptions {
  /** Like `deadline`, but the same for every call, which costs the connection less. */
  readonly timeoutMs?: number | undefined;
}

export function createFastStub(
  address: string,
  { clock, service = {} }: { readonly clock: Clock; readonly service?: ServiceDefinition },
): Stub {
  const stub = new FastStub(address, clock);
  for (const [name, method] of Object.entries(service)) {
    const { path, requestSerialize, responseDeserialize, responseStream } = method;
    const codec = [path, requestSerialize, responseDeserialize] as const;
    const run = responseStream
      ? (request: object, metadata: Metadata, options: FastOptions) =>
          stub.makeServerStreamRequest(...codec, request, metadata, options)
      : (request: object, metadata: Metadata, options: FastOptions, callback: Callback<unknown>) =>
          stub.makeUnaryRequest(...codec, request, metadata, options, callback);
    // Like grpc-js: `ReadRows` is called as `readRows`.
    Object.assign(stub, { [name.charAt(0).toLowerCase() + name.slice(1)]: run });
  }
  return stub as unknown as Stub;
}

interface CachedHeaders {
  readonly timeoutMs: number | undefined;
  readonly headers: Record<string, string>;
}

const NO_ANSWER: CallStatus = { code: Code.internal, details: 'no answer came' };

type Callback<Response> = (error: CallError | null, response?: Response) => void;

class FastStub {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #connection: Connection;
  /** Headers are built once per method, metadata and timeout; a caller has few of these. */
  readonly #headers = new WeakMap<Metadata, Map<string, CachedHeaders>>();

  constructor(address: string, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
    this.#deadlines = new Deadlines(clock);
    this.#connection = new Connection(address, { clock, deadlines: this.#deadlines });
  }

  // oxlint-disable-next-line max-params -- The signature is grpc-js's.
  makeUnaryRequest<Request, Response>(
    path: string,
    serialize: (request: Request) => Buffer,
    deserialize: (bytes: Buffer) => Response,
    request: Request,
    metadata: Metadata,
    options: FastOptions,
    callback: Callback<Response>,
  ): { cancel(): void } {
    let answer: Response | undefined;
    return this.#call(
      path,
      serialize(request),
      { metadata, options },
      {
        onMessage: (message) => {
          answer = deserialize(message);
        },
        onEnd: (status) => {
          if (status.code !== Code.ok) callback(new CallError(status));
          else if (answer === undefined) callback(new CallError(NO_ANSWER));
          else callback(null, answer);
        },
      },
    );
  }

  // oxlint-disable-next-line max-params -- The signature is grpc-js's.
  makeServerStreamRequest<Request>(
    path: string,
    serialize: (request: Request) => Buffer,
    deserialize: (bytes: Buffer) => unknown,
    request: Request,
    metadata: Metadata,
    options: FastOptions,
  ): Readable {
    return new Answers(deserialize, (handler) =>
      this.#call(path, serialize(request), { metadata, options }, handler),
    );
  }

  close(): void {
    void this.#connection.close();
  }

  closed(): Promise<void> {
    return this.#connection.close();
  }

  #call(
    path: string,
    message: Uint8Array,
    { metadata, options }: { readonly metadata: Metadata; readonly options: FastOptions },
    handler: CallHandler,
  ): Call {
    const timeoutMs = this.#timeoutMs(options);
    const headers = this.#headersFor(path, metadata, timeoutMs);
    const services = {
      connection: this.#connection,
      deadlines: this.#deadlines,
      clock: this.#clock,
    };
    return new Call(services, { headers, message, timeoutMs }, handler);
  }

  #timeoutMs({ timeoutMs, deadline }: FastOptions): number | undefined {
    if (timeoutMs !== undefined) return Math.ceil(timeoutMs); // `grpc-timeout` is a whole number.
    if (deadline === undefined || deadline === Infinity) return undefined;
    return Math.max(0, Math.ceil(Number(deadline) - this.#clock.wallMs()));
  }

  #headersFor(
    path: string,
    metadata: Metadata,
    timeoutMs: number | undefined,
  ): Record<string, string> {
    let ofPath = this.#headers.get(metadata);
    if (ofPath === undefined) this.#headers.set(metadata, (ofPath = new Map()));
    const cached = ofPath.get(path);
    // A caller without a fixed timeout has a different one each time: only the last is kept.
    if (cached !== undefined && cached.timeoutMs === timeoutMs) return cached.headers;
    const shownMs = Math.min(timeoutMs ?? 0, 99_999_999); // gRPC allows eight digits.
    const timeout = timeoutMs === undefined ? {} : { 'grpc-timeout': `${shownMs}m` };
    const headers = { ...this.#headersOf(path, metadata), ...timeout };
    ofPath.set(path, { timeoutMs, headers });
    return headers;
  }

  #headersOf(path: string, metadata: Metadata): Record<string, string> {
    return {
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': this.#address,
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'percolator-bench',
      ...(metadata.toHttp2Headers() as Record<string, string>),
    };
  }
}

/** The answers of a call as a stream, received no faster than they are read. */
class Answers extends Readable {
  readonly #call: Call;

  constructor(deserialize: (bytes: Buffer) => unknown, start: (handler: CallHandler) => Call) {
    super({ objectMode: true, highWaterMark: 64 });
    this.#call = start({
      onMessage: (message) => {
        if (!this.push(deserialize(message))) this.#call.pause();
      },
      onEnd: (status) => this.#end(status),
    });
  }

  override _read(): void {
    this.#call.resume();
  }

  cancel(): void {
    this.#call.cancel();
  }

  #end(status: CallStatus): void {
    // Deferred, because the constructor of the call may not have returned yet.
    queueMicrotask(() => {
      this.emit('status', status);
      if (status.code === Code.ok) this.push(null);
      else this.destroy(new CallError(status));
    });
  }
}
