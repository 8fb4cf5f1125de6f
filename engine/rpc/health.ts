/**
 * Whether a server serves, as grpc.health.v1 says it to tools that start processes and balance
 * loads. It needs no role, but with TLS a certificate, as every call.
 *
 *     ''                     the process can be used, or will be without a restart: a standby, too
 *     the service's name     the service answers now: of oracles, only the one with the lease
 *
 * The answers are computed when they are asked for, so they are never older than the question. A
 * watcher hears of a change within WATCH_MS.
 */
import type {
  sendUnaryData,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Clock } from '../base/index.ts';
import { grpc, loadService } from './service.ts';

/** What a server says of itself. Default of each: always true, until it is closed. */
export interface Health {
  /** Whether the process can be used, or will be without a restart. */
  readonly isAlive?: (() => boolean) | undefined;
  /** Whether the service answers now. */
  readonly isServing?: (() => boolean) | undefined;
  /**
   * The identity of the database that it serves; undefined while it knows of none. Default: it
   * serves all alike.
   */
  readonly database?: (() => string | undefined) | undefined;
}

interface Question {
  readonly service: string;
}

/** A number of the enumeration in health.proto. */
interface Answer {
  readonly status: number;
}

const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;
const WATCH_MS = 1_000;

export function healthService(): ServiceDefinition {
  return loadService(new URL('health.proto', import.meta.url), 'grpc.health.v1.Health');
}

/** @param name the full name of the server's own service */
export function healthOf(name: string, health: Health, clock: Clock): UntypedServiceImplementation {
  const { isAlive = () => true, isServing = () => true } = health;
  const statusOf = (service: string): number => {
    if (service !== '' && service !== name) return SERVICE_UNKNOWN;
    return isAlive() && (service === '' || isServing()) ? SERVING : NOT_SERVING;
  };
  const check = (
    { request: { service } }: ServerUnaryCall<Question, Answer>,
    answer: sendUnaryData<Answer>,
  ): void => {
    const status = statusOf(service);
    const details = `no service ${service} is here; ${name} is`;
    if (status === SERVICE_UNKNOWN) answer({ code: grpc().status.NOT_FOUND, details });
    else answer(null, { status });
  };
  const watch = async (call: ServerWritableStream<Question, Answer>): Promise<void> => {
    const ended = new AbortController();
    for (const event of ['cancelled', 'close', 'error']) call.on(event, () => ended.abort());
    let last: number | undefined;
    while (!ended.signal.aborted) {
      const status = statusOf(call.request.service);
      if (status !== last) call.write({ status });
      last = status;
      await clock.sleep(WATCH_MS, ended.signal, { background: true });
    }
  };
  return { check, watch: (call: ServerWritableStream<Question, Answer>) => void watch(call) };
}
