/**
 * The lock service as a server: liveness tokens (tokens.ts) and advisory locks on ranges of rows
 * (range-locks.ts), over gRPC (lock-service.proto), in memory.
 *
 *     worker ──beat, beat, beat──▶ tokens ──dead workers──▶ every worker
 *                                    └──▶ the locks of the dead are given up
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { byteLength, type Clock, PercolatorError, systemClock } from '../base/index.ts';
import {
  checkOptions,
  CLOCK,
  FUNCTION,
  type OptionRules,
  NAME,
  POSITIVE,
} from '../base/options.ts';
import { checkVersion, endStream, SECURITY, startServer, unary, versioned } from '../rpc/index.ts';
import type { RpcServer, ServerOptions } from '../rpc/rpc-server.ts';
import { RangeLockTable } from './range-locks.ts';
import {
  type Beat,
  type LivenessChanges,
  lockService,
  type LockRangeRequest,
  type Numbered,
} from './service.ts';
import { type Session, Tokens } from './tokens.ts';

export interface ServeLocksOptions extends ServerOptions {
  /**
   * Milliseconds after which a range lock ends unless it is released. Default 10,000;
   * range-locks.ts says what a wrong value costs.
   */
  readonly rangeTimeToLiveMs?: number | undefined;
}

const RULES: OptionRules<ServeLocksOptions> = {
  address: NAME,
  rangeTimeToLiveMs: POSITIVE,
  onWarning: FUNCTION,
  clock: CLOCK,
  ...SECURITY,
};

type Stay = ServerDuplexStream<Beat, LivenessChanges>;

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
 * @throws INVALID_ARGUMENT for a wrong option, or if the server cannot listen at the address;
 *   PACKAGE_MISSING
 */
export async function serveLocks(options: ServeLocksOptions = {}): Promise<RpcServer> {
  checkOptions('serveLocks', options, RULES);
  const clock = options.clock ?? systemClock;
  const locks = new RangeLockTable(clock, options.rangeTimeToLiveMs);
  const stays = new Set<Stay>();
  const tokens = new Tokens(clock, (token, isDead) => {
    if (isDead) locks.unlockAllOf(token);
    const changes = versioned(isDead ? { dead: [token] } : { alive: [token] });
    for (const stay of stays) tell(stay, changes);
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
  const server = await startServer(lockService, implementation, options);
  const closed = new AbortController();
  void expireUntil(closed.signal, tokens, clock);
  const close = async (): Promise<void> => {
    closed.abort();
    await server.close();
  };
  return {
    address: server.address,
    get warnings() {
      return server.warnings;
    },
    get refused() {
      return server.refused;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One worker, from its first beat to the end of its connection. */
function host(stay: Stay, tokens: Tokens, stays: Set<Stay>): void {
  let session: Session | undefined;
  stay.on('data', (beat: Beat) => {
    const { token, ttlMs, isLeaving } = beat;
    try {
      checkVersion('the client', beat);
    } catch (error) {
      endStream(stay, error);
      return;
    }
    if (byteLength(token) > TEXT_BYTES_MAX) {
      stay.destroy(); // Every other client would have to hear it.
      return;
    }
    const isFirst = session === undefined;
    session ??= { token, ttlMs };
    if (isLeaving === true) tokens.leave(session);
    else tokens.beat(session);
    if (!isFirst) return;
    // Only now: a worker that hears of it may end the stay that it has had before.
    stays.add(stay);
    stay.write(versioned({ dead: tokens.dead }));
  });
  stay.on('end', () => stay.end());
  stay.on('error', () => {}); // The connection broke; `close` follows.
  stay.on('close', () => {
    stays.delete(stay);
    if (session !== undefined) tokens.disconnect(session);
  });
}

function tell(stay: Stay, changes: LivenessChanges): void {
  if (stay.writableLength < WAITING_MAX) stay.write(changes);
  else stay.destroy();
}

/** @throws INVALID_ARGUMENT */
function checkLength(text: string): void {
  const bytes = byteLength(text);
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
