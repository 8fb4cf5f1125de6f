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
import { type Clock, PercolatorError } from '../base/index.ts';
import { grpc } from './libraries.ts';
import { describingService, type Description, fullNameOf, methodOf, STAYING } from './service.ts';

export interface RpcClient {
  readonly address: string;
  /**
   * @throws STORE_UNAVAILABLE if the server could not answer; with the server's message, what stays
   *   until an operator changes it (`STAYING`); WRONG_DATABASE also if a server of another kind is
   *   there. STORE_CLOSED after `close`
   */
  call<Response>(
    method: string,
    request: object,
    options: { readonly deadlineMs: number },
  ): Promise<Response>;
  /** For streaming calls. */
  readonly channel: Client;
  /** The error that `call` would throw, for one of `channel`. */
  explain(error: ServiceError): Promise<PercolatorError>;
  close(): void;
}

/**
 * Milliseconds of silence until a connection is probed, and then until it counts as broken: the
 * other machine is gone, or the network drops all packets, and the system reports neither. Without
 * this, its streams would wait forever.
 */
const KEEPALIVE_MS = 10_000;
/** How long a server of another kind may take to say what it is. */
const DESCRIBE_MS = 1_000;
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
  const ask = <Response>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<object, object>,
    request: object,
    deadlineMs: number,
  ): Promise<Response> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new PercolatorError('STORE_CLOSED', 'the connection was closed');
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
          else reject(error);
        },
      );
    });
  /** What is at the address, if it is not what this client is for. */
  const describe = async (): Promise<string> => {
    try {
      const method = methodOf(describingService(), 'Describe');
      const { service: found } = await ask<Description>(method, {}, DESCRIBE_MS);
      return `serves ${found}`;
    } catch {
      return 'does not say what it serves';
    }
  };
  const explain = async (cause: ServiceError): Promise<PercolatorError> => {
    if (cause.code !== grpc().status.UNIMPLEMENTED) return errorOf(cause);
    const message = `a server of another kind is at ${address}: it ${await describe()}, and not ${fullNameOf(service)}`;
    return new PercolatorError('WRONG_DATABASE', message, { cause });
  };
  return {
    address,
    channel,
    explain,
    close: () => {
      isClosed = true;
      channel.close();
    },
    call: async <Response>(
      name: string,
      request: object,
      { deadlineMs }: { readonly deadlineMs: number },
    ) => {
      try {
        return await ask<Response>(methodOf(service, name), request, deadlineMs);
      } catch (error) {
        throw error instanceof PercolatorError ? error : await explain(error as ServiceError);
      }
    },
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
