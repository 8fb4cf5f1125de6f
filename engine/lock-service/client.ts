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
 * There may be several services, which know nothing of each other. We announce ourselves to all of
 * them, so that the loss of one changes nothing, and none has to take over:
 *
 *     isDead     all services that report to us say so (P85, lock services disagree). Of two that
 *                disagree, one may be cut off from a living worker; one that was just started knows
 *                of no dead, and then their locks wait out their time to live.
 *     tryLock    the first service, in the order of the addresses, that reports to us. While it
 *                changes, scanners may meet.
 *
 * Locks that a service does not grant or refuse in time count as granted, and for a second it is
 * not asked again: a scanner without locks does work twice, a scanner that waits does none.
 *
 * So nothing fails without a service, and no caller would learn that an address is wrong: that
 * is a warning (P56, silent background failures), at once if another kind of server is there or
 * gRPC's packages are missing, otherwise after a time to live.
 */
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import {
  BoundedMap,
  type Clock,
  type ErrorCode,
  hasCode,
  PercolatorError,
  systemClock,
  type Warning,
  Warnings,
} from '../base/index.ts';
import {
  ADDRESS,
  checkOptions,
  CLOCK,
  COUNT,
  FUNCTION,
  type OptionRules,
  objectWith,
  TEXT,
} from '../base/options.ts';
import {
  checkVersion,
  connect,
  methodOf,
  type RpcClient,
  SECURITY,
  type StreamLine,
  versioned,
} from '../rpc/index.ts';
import type { SecurityOptions } from '../rpc/tls.ts';
import type { Liveness } from './local-processes.ts';
import type { LockedRange, RangeLock, RangeLocks } from './range-locks.ts';
import { type Beat, type LivenessChanges, lockService, type Numbered } from './service.ts';
import { DEAD_MAX } from './tokens.ts';

export interface LockServiceOptions extends SecurityOptions {
  /** Host and port of each lock service. All workers should name them in one order. */
  readonly addresses: readonly string[];
  /** Names our token, and knows the processes of this machine: `localProcesses(...)`. */
  readonly local: Liveness;
  /**
   * Whole milliseconds without a beat after which we are presumed dead. Default 3,000. Too small:
   * a pause of the process costs its transactions. Too large: locks of a process whose machine is
   * gone stay that long. If a process exits or is killed, the end of the connection shows it sooner
   * (tokens.ts).
   */
  readonly timeToLiveMs?: number | undefined;
  /**
   * Called when the service, or a new certificate of `tls`, cannot be used, and when that is over.
   * Default: Node prints the first one of each kind on standard error.
   */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

const RULES: OptionRules<LockServiceOptions> = {
  addresses: {
    expected: 'a list of one or more texts like host:port',
    accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(ADDRESS.accepts),
  },
  local: objectWith('an object with the text self and the function isDead', {
    self: TEXT,
    isDead: FUNCTION,
  }),
  timeToLiveMs: COUNT, // The service hears of it in whole milliseconds.
  onWarning: FUNCTION,
  clock: CLOCK,
  ...SECURITY,
};

/** Close it after the database that uses it; twice is harmless. */
export interface LockServiceClient extends Liveness, RangeLocks, AsyncDisposable {
  /** Whether we are connected to a service, so that it reports dead workers to us. */
  readonly isConnected: boolean;
  /** The addresses of all services that we are connected to. */
  readonly connectedTo: readonly string[];
  /** The current warnings: that one service cannot be used, or a new certificate. */
  readonly warnings: readonly Warning[];
  close(): Promise<void>;
}

const TTL_MS = 3_000;
/** Beats per time to live: one may get lost, and the next one may come late. */
const BEATS_PER_TTL = 3;
const RECONNECT_MS = 50;
/** The same, if only an operator can change it: another kind of server, or a missing package. */
const RECONNECT_USELESS_MS = 1_000;
/** What stays until an operator changes it. */
const USELESS: readonly ErrorCode[] = [
  'WRONG_DATABASE',
  'WRONG_VERSION',
  'ROLE_REFUSED',
  'PACKAGE_MISSING',
];
/** How long a scanner waits for an answer, and then how long it works without locks. */
const LOCK_DEADLINE_MS = 200;
const WITHOUT_LOCKS_MS = 1_000;
const NO_LOCK: RangeLock = { release: () => {} };

/**
 * Connects in the background, retrying until it succeeds.
 * @throws INVALID_ARGUMENT for a wrong option, or an address of another machine without `tls`
 */
export function connectLockService(options: LockServiceOptions): LockServiceClient {
  return new LockServices(options);
}

class LockServices implements LockServiceClient {
  readonly self: string;
  readonly #local: Liveness;
  readonly #clock: Clock;
  readonly #warnings: Warnings;
  /** In the order of the addresses. */
  readonly #services: readonly ServiceConnection[];

  constructor(options: LockServiceOptions) {
    checkOptions('connectLockService', options, RULES, ['addresses', 'local']);
    const { addresses, local, clock = systemClock, timeToLiveMs: ttlMs = TTL_MS } = options;
    const { tls, insecure } = options;
    this.self = local.self;
    this.#local = local;
    this.#clock = clock;
    this.#warnings = new Warnings(options.onWarning);
    const shared = {
      clock,
      ttlMs,
      self: local.self,
      warnings: this.#warnings,
      isAlone: addresses.length === 1,
      tls,
      insecure,
    };
    const services = addresses.map((address) => new ServiceConnection(address, shared));
    for (const service of services) service.begin(); // Only now: a later address may be refused.
    this.#services = services;
  }

  get isConnected(): boolean {
    return this.connectedTo.length > 0;
  }

  get connectedTo(): readonly string[] {
    const connected = this.#services.filter(({ dead }) => dead !== undefined);
    return connected.map(({ address }) => address);
  }

  get warnings(): readonly Warning[] {
    return this.#warnings.current;
  }

  isDead(token: string): boolean {
    if (token === this.self) return false;
    if (this.#local.isDead(token)) return true;
    let isReported = false;
    for (const { dead } of this.#services) {
      if (dead?.has(token) === false) return false;
      isReported ||= dead !== undefined;
    }
    return isReported;
  }

  async tryLock(range: LockedRange): Promise<RangeLock | undefined> {
    const nowMs = this.#clock.monotonicMs();
    const service = this.#services.find((one) => one.grantsLocks(nowMs)) ?? this.#services[0];
    return service?.tryLock(range);
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

type Stay = ClientDuplexStream<Beat, LivenessChanges>;

/** There is a connection with newer certificates. */
const RENEWED = 'renewed';
type Ending = ServiceError | PercolatorError | typeof RENEWED | undefined;

interface Shared extends SecurityOptions {
  readonly self: string;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly warnings: Warnings;
  /** Whether it is the only service. */
  readonly isAlone: boolean;
}

interface FormerStay {
  readonly stay: Stay;
  readonly line: StreamLine;
  /** Aborted when it is over. */
  readonly ended: AbortController;
}

/** Our stay at one service. */
class ServiceConnection {
  readonly address: string;
  readonly #self: string;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #isAlone: boolean;
  readonly #server: RpcClient;
  readonly #closed = new AbortController();
  readonly #warnings: Warnings;
  #staying: Promise<void> = Promise.resolve();
  #stay: Stay | undefined;
  /** On former connections, where we beat until the one on the newest connection is answered. */
  #formerStays: readonly FormerStay[] = [];
  /** In the order of the reports. Undefined while the service reports nothing. */
  #dead: BoundedMap<string, true> | undefined;
  #withoutLocksUntilMs = -Infinity;
  /** Since when the service has reported nothing. */
  #lostSinceMs: number;

  constructor(address: string, shared: Shared) {
    const { self, clock, ttlMs, warnings, isAlone, tls, insecure } = shared;
    this.address = address;
    this.#self = self;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#warnings = warnings;
    this.#isAlone = isAlone;
    this.#lostSinceMs = clock.monotonicMs();
    // Pings twice per time to live: a service that has not answered for one is gone.
    const connecting = { clock, keepaliveMs: Math.ceil(ttlMs / 2), tls, insecure, warnings };
    this.#server = connect(address, lockService, connecting);
  }

  begin(): void {
    this.#staying = this.#stayForever();
  }

  /** The reported dead; undefined while the service reports nothing. */
  get dead(): Pick<BoundedMap<string, true>, 'has'> | undefined {
    return this.#dead;
  }

  grantsLocks(nowMs: number): boolean {
    return this.#dead !== undefined && nowMs >= this.#withoutLocksUntilMs;
  }

  async tryLock({ table, from, to }: LockedRange): Promise<RangeLock | undefined> {
    if (this.#clock.monotonicMs() < this.#withoutLocksUntilMs) return NO_LOCK;
    try {
      const request = { token: this.#self, table, from, to };
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
    this.#stay?.write(versioned({ token: this.#self, ttlMs: this.#ttlMs, isLeaving: true }));
    this.#stay?.end();
    // A service that hangs never ends the stream.
    const over = new AbortController();
    await Promise.race([this.#staying, this.#clock.sleep(LOCK_DEADLINE_MS, over.signal)]);
    over.abort();
    this.#stay?.cancel();
    await this.#staying;
    this.#server.close();
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
      if (error === RENEWED) continue;
      const isExplained = error === undefined || error instanceof PercolatorError;
      const reason = isExplained ? error : await this.#server.explain(error);
      const isUseless = USELESS.some((code) => hasCode(reason, code));
      this.#noteLost(reason, isUseless);
      const restMs = isUseless ? RECONNECT_USELESS_MS : RECONNECT_MS;
      await this.#clock.sleep(restMs, signal, { background: true });
    }
  }

  get #warning(): string {
    return `lock service ${this.address}`;
  }

  /** A service that only restarts is back within a time to live. */
  #noteLost(error: Error | undefined, isUseless: boolean): void {
    const lostMs = this.#clock.monotonicMs() - this.#lostSinceMs;
    if (!isUseless && lostMs < this.#ttlMs) return;
    const what = isUseless && error !== undefined ? error.message : 'it does not answer';
    const consequence = this.#isAlone
      ? 'until then no process of another machine counts as dead, and scanners take no locks'
      : 'until then only the other lock services say which processes of other machines are dead';
    const sentence = `the lock service at ${this.address} cannot be used (${what}): ${consequence}`;
    this.#warnings.begin(this.#warning, { kind: 'lock service', sentence, error });
  }

  /**
   * One stream, until it ends, or should go over to a newer connection; resolves to why. A former
   * stream lasts until the new one is answered, because its first beat has arrived: for the
   * service, we are never away.
   */
  async #stayOnce(): Promise<Ending> {
    let line: StreamLine;
    try {
      line = await this.#server.open();
    } catch (error) {
      this.#forget();
      return error as PercolatorError;
    }
    if (this.#closed.signal.aborted) return undefined;
    const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
    const stay: Stay = line.channel.makeBidiStreamRequest(
      path,
      requestSerialize as (beat: Beat) => Buffer,
      responseDeserialize as (bytes: Buffer) => LivenessChanges,
    );
    const ended = new AbortController();
    this.#stay = stay;
    const ending = await new Promise<Ending>((resolve) => {
      stay.on('data', (changes: LivenessChanges) => {
        try {
          checkVersion(`the server at ${this.#server.address}`, changes);
          this.#hear(changes);
          if (this.#stay === stay) this.#endFormerStays();
        } catch (cause) {
          resolve(cause as PercolatorError);
          stay.cancel();
        }
      });
      stay.on('error', (cause: ServiceError) => resolve(cause));
      // Without an error, too; otherwise the error comes first, or in the same turn.
      stay.on('end', () => void this.#clock.yield().then(() => resolve(undefined)));
      line.renewed.addEventListener('abort', () => resolve(RENEWED));
      void this.#beatUntil(ended.signal, stay);
    });
    if (ending === RENEWED) {
      this.#formerStays = [...this.#formerStays, { stay, line, ended }];
      return RENEWED;
    }
    ended.abort();
    line.release();
    this.#forget();
    return ending;
  }

  #endFormerStays(): void {
    for (const { stay, line, ended } of this.#formerStays) {
      ended.abort();
      stay.cancel();
      line.release();
    }
    this.#formerStays = [];
  }

  /** The service reports nothing any more. */
  #forget(): void {
    this.#endFormerStays();
    this.#stay = undefined;
    if (this.#dead !== undefined) this.#lostSinceMs = this.#clock.monotonicMs();
    this.#dead = undefined;
  }

  async #beatUntil(ended: AbortSignal, stay: Stay): Promise<void> {
    while (!ended.aborted && !this.#closed.signal.aborted) {
      stay.write(versioned({ token: this.#self, ttlMs: this.#ttlMs }));
      await this.#clock.sleep(this.#ttlMs / BEATS_PER_TTL, ended, { background: true });
    }
  }

  #hear({ dead = [], alive = [] }: LivenessChanges): void {
    this.#dead ??= new BoundedMap(DEAD_MAX);
    this.#warnings.end(this.#warning);
    for (const token of dead) this.#dead.set(token, true);
    for (const token of alive) this.#dead.delete(token);
  }
}
