/**
 * The open connections of mutual TLS at one end, each with the end of the certificate that its peer
 * has shown:
 *
 *     open ──▶ ENDING_MS before that end: `onEnding` at each look; a client looks for another one
 *          ──▶ at that end: the connection ends
 *
 * TLS asks for a certificate only when a connection is made. Without this, a peer that was once let
 * in could stay forever.
 */
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../base/index.ts';

/** Milliseconds between two looks. */
const LOOK_MS = 60_000;
/** Enough for several attempts to find a server that has been given a new certificate. */
const ENDING_MS = 5 * LOOK_MS;

export class Peers {
  readonly #clock: Clock;
  readonly #onEnding: (() => void) | undefined;
  /** With the times until which their certificates are valid, as milliseconds since 1970. */
  readonly #sockets = new Map<TLSSocket, number>();
  readonly #closed = new AbortController();
  #isLooking = false;

  constructor(clock: Clock, onEnding?: () => void) {
    this.#clock = clock;
    this.#onEnding = onEnding;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** Its handshake must be over. */
  add(socket: TLSSocket): void {
    if (!this.#isLooking) void this.#look();
    this.#sockets.set(socket, socket.getPeerX509Certificate()?.validToDate.getTime() ?? 0);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  /** Ends the looking, and no connection. */
  close(): void {
    this.#closed.abort();
  }

  endAll(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_MS, signal, { background: true });
      if (signal.aborted) return;
      const nowMs = this.#clock.wallMs();
      const untilMs = [...this.#sockets.values()];
      if (untilMs.some((ms) => ms <= nowMs + ENDING_MS)) this.#onEnding?.();
      for (const [socket, ms] of this.#sockets) if (ms <= nowMs) socket.destroy();
    }
  }
}
