/**
 * The door of a service with mutual TLS: what has not shown a certificate of a trusted authority
 * stays outside, and never meets HTTP/2 or gRPC.
 *
 *     connection ──▶ half open ──handshake──▶ inside: handed to gRPC ──▶ roles.ts judges each call
 *                       │ │ └─ too slow, no certificate, another protocol ─▶ ended
 *                       │ └─── more than HALF_OPEN_MAX: the oldest is ended
 *                       └───── more than INSIDE_MAX inside: ended
 *
 * All that reach the address can open connections and say nothing. Each costs memory until its
 * handshake is over, so their number is bounded, and so is the time of each. If there are more, the
 * oldest one makes room: a peer that means it needs only milliseconds, and tries again.
 *
 * New certificates hold for new connections. An open one lasts until the certificate that its peer
 * has shown expires.
 */
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock, Warnings } from '../base/index.ts';
import { RENEWAL, type UsableIdentity, usable, warnOfRenewal } from './certificate.ts';
import { Peers } from './peers.ts';
import type { TlsSource } from './tls.ts';

export interface SecureListener {
  readonly port: number;
  /** What it shows: the newest identity that can be used. */
  readonly identity: UsableIdentity;
  /** Connections that were ended before they were inside. Only grows. */
  readonly refused: number;
  /** Connections in the middle of their handshakes. */
  readonly halfOpen: number;
  /** Ends all connections. */
  close(): void;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsSource;
  readonly clock: Clock;
  /** Hear of new certificates that cannot be used; the former ones stay in use. */
  readonly warnings: Warnings;
  /** Receives each connection that is inside. */
  readonly onInside: (socket: TLSSocket) => void;
}

/** Half-open connections at a time. Each keeps about 100 kB, mostly in OpenSSL. */
const HALF_OPEN_MAX = 512;
/** Of processes with certificates; each has one connection to a service, or a few. */
const INSIDE_MAX = 10_000;
/** Milliseconds for a handshake, which takes a few and three packets of the network. */
const HANDSHAKE_MS = 5_000;

/** @throws what the system says of an address at which nothing can listen */
export async function listenSecurely(options: ListenOptions): Promise<SecureListener> {
  const { tls, host, port, clock, warnings, onInside } = options;
  let identity = usable(tls.current());
  const door = new Door(clock, onInside);
  const server = createServer({
    ...identity.context,
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_MS,
    noDelay: true,
  });
  server.on('connection', (socket: Socket) => door.arrive(socket));
  server.on('secureConnection', (socket) => door.enter(socket));
  server.on('tlsClientError', (_error, socket) => door.refuse(socket));
  const stopListening = tls.onChange(() => {
    try {
      const next = usable(tls.current());
      server.setSecureContext(next.context);
      identity = next;
      warnings.end(RENEWAL);
    } catch (error) {
      warnOfRenewal(warnings, 'the service', error);
    }
  });
  const close = (): void => {
    stopListening();
    server.close();
    door.close();
  };
  try {
    await listening(server, host, port);
  } catch (error) {
    close();
    throw error;
  }
  return {
    port: (server.address() as AddressInfo).port,
    close,
    get identity() {
      return identity;
    },
    get refused() {
      return door.refused;
    },
    get halfOpen() {
      return door.halfOpen;
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      server.on('error', () => {}); // One connection could not be accepted, for lack of files.
      resolve();
    });
  });
}

class Door {
  readonly #onInside: (socket: TLSSocket) => void;
  /** By the peers' addresses, in the order of arrival. Each leaves it when it enters, or closes. */
  readonly #halfOpen = new Map<string, Socket>();
  readonly #inside: Peers;
  refused = 0;

  constructor(clock: Clock, onInside: (socket: TLSSocket) => void) {
    this.#inside = new Peers(clock);
    this.#onInside = onInside;
  }

  get halfOpen(): number {
    return this.#halfOpen.size;
  }

  arrive(socket: Socket): void {
    const address = addressOf(socket);
    this.#halfOpen.set(address, socket);
    socket.on('close', () => {
      if (this.#halfOpen.get(address) === socket) this.#halfOpen.delete(address);
    });
    if (this.#halfOpen.size <= HALF_OPEN_MAX) return;
    const [oldest] = this.#halfOpen;
    if (oldest === undefined) return;
    const [of, waiting] = oldest;
    this.#halfOpen.delete(of);
    waiting.destroy(); // `tlsClientError` follows, and counts it.
  }

  enter(socket: TLSSocket): void {
    this.#halfOpen.delete(addressOf(socket));
    if (this.#inside.size >= INSIDE_MAX) {
      this.refuse(socket);
      return;
    }
    const certificate = socket.getPeerCertificate();
    // gRPC asks for it at each call, and Node would parse it each time.
    socket.getPeerCertificate = (() => certificate) as TLSSocket['getPeerCertificate'];
    this.#inside.add(socket);
    socket.on('error', () => {}); // The connection broke; `close` follows.
    this.#onInside(socket);
  }

  refuse(socket: TLSSocket): void {
    this.refused += 1;
    socket.destroy();
  }

  close(): void {
    for (const socket of this.#halfOpen.values()) socket.destroy();
    this.#inside.close();
    this.#inside.endAll();
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
