/**
 * A connection to a gRPC server that comes back quickly: a server that was started again is found within
 * a fifth of a second.
 *
 * A call fails at once if there is no connection, and at its deadline otherwise; it is never repeated here, because
 * only the caller knows whether that is safe. Until it is closed, a connection keeps the process alive.
 */
import {
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type Clock, PercolatorError } from '../base/index.ts';
import { methodOf } from './service.ts';

export interface RpcClient {
  readonly address: string;
  /**
   * @throws STORE_UNAVAILABLE if the server could not answer, INVALID_ARGUMENT if it never will, with the server's
   * message; STORE_CLOSED after `close`
   */
  call<Response>(
    method: string,
    request: object,
    options: { readonly deadlineMs: number },
  ): Promise<Response>;
  /** For calls that are streams. */
  readonly channel: Client;
  close(): void;
}

/**
 * How soon a connection is taken for broken of which the system says nothing: a machine that is gone, or a network that
 * swallows everything. Its streams would wait for ever.
 */
const KEEPALIVE_MS = 10_000;
const OPTIONS: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 20,
  'grpc.min_reconnect_backoff_ms': 20,
  'grpc.max_reconnect_backoff_ms': 200,
  'grpc.enable_retries': 0,
};

export function connect(
  address: string,
  service: ServiceDefinition,
  { clock, keepaliveMs = KEEPALIVE_MS }: { readonly clock: Clock; readonly keepaliveMs?: number },
): RpcClient {
  const channel = new Client(address, credentials.createInsecure(), {
    ...OPTIONS,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveMs,
  });
  let isClosed = false;
  return {
    address,
    channel,
    close: () => {
      isClosed = true;
      channel.close();
    },
    call: <Response>(
      name: string,
      request: object,
      { deadlineMs }: { readonly deadlineMs: number },
    ) =>
      new Promise<Response>((resolve, reject) => {
        if (isClosed) throw new PercolatorError('STORE_CLOSED', 'the connection was closed');
        const { path, requestSerialize, responseDeserialize } = methodOf(service, name);
        const deadline = clock.wallMs() + deadlineMs;
        channel.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          new Metadata(),
          { deadline },
          (error, response) => {
            if (error === null) resolve(response as Response);
            else reject(errorOf(error));
          },
        );
      }),
  };
}

/** Nothing that a service of ours says of itself is an error of ours: it may be another one tomorrow. */
function errorOf(cause: ServiceError): PercolatorError {
  const isRefused = cause.code === status.INVALID_ARGUMENT;
  const code = isRefused ? 'INVALID_ARGUMENT' : 'STORE_UNAVAILABLE';
  return new PercolatorError(code, cause.details || cause.message, { cause });
}
