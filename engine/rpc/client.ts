/**
 * A connection to a gRPC server that reconnects quickly: it finds a restarted server within about
 * a fifth of a second.
 *
 * A call fails at once if the last attempt to connect has failed, and at its deadline if the server
 * is silent. It is never repeated here, because only the caller knows whether that is safe. An open
 * connection keeps the process alive.
 */
import type { ChannelOptions, Client, ServiceDefinition, ServiceError } from '@grpc/grpc-js';
import { TIMER_MS_MAX } from '../base/clock.ts';
import { type Clock, PercolatorError } from '../base/index.ts';
import { grpc } from './libraries.ts';
import { methodOf } from './service.ts';

export interface RpcClient {
  readonly address: string;
  /**
   * @throws STORE_UNAVAILABLE if the server could not answer; INVALID_ARGUMENT, with the server's
   * message, if it never will; STORE_CLOSED after `close`
   */
  call<Response>(
    method: string,
    request: object,
    options: { readonly deadlineMs: number },
  ): Promise<Response>;
  /** For streaming calls. */
  readonly channel: Client;
  close(): void;
}

/**
 * Milliseconds of silence until a connection is probed, and then until it counts as broken: the
 * other machine is gone, or the network drops all packets, and the system reports neither. Without
 * this, its streams would wait forever.
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
  const { Client: Channel, credentials, Metadata } = grpc();
  const silenceMs = Math.min(keepaliveMs, TIMER_MS_MAX); // gRPC sets its timers unchecked.
  const channel = new Channel(address, credentials.createInsecure(), {
    ...OPTIONS,
    'grpc.keepalive_time_ms': silenceMs,
    'grpc.keepalive_timeout_ms': silenceMs,
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
        const deadline = clock.wallMs() + Math.min(deadlineMs, TIMER_MS_MAX);
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

/**
 * A service's opinion of itself, such as "closed", is not an error of this process: another server
 * may run at that address tomorrow.
 */
function errorOf(cause: ServiceError): PercolatorError {
  const isRefused = cause.code === grpc().status.INVALID_ARGUMENT;
  const code = isRefused ? 'INVALID_ARGUMENT' : 'STORE_UNAVAILABLE';
  return new PercolatorError(code, cause.details || cause.message, { cause });
}
