/**
 * The client of the timestamp oracle: a worker passes it to `openPercolator` as `oracle`.
 *
 *     callers ──▶ batching.ts: one request at a time, for all ──▶ the oracle that answered last
 *                                        ▲                              │ no answer, or no longer
 *                                        │                              │ the oracle
 *                                        └──────── the next address ◀───┘
 *
 * A request without an answer is repeated, here or elsewhere, until an answer comes or `timeoutMs`
 * is over: lost timestamps cost nothing, raising a horizon is idempotent, and a drop that is
 * announced twice costs commits one more read. A repeated request is still made after its callers
 * asked (P10, early commit timestamp).
 *
 * The client refuses to go backwards (P35, two oracles). An oracle that was presumed dead may still
 * answer. The client discards an answer from an epoch of a lease below the largest it has seen, or
 * with timestamps not above those it has received, and asks another oracle. That guards only this
 * process; the lease guards all of them (leased-allocator.ts).
 *
 * Nor does it take an answer of another database's oracle (P73, another database's oracle): an
 * address may be wrong, or lead to another server than yesterday. `openPercolator` names the
 * database; before that, the first answer does. An address whose server is of no use is left, and
 * asked again only by later requests. If all are, there is nothing to wait for.
 */
import {
  assert,
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
  FUNCTION,
  type OptionRules,
  POSITIVE,
} from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { connect, SECURITY } from '../rpc/index.ts';
import type { SecurityOptions } from '../rpc/tls.ts';
import { batchTimestamps } from './batching.ts';
import { checkOracle } from './oracle-row.ts';
import type { Allocation, TimestampOracle, TimestampSource } from './oracle.ts';
import {
  type AllocateResponse,
  type DropsResponse,
  type HorizonResponse,
  type OfOracle,
  oracleService,
} from './service.ts';

export interface OracleClientOptions extends SecurityOptions {
  /** Hosts and ports of all oracles of the database; any of them may answer. */
  readonly addresses: readonly string[];
  /**
   * Milliseconds until a request without an answer is repeated, at the next address. Default 1,000.
   * Too small: a slow oracle is asked repeatedly, and never heard. Too large: callers wait
   * that much longer for an oracle whose machine is gone.
   */
  readonly attemptMs?: number | undefined;
  /**
   * Milliseconds after which a request without an answer is repeated no more, and its callers
   * receive STORE_UNAVAILABLE; callers that come meanwhile share the next one. Default 10,000. Too
   * small: callers see every fail-over, which takes as long as the lease of an oracle that was
   * killed. Too large: callers wait that long for a service that is gone.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Called when a new certificate of `tls` cannot be used, so that the former one stays in use
   * until it expires, and when that is over. Default: Node prints the first one on standard error.
   */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** A remote oracle. Close it after the database that uses it; closing twice is harmless. */
export interface OracleClient extends TimestampOracle, AsyncDisposable {
  close(): Promise<void>;
}

const RULES: OptionRules<OracleClientOptions> = {
  addresses: {
    expected: 'a list of one or more texts like host:port',
    accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(ADDRESS.accepts),
  },
  attemptMs: POSITIVE,
  timeoutMs: POSITIVE,
  onWarning: FUNCTION,
  clock: CLOCK,
  ...SECURITY,
};

const ATTEMPT_MS = 1_000;
const TIMEOUT_MS = 10_000;
const BACKOFF_MS_MIN = 5;
const BACKOFF_MS_MAX = 100;

/**
 * Connects at the first request, which throws PACKAGE_MISSING if gRPC's packages are not installed.
 * @throws INVALID_ARGUMENT for a wrong option, or an address of another machine without `tls`
 */
export function connectOracle(options: OracleClientOptions): OracleClient {
  checkOptions('connectOracle', options, RULES, ['addresses']);
  const { clock = systemClock, tls, insecure } = options;
  const connecting = { clock, tls, insecure, warnings: new Warnings(options.onWarning) };
  const servers = options.addresses.map((address) => connect(address, oracleService, connecting));
  return oracleOf(servers, options);
}

/** A connection to one oracle: by gRPC, or by the network of the simulator. */
export interface OracleConnection {
  readonly address: string;
  call<Response>(
    method: string,
    request: object,
    options: { readonly deadlineMs: number },
  ): Promise<Response>;
  close(): void;
}

/** The client on connections that are made already. */
export function oracleOf(
  servers: readonly OracleConnection[],
  options: Omit<OracleClientOptions, 'addresses'>,
): OracleClient {
  const source = new RemoteSource(servers, options);
  const oracle = batchTimestamps(source);
  return {
    next: () => oracle.next(),
    get horizon() {
      return oracle.horizon;
    },
    readHorizon: () => oracle.readHorizon(),
    raiseHorizon: (horizon) => oracle.raiseHorizon(horizon),
    get drops() {
      return oracle.drops;
    },
    announceDrop: () => oracle.announceDrop(),
    belongTo: (identity) => oracle.belongTo(identity),
    close: async () => source.close(),
    [Symbol.asyncDispose]: async () => source.close(),
  };
}

class RemoteSource implements TimestampSource {
  readonly #servers: readonly OracleConnection[];
  readonly #clock: Clock;
  readonly #attemptMs: number;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();
  /** Which server the next request asks, modulo their number. Moves on when that one fails. */
  #current = 0;
  /** The largest epoch in any answer. */
  #epoch = 0;
  /** The largest timestamp that we have received. */
  #largest: Timestamp = 0;
  /** Of the database whose answers are taken; set once. */
  #identity: string | undefined;

  constructor(
    servers: readonly OracleConnection[],
    options: Omit<OracleClientOptions, 'addresses'>,
  ) {
    this.#servers = servers;
    this.#clock = options.clock ?? systemClock;
    this.#attemptMs = options.attemptMs ?? ATTEMPT_MS;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  get identity(): string | undefined {
    return this.#identity;
  }

  async belongTo(identity: string): Promise<void> {
    if (this.#identity !== undefined) return checkOracle(identity, this.#identity);
    await this.#ask<HorizonResponse>('ReadHorizon', {}, { identity });
    return undefined;
  }

  async allocate(count: number): Promise<Allocation> {
    const { first, horizon, drops } = await this.#ask<AllocateResponse>(
      'Allocate',
      { count },
      { isNew: (answer) => answer.first > this.#largest },
    );
    this.#largest = first + count - 1;
    return { first, horizon, drops };
  }

  async readHorizon(): Promise<Timestamp> {
    return (await this.#ask<HorizonResponse>('ReadHorizon', {})).horizon;
  }

  /** An oracle that takes a timestamp of ours for a future one was replaced by another oracle. */
  async raiseHorizon(horizon: Timestamp): Promise<Timestamp> {
    const isReplaced = (error: unknown): boolean =>
      horizon <= this.#largest && hasCode(error, 'INVALID_ARGUMENT');
    const request = { horizon, identity: this.#identity ?? '' };
    return (await this.#ask<HorizonResponse>('RaiseHorizon', request, { isReplaced })).horizon;
  }

  async announceDrop(): Promise<number> {
    const request = { identity: this.#identity ?? '' };
    return (await this.#ask<DropsResponse>('AnnounceDrop', request)).drops;
  }

  close(): void {
    this.#closed.abort();
    for (const server of this.#servers) server.close();
  }

  /**
   * The first acceptable answer.
   * @throws STORE_UNAVAILABLE, STORE_CLOSED, INVALID_ARGUMENT, PACKAGE_MISSING; WRONG_DATABASE,
   *   WRONG_VERSION, ROLE_REFUSED, STORE_REFUSED, STORE_FULL, STORE_DAMAGED if all servers are of
   *   no use
   */
  async #ask<Answer extends OfOracle>(
    method: string,
    request: object,
    {
      isNew = () => true,
      isReplaced = () => false,
      identity,
    }: {
      readonly isNew?: (answer: Answer) => boolean;
      readonly isReplaced?: (error: unknown) => boolean;
      /** The one to take answers of, as long as none is known. Default: that of the answer. */
      readonly identity?: string;
    } = {},
  ): Promise<Answer> {
    const startedMs = this.#clock.monotonicMs();
    let failed: Failed | undefined;
    const useless = new Map<OracleConnection, Failed>();
    for (let attempt = 0; ; attempt++) {
      const asked = this.#current;
      const server = this.#server(useless);
      const deadlineMs = this.#deadlineMs(startedMs);
      try {
        const answer = await server.call<Answer>(method, request, { deadlineMs });
        // A source without epochs asks the store each time, so it may also follow one with a lease.
        const isCurrent = answer.epoch === 0 || answer.epoch >= this.#epoch;
        const wanted = this.#identity ?? identity ?? answer.identity;
        checkOracle(wanted, answer.identity);
        this.#identity = wanted;
        if (isCurrent && isNew(answer)) {
          this.#epoch = Math.max(answer.epoch, this.#epoch);
          return answer;
        }
        throw replaced();
      } catch (given) {
        const error = isReplaced(given) ? replaced() : given;
        // An attempt that was cut short says less of the oracle than one that was not.
        const isCut = deadlineMs < this.#attemptMs && hasCode(error, 'STORE_UNAVAILABLE');
        if (isUseless(error)) {
          useless.set(server, { error, server });
          if (failed?.server === server) failed = undefined;
        } else if (failed === undefined || !isCut) {
          failed = { error, server };
        }
        if (useless.size === this.#servers.length || !this.#mayAskAgain(error, startedMs)) {
          throw explained(failed, [...useless.values()]);
        }
        // Another request may have moved on already: a second step would skip a healthy server.
        if (this.#current === asked) this.#current += 1;
        const round = Math.floor(attempt / this.#servers.length); // One try each, then slower.
        await this.#clock.sleep(
          Math.min(BACKOFF_MS_MIN * 2 ** round, BACKOFF_MS_MAX),
          this.#closed.signal,
        );
        // Closed while it rested: the caller hears what failed, as during an attempt.
        if (this.#closed.signal.aborted) throw explained(failed, [...useless.values()]);
      }
    }
  }

  /** The last attempt is shorter: a silent oracle must not keep a request beyond `timeoutMs`. */
  #deadlineMs(startedMs: number): number {
    const leftMs = startedMs + this.#timeoutMs - this.#clock.monotonicMs();
    return Math.min(this.#attemptMs, Math.max(1, leftMs));
  }

  /** The current one, or the next one that is not of no use. */
  #server(useless: ReadonlyMap<OracleConnection, Failed>): OracleConnection {
    const { length } = this.#servers;
    const inTurn = this.#servers.map((_, i) => this.#servers[(this.#current + i) % length]);
    const server = inTurn.find((one) => one !== undefined && !useless.has(one));
    assert(server !== undefined, 'a request ends when no server is left');
    return server;
  }

  #mayAskAgain(error: unknown, startedMs: number): boolean {
    if (this.#closed.signal.aborted) return false;
    if (!hasCode(error, 'STORE_UNAVAILABLE') && !isUseless(error)) return false;
    return this.#clock.monotonicMs() - startedMs < this.#timeoutMs;
  }
}

/** An attempt of a request. */
interface Failed {
  readonly error: unknown;
  readonly server: OracleConnection;
}

const USELESS: readonly ErrorCode[] = [
  'WRONG_DATABASE',
  'WRONG_VERSION',
  'ROLE_REFUSED',
  'STORE_REFUSED',
  'STORE_FULL',
  'STORE_DAMAGED',
];

/** Whether asking the same server again does not help. */
function isUseless(error: unknown): boolean {
  return USELESS.some((code) => hasCode(error, code));
}

/**
 * One sentence for all attempts. If an oracle may still answer, it is that one's error, which
 * allows to try again.
 */
function explained(failed: Failed | undefined, useless: readonly Failed[]): unknown {
  const [first, ...others] = failed === undefined ? useless : [failed, ...useless];
  assert(first !== undefined, 'a request ends with an answer or after an attempt');
  const { error: cause } = first;
  if (!(cause instanceof PercolatorError) || cause.code === 'PACKAGE_MISSING') return cause;
  const refusal = isUseless(cause) ? 'cannot be used' : 'gives no answer';
  const more = others.map((other) => `; nor can that at ${sentenceOf(other)} be used`).join('');
  const message = `the timestamp oracle at ${first.server.address} ${refusal}: ${cause.message}${more}`;
  return new PercolatorError(cause.code, message, { cause });
}

function sentenceOf({ error, server }: Failed): string {
  return `${server.address} (${error instanceof Error ? error.message : String(error)})`;
}

function replaced(): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', 'another oracle has taken over from it');
}
