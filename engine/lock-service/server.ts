/**
 * The lock service as a server: liveness tokens (tokens.ts) and advisory locks on ranges of rows
 * (range-locks.ts), over gRPC (lock-service.proto), in memory.
 *
 *     worker ──beat, beat, beat──▶ tokens ──dead workers──▶ every worker
 *                                    └──▶ the locks of the dead are given up
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { type Clock, PercolatorError, systemClock } from '../base/index.ts';
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
/** The longest key of a row in any storage, in bytes; no token or table has a longer name. */
const TEXT_BYTES_MAX = 4_096;
/**
 * Messages that may wait for a client that does not read them, such as a stopped one. With more,
 * its connection ends: if it lives, it connects again, and hears all of them at once.
 */
const WAITING_MAX = 1_000;

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
    for (const stay of stays) tell(stay, isDead ? { dead: [token] } : { alive: [token] });
  });
  const implementation = {
    stay: (stay: Stay) => host(stay, tokens, stays),
    lockRange: unary(async ({ token, table, from, to }: LockRangeRequest): Promise<Numbered> => {
      for (const text of [token, table, from, to]) checkLength(text);
      return { number: locks.lock(token, { table, from, to }) ?? 0 };
    }),
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
    if (Buffer.byteLength(token) > TEXT_BYTES_MAX) {
      stay.destroy(); // Every other client would have to hear it.
      return;
    }
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

function tell(stay: Stay, changes: Changes): void {
  if (stay.writableLength < WAITING_MAX) stay.write(changes);
  else stay.destroy();
}

/** @throws INVALID_ARGUMENT */
function checkLength(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= TEXT_BYTES_MAX) return;
  const message = `a token, a table and a row have at most ${TEXT_BYTES_MAX} bytes each, not ${bytes}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

async function expireUntil(signal: AbortSignal, tokens: Tokens, clock: Clock): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(EXPIRE_MS, signal, { background: true });
    // After a pause of this process, timers run first, and the beats still wait in the sockets.
    await clock.yield();
    tokens.expire();
  }
}
