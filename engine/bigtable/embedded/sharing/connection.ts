/** A client's connection to the process that owns the store. */
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../../base/index.ts';
import { storeIn } from '../folder.ts';
import {
  type Answer,
  type Frame,
  FrameReader,
  FrameWriter,
  type Greeting,
  type Request,
} from './messages.ts';
import { socketOf } from './socket-place.ts';

export interface ConnectionEvents {
  readonly onAnswer: (answer: Answer, frame: Frame) => void;
  /** Requests of one turn of the event loop are too large to be sent together: none was sent. */
  readonly onUnsent: (ids: readonly number[], error: unknown) => void;
  /** The connection is lost: no answer follows. */
  readonly onLost: () => void;
}

export class Connection {
  readonly greeting: Greeting;
  /** By how much the owner's clock is ahead of ours, at least. */
  #aheadMs = -Infinity;
  readonly #nowMs: () => number;
  readonly #socket: Socket;
  readonly #onUnsent: ConnectionEvents['onUnsent'];
  #writer = new FrameWriter();
  /** The ids of the requests that the writer has. */
  #ids: number[] = [];
  #isListening = false;
  #isWriting = false;
  /** Whether nothing more may be said: the owner is closing, or `end` was called. */
  isEnding = false;

  private constructor(
    socket: Socket,
    greeting: Greeting,
    { nowMs, onUnsent }: { readonly nowMs: () => number } & Pick<ConnectionEvents, 'onUnsent'>,
  ) {
    this.#socket = socket;
    this.greeting = greeting;
    this.#nowMs = nowMs;
    this.#onUnsent = onUnsent;
    this.#hearClock(greeting.clockMs);
  }

  /** Undefined if no process listens there, or it does not greet in time, or ends before that. */
  static open(
    path: string,
    timeoutMs: number,
    events: ConnectionEvents,
    nowMs: () => number = () => systemClock.monotonicMs(),
  ): Promise<Connection | undefined> {
    const reader = new FrameReader();
    const opened = Promise.withResolvers<Connection | undefined>();
    let connection: Connection | undefined;
    const socket = connect(path);
    socket.on('data', (chunk) => {
      try {
        for (const frame of reader.add(chunk)) {
          const [first, ...rest] = frame.messages;
          let answers = frame.messages;
          if (connection === undefined) {
            if (typeof first !== 'object' || first === null) throw new Error('no greeting');
            const { onUnsent } = events;
            connection = new Connection(socket, first as Greeting, { nowMs, onUnsent });
            opened.resolve(connection);
            answers = rest;
          }
          // First: what was late in one turn is sent again with one deadline (P61).
          for (const answer of answers as Answer[]) {
            if (answer[3] !== undefined) connection.#hearClock(answer[3]);
          }
          for (const answer of answers as Answer[]) {
            // Not left to the caller, which may not have the connection yet.
            if (answer[0] === 'closing') connection.end();
            else if (answer[0] === 'fenced') connection.#confirmFence();
            events.onAnswer(answer, frame);
          }
        }
      } catch {
        socket.destroy(); // Not a frame, or no answer: this is no owner of our version.
      }
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      if (connection === undefined) opened.resolve(undefined);
      else events.onLost();
    });
    void systemClock.sleep(timeoutMs, undefined, { background: true }).then(() => {
      if (connection === undefined) socket.destroy();
    });
    return opened.promise;
  }

  /**
   * The deadline is in milliseconds of our clock.
   * @throws if the arguments cannot be sent
   */
  send([id, method, deadlineMs, given]: Request): void {
    this.#writer.addRequest([id, method, Math.floor(deadlineMs + this.#aheadMs), given]);
    this.#ids.push(id);
    this.#writeSoon();
  }

  listen(): void {
    if (this.isEnding) return;
    this.#isListening = true;
    this.#writer.add(['listening']);
    this.#writeSoon();
  }

  #hearClock(clockMs: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, clockMs - this.#nowMs());
  }

  #writeSoon(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    void systemClock.yield().then(() => this.#write());
  }

  /** At once, in a frame of its own: before all that was said in this turn. */
  #confirmFence(): void {
    if (this.isEnding) return;
    const writer = new FrameWriter();
    writer.add(['fenced']);
    this.#socket.write(writer.take());
  }

  /** Whether the process may end although the connection is open. */
  setIdle(isIdle: boolean): void {
    if (isIdle) this.#socket.unref();
    else this.#socket.ref();
  }

  /** Says nothing more, and receives what is still to come. */
  end(): void {
    this.isEnding = true;
    this.#socket.ref();
    void systemClock.yield().then(() => this.#socket.end());
  }

  /** Sends all that was said in this turn of the event loop, in one frame. */
  #write(): void {
    this.#isWriting = false;
    const ids = this.#ids;
    this.#ids = [];
    if (this.#socket.destroyed) return;
    try {
      this.#socket.write(this.#writer.take());
    } catch (error) {
      this.#writer = new FrameWriter();
      if (this.#isListening) this.listen(); // That message may have been in the frame.
      this.#onUnsent(ids, error);
    }
  }
}

/* Asks which process owns a store: for programs that kill the owner on purpose. */

const GREETING_MS = 250;
const NO_EVENTS = { onAnswer: () => {}, onUnsent: () => {}, onLost: () => {} };

/** The owner's process id; undefined if there is none, or it is stopped. */
export async function ownerOf(folder: string): Promise<number | undefined> {
  const connection = await Connection.open(
    socketOf(storeIn(folder) ?? folder),
    GREETING_MS,
    NO_EVENTS,
  );
  connection?.end();
  return connection?.greeting.process;
}
