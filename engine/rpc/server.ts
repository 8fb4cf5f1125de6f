/**
 * A gRPC server of one service, on an address or a free port.
 *
 * Connections are neither encrypted nor authenticated: like the paper's, these services run in a
 * private network. Thrown errors become a status: UNAVAILABLE if the call may succeed later or
 * elsewhere. The client makes errors of them again (client.ts).
 */
import type {
  handleUnaryCall,
  Server,
  ServiceDefinition,
  status as Status,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type ErrorCode, PercolatorError } from '../base/index.ts';
import { grpc } from './libraries.ts';
import { describingService, type Description, fullNameOf, STAYING } from './service.ts';

export interface RpcServer extends AsyncDisposable {
  /** Host and port that clients connect to. */
  readonly address: string;
  /** Ends all calls and connections at once. Twice is harmless. */
  close(): Promise<void>;
}

/** Reachable from this machine only, on a free port. */
const ADDRESS = '127.0.0.1:0';
/** A host without a port would get the port of HTTPS, and `::1` is a host. */
const ADDRESSES = /^(?:[^:]+|\[.+\]):\d{1,5}$/;
const MAY_SUCCEED_ELSEWHERE: ReadonlySet<ErrorCode> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_IN_DOUBT',
  'STORE_CLOSED',
]);

/** @throws INVALID_ARGUMENT if the server cannot listen at `address` */
export async function startServer(
  service: ServiceDefinition,
  implementation: UntypedServiceImplementation,
  address: string = ADDRESS,
): Promise<RpcServer> {
  if (!ADDRESSES.test(address)) {
    const message = `cannot serve at ${address}: it must be a text like host:port`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const server = new (grpc().Server)();
  server.addService(service, implementation);
  const description: Description = { service: fullNameOf(service) };
  server.addService(describingService(), { Describe: unary(async () => description) });
  const port = await bind(server, address);
  return {
    address: address.replace(/:\d+$/, `:${port}`),
    close: async () => server.forceShutdown(),
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

/** Serves a call with one request and one answer. */
export function unary<Request, Response>(
  serve: (request: Request) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return ({ request }, answer) => {
    serve(request).then(
      (response) => answer(null, response),
      (error: unknown) => answer({ code: statusOf(error), details: messageOf(error) }),
    );
  };
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => {
      const message = `cannot serve at ${address}: ${messageOf(cause)}`;
      reject(new PercolatorError('INVALID_ARGUMENT', message, { cause }));
    };
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
