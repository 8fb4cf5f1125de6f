/**
 * The connection between a coordinator and an agent, from either end: messages, one JSON text in a
 * line each, and a beat every other second, so that a peer whose machine or network is gone is
 * noticed although no packet says so.
 *
 * Values of the processes' own messages are not JSON (undefined, Map, Infinity): they travel as
 * `packed`, in the form in which Node passes them between processes.
 */
import type { TLSSocket } from 'node:tls';
import { deserialize, serialize } from 'node:v8';
import { monotonicMs } from '../load/monotonic-clock.ts';
import type { Beat } from './messages.ts';

const BEAT_MS = 2_000;
/** Silence after which the peer is given up, in milliseconds: ten beats. */
const SILENCE_MS_MAX = 20_000;
/** Bytes of a first message: what has not joined may not fill the memory. */
const FIRST_MAX = 16_384;
/** How long a peer may take to hear the last words until it is cut off, in milliseconds. */
const CLOSE_MS_MAX = 5_000;

interface WireEnds<In> {
  /** Undefined for a line that is no message of the peer. */
  readonly read: (line: string) => In | Beat | undefined;
  readonly onMessage: (message: Exclude<In, Beat>) => void;
  /** Called once, with the reason as the end of a sentence. */
  readonly onGone: (reason: string) => void;
}

export class Wire<In extends { readonly kind: string }, Out extends { readonly kind: string }> {
  readonly #socket: TLSSocket;
  readonly #ends: WireEnds<In>;
  readonly #beat: NodeJS.Timeout;
  #rest = '';
  #heardMs = monotonicMs();
  #isFirst = true;
  #isGone = false;

  constructor(socket: TLSSocket, ends: WireEnds<In>) {
    this.#socket = socket;
    this.#ends = ends;
    socket.setEncoding('utf8').setNoDelay(true);
    socket.on('data', (text: string) => this.#hear(text));
    socket.on('error', ({ message }) => this.#end(`the connection failed (${message})`));
    socket.on('close', () => this.#end('the connection was closed'));
    this.#beat = setInterval(() => this.#look(), BEAT_MS);
  }

  /** Harmless if the peer is gone. */
  send(message: Out): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Ends the connection when all has been sent, or soon; `onGone` is not called. */
  close(): void {
    if (this.#isGone) return;
    this.#leave();
    const late = setTimeout(() => this.#socket.destroy(), CLOSE_MS_MAX);
    this.#socket.on('close', () => clearTimeout(late));
    this.#socket.end();
  }

  /** Ends the connection at once, whatever the peer has to say; `onGone` is not called. */
  cut(): void {
    this.#leave();
    this.#socket.destroy();
  }

  #look(): void {
    const silentMs = monotonicMs() - this.#heardMs;
    if (silentMs > SILENCE_MS_MAX) this.#end(`it was silent for ${SILENCE_MS_MAX / 1000} s`);
    else this.send({ kind: 'beat' } as never);
  }

  #hear(text: string): void {
    if (this.#isGone) return;
    this.#heardMs = monotonicMs();
    this.#rest += text;
    if (this.#isFirst && this.#rest.length > FIRST_MAX && !text.includes('\n')) {
      this.#end('its first message is too long');
      return;
    }
    if (!text.includes('\n')) return;
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (!this.#isGone) this.#take(line);
  }

  #take(line: string): void {
    const message = this.#ends.read(line);
    if (message === undefined) {
      this.#end('it sent a line that is no message');
      return;
    }
    if (message.kind === 'beat') return;
    this.#isFirst = false;
    this.#ends.onMessage(message as Exclude<In, Beat>);
  }

  #end(reason: string): void {
    if (this.#isGone) return;
    this.cut();
    this.#ends.onGone(reason);
  }

  #leave(): void {
    this.#isGone = true;
    clearInterval(this.#beat);
  }
}

export function packed(value: unknown): string {
  return serialize(value).toString('base64');
}

export function unpacked(text: string): unknown {
  return deserialize(Buffer.from(text, 'base64'));
}
