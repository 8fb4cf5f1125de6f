/**
 * A gRPC server of one service, on an address or a free port.
 *
 * With `tls`, listener.ts lets only processes with certificates in, and roles.ts judges their
 * calls. Without it, connections are neither encrypted nor authenticated, and stay on this machine.
 *
 * Thrown errors become a status: UNAVAILABLE if the call may succeed later or elsewhere. The client
 * makes errors of them again (client.ts).
 */
import type { TLSSocket } from 'node:tls';
import type {
  handleUnaryCall,
  Server,
  ServerInterceptor,
  ServiceDefinition,
  status as Status,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import {
  type Clock,
  type ErrorCode,
  PercolatorError,
  systemClock,
  Warnings,
} from '../base/index.ts';
import { watchExpiry } from './certificate.ts';
import { type Health, healthOf, healthService } from './health.ts';
import { listenSecurely, type SecureListener } from './listener.ts';
import { refusalOf } from './roles.ts';
import type { RpcServer, ServerOptions } from './rpc-server.ts';
import {
  checkVersion,
  describingService,
  type Description,
  fullNameOf,
  grpc,
  loadRpc,
  STAYING,
  versioned,
} from './service.ts';
import { checkSecurity, type TlsSource } from './tls.ts';

/** Reachable from this machine only, on a free port. */
const ADDRESS = '127.0.0.1:0';
/** A host without a port would get the port of HTTPS, and `::1` is a host. */
const ADDRESSES = /^(?:[^:]+|\[.+\]):\d{1,5}$/;
const MAY_SUCCEED_ELSEWHERE: ReadonlySet<ErrorCode> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_IN_DOUBT',
  'STORE_CLOSED',
]);

/**
 * @throws INVALID_ARGUMENT if it cannot listen at `address`, or not without certificates;
 *   PACKAGE_MISSING
 */
export async function startServer(
  serviceOf: () => ServiceDefinition,
  implementation: UntypedServiceImplementation,
  options: ServerOptions = {},
  health: Health = {},
): Promise<RpcServer> {
  const { address = ADDRESS, tls, insecure = false, clock = systemClock } = options;
  if (!ADDRESSES.test(address)) {
    const message = `cannot serve at ${address}: it must be a text like host:port`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  checkSecurity('cannot serve at', address, options);
  await loadRpc();
  const service = serviceOf();
  const warnings = new Warnings(options.onWarning);
  const refused = { calls: 0, connections: 0 };
  const judge = (): void => void refused.calls++;
  const server = new (grpc().Server)(tls === undefined ? {} : { interceptors: [judging(judge)] });
  server.addService(service, implementation);
  const name = fullNameOf(service);
  server.addService(describingService(), { Describe: describe(name, health) });
  server.addService(healthService(), healthOf(name, health, clock));
  const closed = new AbortController();
  const listener = tls && (await listenFor(server, address, { tls, clock, warnings }));
  const port = listener?.port ?? (await bind(server, address));
  if (listener) void watchExpiry(listener, { clock, warnings, signal: closed.signal });
  if (insecure) warnings.begin('insecure', { kind: 'insecure', sentence: insecurityOf(address) });
  const close = async (): Promise<void> => {
    closed.abort();
    listener?.close();
    server.forceShutdown();
  };
  return {
    address: address.replace(/:\d+$/, `:${port}`),
    get warnings() {
      return warnings.current;
    },
    get refused() {
      return { ...refused, connections: listener?.refused ?? 0 };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** For clients of every version. */
function describe(service: string, health: Health): handleUnaryCall<object, Description> {
  const { database = () => undefined, isAlive = () => true, isServing = () => true } = health;
  return (_call, answer) => {
    const isStandby = isAlive() && !isServing();
    answer(null, versioned({ service, database: database() ?? '', isStandby }));
  };
}

/** Serves a call with one request and one answer, from clients of this version. */
export function unary<Request extends object, Response extends object>(
  serve: (request: Request) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return ({ request }, answer) => {
    const checked = async (): Promise<Response> => {
      checkVersion('the client', request);
      return serve(request);
    };
    checked().then(
      (response) => answer(null, versioned(response)),
      (error: unknown) => answer({ code: statusOf(error), details: messageOf(error) }),
    );
  };
}

/** Judges each call by the role in its peer's certificate, before its request is read. */
function judging(onRefusal: () => void): ServerInterceptor {
  const { ServerInterceptingCall, status } = grpc();
  return ({ path }, call) => {
    const details = refusalOf(path, call.getAuthContext().sslPeerCertificate);
    if (details === undefined) return new ServerInterceptingCall(call);
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: () => {
            onRefusal();
            call.sendStatus({ code: status.PERMISSION_DENIED, details });
          },
        }),
    });
  };
}

/** Past the listener, a connection is what gRPC gets without TLS: bytes in both directions. */
async function listenFor(
  server: Server,
  address: string,
  { tls, clock, warnings }: { tls: TlsSource; clock: Clock; warnings: Warnings },
): Promise<SecureListener> {
  const inside = server.createConnectionInjector(grpc().ServerCredentials.createInsecure());
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const port = Number(/\d+$/.exec(address)?.[0]);
  const onInside = (socket: TLSSocket): void => inside.injectConnection(socket);
  try {
    return await listenSecurely({ host, port, tls, clock, warnings, onInside });
  } catch (cause) {
    server.forceShutdown();
    throw refusedAt(address, cause);
  }
}

/** Ends a stream with an error, as `unary` ends a call that throws it. */
export function endStream(
  stream: { emit(event: 'error', error: object): unknown },
  error: unknown,
): void {
  stream.emit('error', { code: statusOf(error), details: messageOf(error) });
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => reject(refusedAt(address, cause));
    try {
      server.bindAsync(address, grpc().ServerCredentials.createInsecure(), (cause, port) => {
        if (cause === null) resolve(port);
        else refuse(cause);
      });
    } catch (cause) {
      refuse(cause); // gRPC throws for an address that it cannot parse.
    }
  });
}

function refusedAt(address: string, cause: unknown): PercolatorError {
  const message = `cannot serve at ${address}: ${messageOf(cause)}`;
  return new PercolatorError('INVALID_ARGUMENT', message, { cause });
}

function insecurityOf(address: string): string {
  return `the service at ${address} talks in plaintext with all that reach it, because it was started with insecure: true`;
}

function statusOf(error: unknown): Status {
  const { status } = grpc();
  if (!(error instanceof PercolatorError)) return status.INTERNAL;
  if (MAY_SUCCEED_ELSEWHERE.has(error.code)) return status.UNAVAILABLE;
  const [, name] = STAYING.find(([code]) => code === error.code) ?? [];
  return status[name ?? 'INTERNAL'];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
