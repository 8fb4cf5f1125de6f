/**
 * A worker's side of the lock service: passed to `openPercolator` as `liveness`, and to its workers
 * as `rangeLocks`.
 *
 * It announces its token, beats three times per time to live, and receives the tokens of dead
 * workers. `isDead` makes no call: it uses what was received. If the service is lost, or silent for
 * a time to live, the reported dead are forgotten: they are then unknown, and an unknown worker is
 * not dead. As soon as the service is back, we announce ourselves again.
 *
 * The operating system knows the processes of this machine better, at once and without a service:
 * `local` is asked first, and names our token.
 *
 * Locks that the service does not grant or refuse in time count as granted, and for a second it is
 * not asked again: a scanner without locks does work twice, a scanner that waits does none.
 *
 * So nothing fails without the service, and no caller would learn that its address is wrong: that
 * is a trouble (P56), at once if another kind of server is there, otherwise after a time to live.
 */
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { type Clock, hasCode, systemClock, type Trouble, Troubles } from '../base/index.ts';
import {
  ADDRESS,
  checkOptions,
  CLOCK,
  COUNT,
  FUNCTION,
  type Kinds,
  objectWith,
  TEXT,
} from '../base/options.ts';
import { connect, methodOf, type RpcClient } from '../rpc/index.ts';
import type { Liveness } from './liveness.ts';
import type { LockedRange, RangeLock, RangeLocks } from './range-locks.ts';
import { type Beat, type Changes, lockService, type Numbered } from './service.ts';
import { DEAD_MAX } from './tokens.ts';

export interface LockServiceOptions {
  /** Host and port. */
  readonly address: string;
  /** Names our token, and knows the processes of this machine: `localProcesses(...)`. */
  readonly local: Liveness;
  /**
   * Whole milliseconds without a beat after which we are taken for dead. Default 3,000. Too small:
   * a pause of the process costs its transactions. Too large: locks of a process whose machine is
   * gone stay that long. If a process exits or is killed, the end of the connection shows it sooner
   * (tokens.ts).
   */
  readonly timeToLiveMs?: number | undefined;
  /**
   * Called when the service cannot be used, and when it can be used again. Default: not called; see
   * `troubles`.
   */
  readonly onTrouble?: ((trouble: Trouble) => unknown) | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

const KINDS: Kinds<LockServiceOptions> = {
  address: ADDRESS,
  local: objectWith('an object with the text self and the function isDead', {
    self: TEXT,
    isDead: FUNCTION,
  }),
  timeToLiveMs: COUNT, // The service hears of it in whole milliseconds.
  onTrouble: FUNCTION,
  clock: CLOCK,
};

/** Close it after the database that uses it; twice is harmless. */
export interface LockServiceClient extends Liveness, RangeLocks, AsyncDisposable {
  /** Whether we are connected, so that the service reports dead workers to us. */
  readonly isConnected: boolean;
  /** The current trouble: that the service cannot be used. */
  readonly troubles: readonly Trouble[];
  close(): Promise<void>;
}

const TTL_MS = 3_000;
/** Beats per time to live: one may get lost, and the next one may come late. */
const BEATS_PER_TTL = 3;
const RECONNECT_MS = 50;
/** The same, if a server of another kind is there. */
const RECONNECT_ELSEWHERE_MS = 1_000;
/** The name of its only trouble. */
const SERVICE = 'lock service';
/** How long a scanner waits for an answer, and then how long it works without locks. */
const LOCK_DEADLINE_MS = 200;
const WITHOUT_LOCKS_MS = 1_000;
const NO_LOCK: RangeLock = { release: () => {} };

/**
 * Connects in the background, retrying until it succeeds.
 * @throws INVALID_ARGUMENT for a wrong option
 */
export function connectLockService(options: LockServiceOptions): LockServiceClient {
  return new Connection(options);
}

class Connection implements LockServiceClient {
  readonly self: string;
  readonly #local: Liveness;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #service = lockService();
  readonly #server: RpcClient;
  readonly #closed = new AbortController();
  readonly #troubles: Troubles;
  readonly #staying: Promise<void>;
  #stay: ClientDuplexStream<Beat, Changes> | undefined;
  /** In the order of the reports. Undefined while the service reports nothing. */
  #dead: Set<string> | undefined;
  #withoutLocksUntilMs = -Infinity;
  /** Since when the service has reported nothing. */
  #lostSinceMs: number;

  constructor(options: LockServiceOptions) {
    checkOptions('connectLockService', options, KINDS, ['address', 'local']);
    this.self = options.local.self;
    this.#local = options.local;
    this.#clock = options.clock ?? systemClock;
    this.#ttlMs = options.timeToLiveMs ?? TTL_MS;
    this.#troubles = new Troubles(options.onTrouble);
    this.#lostSinceMs = this.#clock.monotonicMs();
    // Pings twice per time to live: a service that has not answered for one is gone.
    const connecting = { clock: this.#clock, keepaliveMs: Math.ceil(this.#ttlMs / 2) };
    this.#server = connect(options.address, this.#service, connecting);
    this.#staying = this.#stayForever();
  }

  get isConnected(): boolean {
    return this.#dead !== undefined;
  }

  get troubles(): readonly Trouble[] {
    return this.#troubles.current;
  }

  isDead(token: string): boolean {
    if (token === this.self) return false;
    return this.#local.isDead(token) || this.#dead?.has(token) === true;
  }

  async tryLock({ table, from, to }: LockedRange): Promise<RangeLock | undefined> {
    if (this.#clock.monotonicMs() < this.#withoutLocksUntilMs) return NO_LOCK;
    try {
      const request = { token: this.self, table, from, to };
      const deadline = { deadlineMs: LOCK_DEADLINE_MS };
      const { number } = await this.#server.call<Numbered>('LockRange', request, deadline);
      return number === 0 ? undefined : { release: () => this.#unlock(number) };
    } catch {
      this.#withoutLocksUntilMs = this.#clock.monotonicMs() + WITHOUT_LOCKS_MS;
      return NO_LOCK;
    }
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return this.#staying;
    this.#closed.abort();
    this.#stay?.write({ token: this.self, ttlMs: this.#ttlMs, isLeaving: true });
    this.#stay?.end();
    // A service that hangs never ends the stream.
    const over = new AbortController();
    await Promise.race([this.#staying, this.#clock.sleep(LOCK_DEADLINE_MS, over.signal)]);
    over.abort();
    this.#stay?.cancel();
    await this.#staying;
    this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** If the call is lost, the lock expires. */
  #unlock(number: number): void {
    const deadline = { deadlineMs: LOCK_DEADLINE_MS };
    this.#server.call('UnlockRange', { number }, deadline).catch(() => {});
  }

  async #stayForever(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const error = await this.#stayOnce();
      if (signal.aborted) return;
      const reason = error && (await this.#server.explain(error));
      const isElsewhere = hasCode(reason, 'WRONG_DATABASE');
      this.#noteLost(reason, isElsewhere);
      const restMs = isElsewhere ? RECONNECT_ELSEWHERE_MS : RECONNECT_MS;
      await this.#clock.sleep(restMs, signal, { background: true });
    }
  }

  /** A service that only restarts is back within a time to live. */
  #noteLost(error: Error | undefined, isElsewhere: boolean): void {
    const lostMs = this.#clock.monotonicMs() - this.#lostSinceMs;
    if (!isElsewhere && lostMs < this.#ttlMs) return;
    const what = isElsewhere && error !== undefined ? error.message : 'it does not answer';
    const sentence =
      `the lock service at ${this.#server.address} cannot be used (${what}): until then no process of ` +
      'another machine counts as dead, and scanners take no locks';
    this.#troubles.begin(SERVICE, { kind: SERVICE, sentence, error });
  }

  /** One connection, until it ends; resolves to the error that ended it. */
  async #stayOnce(): Promise<ServiceError | undefined> {
    const { path, requestSerialize, responseDeserialize } = methodOf(this.#service, 'Stay');
    const stay = this.#server.channel.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
    ) as ClientDuplexStream<Beat, Changes>;
    const ended = new AbortController();
    this.#stay = stay;
    const error = await new Promise<ServiceError | undefined>((resolve) => {
      stay.on('data', (changes: Changes) => this.#hear(changes));
      stay.on('error', (cause: ServiceError) => resolve(cause));
      // Without an error, too; otherwise the error comes first, or in the same turn.
      stay.on('end', () => void this.#clock.yield().then(() => resolve(undefined)));
      void this.#beatUntil(ended.signal, stay);
    });
    ended.abort();
    this.#stay = undefined;
    if (this.#dead !== undefined) this.#lostSinceMs = this.#clock.monotonicMs();
    this.#dead = undefined;
    return error;
  }

  async #beatUntil(ended: AbortSignal, stay: ClientDuplexStream<Beat, Changes>): Promise<void> {
    while (!ended.aborted && !this.#closed.signal.aborted) {
      stay.write({ token: this.self, ttlMs: this.#ttlMs });
      await this.#clock.sleep(this.#ttlMs / BEATS_PER_TTL, ended, { background: true });
    }
  }

  #hear({ dead = [], alive = [] }: Changes): void {
    this.#dead ??= new Set();
    this.#troubles.end(SERVICE);
    for (const token of dead) this.#dead.add(token);
    for (const token of alive) this.#dead.delete(token);
    for (const oldest of this.#dead) {
      if (this.#dead.size <= DEAD_MAX) break;
      this.#dead.delete(oldest);
    }
  }
}
