/**
 * A proxy between clients and a server that does to their connections what networks and machines
 * do. A seed decides what each connection meets, and after how many bytes:
 *
 *     refused          the client is cut off at once
 *     request cut      some bytes of requests have passed, then both sides are cut off
 *     answer cut       requests pass, and some bytes of answers; then the client is cut off
 *     half-open        from some byte on nothing passes, and for long no side hears of it
 *     held             the same for a while, then everything that was sent arrives, late
 *     left in flight      the client is cut off, and what it sent last arrives a while later
 *     slow             bytes pass one by one
 *     none
 *
 * A cut side hears an end, or a reset; the server may also hear nothing at first. The operating
 * system decides how bytes are grouped, so a seed repeats the plan of a run and not the run.
 */
import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { type Random, systemClock } from '../../../engine/base/index.ts';

export const FAULTS = [
  'refused',
  'request cut',
  'answer cut',
  'half-open',
  'held',
  'left in flight',
  'slow',
] as const;
export type ConnectionFault = (typeof FAULTS)[number] | 'none';

export interface ProxyOptions {
  readonly random: Random;
  /** What connections meet, each as likely. Default: all faults, `none` apart. */
  readonly faults?: readonly ConnectionFault[] | undefined;
  /** How long a held connection is held, in milliseconds. */
  readonly holdMs: number;
  /** How long after the client was cut off what it left in flight arrives. Default 0. */
  readonly leftMs?: number | undefined;
}

/** Faults strike within so many bytes, which are a few calls of a small load. */
const BYTES_MAX = 3_000;
/** So many bytes of a slow connection pass one by one. */
const SLOW_BYTES = 300;

interface Pair {
  readonly fault: ConnectionFault;
  readonly client: Socket;
  readonly server: Socket;
}

export class Proxy implements AsyncDisposable {
  readonly #options: ProxyOptions;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  readonly #met: ConnectionFault[] = [];
  #target: NetConnectOpts | undefined;
  #isCalm = false;

  constructor(target: NetConnectOpts, options: ProxyOptions) {
    this.#target = target;
    this.#options = options;
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** @param at a path, or a port of this machine (0: any) */
  async listen(at: string | number): Promise<Server> {
    if (typeof at === 'string') this.#listener.listen(at);
    else this.#listener.listen(at, '127.0.0.1');
    await once(this.#listener, 'listening');
    return this.#listener;
  }

  /** What each connection was to meet. */
  get met(): readonly ConnectionFault[] {
    return this.#met;
  }

  /** The server dies: all connections end, and new ones are refused until there is a next one. */
  moveTo(target: NetConnectOpts | undefined): void {
    this.#target = target;
    for (const pair of this.#pairs) end(pair);
  }

  /** No more faults: connections that had one are cut off, new ones have none. */
  calm(): void {
    this.#isCalm = true;
    for (const pair of this.#pairs) if (pair.fault !== 'none') end(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) end(pair);
    await once(this.#listener.close(), 'close');
  }

  #accept(client: Socket): void {
    client.on('error', () => client.destroy());
    if (this.#target === undefined) {
      client.destroy();
      return;
    }
    const random = this.#options.random.fork(`connection ${this.#met.length}`);
    const fault = this.#isCalm ? 'none' : random.pick(this.#options.faults ?? FAULTS);
    this.#met.push(fault);
    if (fault === 'refused') {
      cut(client, random.fraction() < 0.5);
      return;
    }
    const server = connect({ ...this.#target, allowHalfOpen: true } as NetConnectOpts);
    const pair = { fault, client, server };
    this.#pairs.add(pair);
    server.on('error', () => server.destroy());
    server.once('close', () => {
      this.#pairs.delete(pair);
      // A half-open connection: the client is not told.
      if (!isDeaf(client)) client.destroy();
    });
    client.once('close', () => {
      if (!isDeaf(client)) server.end();
    });
    pass(pair, this.#options, random);
  }
}

/** Sockets whose other side is not told when they end. */
const deaf = new WeakSet<Socket>();
/** Those whose last bytes arrive later than they. */
const leaving = new WeakSet<Socket>();
const isLeftInFlight = (client: Socket): boolean => leaving.has(client);
const isDeaf = (client: Socket): boolean => deaf.has(client);

function pass(
  { fault, client, server }: Pair,
  { holdMs, leftMs = 0 }: ProxyOptions,
  random: Random,
): void {
  const at = fault === 'slow' || fault === 'none' ? Infinity : random.integer(0, BYTES_MAX);
  const isReset = random.fraction() < 0.5;
  const isServerTold = random.fraction() < 0.7;
  let left: Buffer[] | undefined;
  const strike = (late: Buffer): void => {
    if (fault === 'left in flight') {
      deaf.add(client);
      cut(client, isReset);
      left = [late];
      leaving.add(client);
      void systemClock.sleep(leftMs, undefined, { background: true }).then(() => {
        server.end(Buffer.concat(left ?? []));
      });
      return;
    }
    if (fault === 'half-open' || fault === 'held') {
      deaf.add(client);
      client.pause();
      server.pause();
      const pair = { fault, client, server };
      const go = (): void => (fault === 'held' ? release(pair) : end(pair));
      const ms = fault === 'held' ? holdMs : 2 * holdMs;
      void systemClock.sleep(ms, undefined, { background: true }).then(go);
      return;
    }
    if (!isServerTold) deaf.add(client);
    cut(client, isReset);
    if (isServerTold) cut(server, isReset && fault === 'request cut');
  };
  const isOfRequests = fault !== 'answer cut';
  const isSlow = fault === 'slow';
  const toServer = (bytes: Buffer): unknown => left?.push(bytes) ?? server.write(bytes);
  relay(client, server, { at: isOfRequests ? at : Infinity, strike, isSlow, write: toServer });
  relay(server, client, { at: isOfRequests ? Infinity : at, strike, isSlow });
}

function release({ client, server }: Pair): void {
  deaf.delete(client);
  client.resume();
  server.resume();
}

/** Passes bytes on, and strikes when so many have passed. */
function relay(
  from: Socket,
  to: Socket,
  how: {
    readonly at: number;
    readonly strike: (late: Buffer) => void;
    readonly isSlow: boolean;
    readonly write?: (bytes: Buffer) => unknown;
  },
): void {
  const { write = (bytes: Buffer): unknown => to.write(bytes) } = how;
  let passed = 0;
  let hasStruck = false;
  let slowBytes = how.isSlow ? SLOW_BYTES : 0;
  let turn = Promise.resolve();
  from.on('data', (chunk: Buffer) => {
    turn = turn.then(async () => {
      let rest = chunk;
      for (; slowBytes > 0 && rest.length > 0; slowBytes--) {
        to.write(rest.subarray(0, 1));
        rest = rest.subarray(1);
        await systemClock.sleep(1, undefined, { background: true });
      }
      const allowed = hasStruck ? rest.length : Math.min(rest.length, how.at - passed);
      passed += rest.length;
      if (!to.destroyed) write(rest.subarray(0, allowed));
      if (hasStruck || passed < how.at) return;
      hasStruck = true;
      const late = rest.subarray(allowed);
      how.strike(late);
      if (late.length > 0 && !isLeftInFlight(from)) from.unshift(late); // Paused, or gone.
    });
  });
  from.once('end', () => {
    void turn.then(() => to.end());
  });
}

function cut(socket: Socket, isReset: boolean): void {
  // Only TCP has resets.
  if (isReset && socket.remoteAddress !== undefined) socket.resetAndDestroy();
  else socket.destroySoon();
}

function end({ client, server }: Pair): void {
  client.destroy();
  server.destroy();
}
