/**
 * The lock service as a server: liveness tokens (tokens.ts) and advisory locks on ranges of rows
 * (range-locks.ts), over gRPC (lock-service.proto), in memory.
 *
 *     worker ──beat, beat, beat──▶ tokens ──dead workers──▶ every worker
 *                                    └──▶ the locks of the dead are given up
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/index.ts';
import { checkOptions, CLOCK, type Kinds, NAME, POSITIVE } from '../base/options.ts';
import { type RpcServer, startServer, unary } from '../rpc/index.ts';
import { RangeLockTable } from './range-locks.ts';
import {
  type Beat,
  type Changes,
  lockService,
  type LockRangeRequest,
  type Numbered,
} from './service.ts';
import { type Session, Tokens } from './tokens.ts';

export interface ServeLocksOptions {
  /** Host and port. Default: a free port, for processes of this machine only. */
  readonly address?: string | undefined;
  /**
   * Milliseconds after which a range lock ends unless it is released. Default 10,000;
   * range-locks.ts says what a wrong value costs.
   */
  readonly rangeTimeToLiveMs?: number | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

const KINDS: Kinds<ServeLocksOptions> = {
  address: NAME,
  rangeTimeToLiveMs: POSITIVE,
  clock: CLOCK,
};

type Stay = ServerDuplexStream<Beat, Changes>;

/** Milliseconds between two looks for expired tokens. */
const EXPIRE_MS = 50;

/**
 * Starts to serve.
 * @throws INVALID_ARGUMENT for a wrong option, or if the server cannot listen at the address
 */
export async function serveLocks(options: ServeLocksOptions = {}): Promise<RpcServer> {
  checkOptions('serveLocks', options, KINDS);
  const clock = options.clock ?? systemClock;
  const locks = new RangeLockTable(clock, options.rangeTimeToLiveMs);
  const stays = new Set<Stay>();
  const tokens = new Tokens(clock, (token, isDead) => {
    if (isDead) locks.unlockAllOf(token);
    for (const stay of stays) stay.write(isDead ? { dead: [token] } : { alive: [token] });
  });
  const implementation = {
    stay: (stay: Stay) => host(stay, tokens, stays),
    lockRange: unary(async ({ token, table, from, to }: LockRangeRequest): Promise<Numbered> => ({
      number: locks.lock(token, { table, from, to }) ?? 0,
    })),
    unlockRange: unary(async ({ number }: Numbered) => {
      locks.unlock(number);
      return {};
    }),
  };
  const server = await startServer(lockService(), implementation, options.address);
  const closed = new AbortController();
  void expireUntil(closed.signal, tokens, clock);
  const close = async (): Promise<void> => {
    closed.abort();
    await server.close();
  };
  return { address: server.address, close, [Symbol.asyncDispose]: close };
}

/** One worker, from its first beat to the end of its connection. */
function host(stay: Stay, tokens: Tokens, stays: Set<Stay>): void {
  let session: Session | undefined;
  stays.add(stay);
  stay.write({ dead: tokens.dead });
  stay.on('data', ({ token, ttlMs, isLeaving }: Beat) => {
    session ??= { token, ttlMs };
    if (isLeaving === true) tokens.leave(session);
    else tokens.beat(session);
  });
  stay.on('end', () => stay.end());
  stay.on('error', () => {}); // The connection broke; `close` follows.
  stay.on('close', () => {
    stays.delete(stay);
    if (session !== undefined) tokens.disconnect(session);
  });
}

async function expireUntil(signal: AbortSignal, tokens: Tokens, clock: Clock): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(EXPIRE_MS, signal, { background: true });
    // After a pause of this process, timers run first, and the beats still wait in the sockets.
    await clock.yield();
    tokens.expire();
  }
}
