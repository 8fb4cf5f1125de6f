/**
 * The owner of a folder serves its store to the other processes that have it open.
 *
 *     request ─▶ too late? not taken │ else the store's own method, in the order received ─▶ answer
 *
 * Why may a request be too late? This process may have been stopped for an hour with requests in
 * its socket. Their callers have given up, and what would have stopped an old prewrite may have
 * been collected since (P4). What is taken in time is applied in the same turn, unless the store
 * must first settle a commit that failed.
 *
 * And after a fence (P84)? What was sent before may lie in a socket for long, and its sender may be
 * dead by now. So each client is told of the fence, and until it confirms that it has heard of it,
 * its mutations are not taken. A client that lives sends them again: their callers still wait.
 *
 * What the owner keeps for one client is bounded (P77): while many bytes of answers wait for a
 * client that does not read, its next reads wait, too, and so does what it has sent after them. Its
 * mutations that have arrived do not wait: those of one frame belong together, and have small
 * answers.
 *
 * Serving does not keep the process alive. When the store closes, every request that was not taken
 * is answered as not taken, so that its caller sends it to the next owner.
 */
import { pid } from 'node:process';
import { createServer, type Server, type Socket } from 'node:net';
import { hasCode, PercolatorError, systemClock } from '../../../base/index.ts';
import type { Bigtable } from '../../bigtable.ts';
import {
  FrameReader,
  FrameWriter,
  type Frame,
  type Greeting,
  type Method,
  MUTATIONS,
  type Notice,
  PROTOCOL,
  type Request,
  sentError,
} from './messages.ts';
import { isReachable, listenIn } from './socket-place.ts';

/** How long the closing store waits for each client to leave: a client may be stopped. */
const LEAVE_MS = 500;
/**
 * While more bytes of answers wait for a client, no further read of it begins. Larger: a client
 * that does not read takes more memory. Smaller: more steps to send large answers.
 */
const UNREAD_BYTES_MAX = 8 * 2 ** 20;
/** How often a client hears that its reads are worked on: far sooner than their deadline. */
const REPORT_MS = 500;

export class Service {
  readonly #folder: string;
  readonly #store: Bigtable;
  readonly #greeting: Omit<Greeting, 'clockMs'>;
  #server: Server | undefined;
  #listening: Promise<void> | undefined;
  #isClosing = false;
  readonly #clients = new Set<Client>();
  #removeSocket: (() => void) | undefined;

  constructor(folder: string, store: Bigtable, says: Pick<Greeting, 'fsync' | 'store'>) {
    this.#folder = folder;
    this.#store = store;
    this.#greeting = { ...says, protocol: PROTOCOL, process: pid };
  }

  async start(): Promise<void> {
    this.#listening = this.#listen();
    await this.#listening;
    this.#store.onChange?.((tables) => this.#changed(tables));
  }

  /** From now on, no mutation is taken that was sent before. */
  fence(): void {
    for (const client of this.#clients) client.fence();
  }

  /** Listens again if another program has removed the socket; clients that are connected stay. */
  async stayReachable(): Promise<void> {
    if (this.#isClosing || isReachable(this.#folder)) return;
    this.#server?.close(); // First: closing removes whatever is at the socket's path.
    // It may succeed the next time, for example when the folder for temporary files is there again.
    this.#listening = this.#listen().catch(() => undefined);
    await this.#listening;
  }

  /** After the store has been told to close: waits until its clients have left. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#listening?.catch(() => undefined);
    this.#server?.close();
    await Promise.all([...this.#clients].map((client) => client.leave()));
    this.#removeSocket?.();
  }

  async #listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket)).unref();
    this.#server = server;
    this.#removeSocket = await listenIn(this.#folder, server);
  }

  #accept(socket: Socket): void {
    const client = new Client(socket, this.#store, this.#greeting);
    this.#clients.add(client);
    socket.unref().once('close', () => this.#clients.delete(client));
  }

  #changed(tables: ReadonlySet<string> | undefined): void {
    if (tables?.size === 0) return; // Nothing that a client waits for.
    for (const client of this.#clients) client.changed(tables);
  }
}

/** What a client asks of the store. */
interface Call {
  readonly id: number;
  readonly method: Method;
  readonly given: readonly unknown[];
}

class Client {
  readonly #socket: Socket;
  readonly #store: Bigtable;
  readonly #reader = new FrameReader();
  readonly #writer = new FrameWriter();
  #isWriting = false;
  #isListening = false;
  /** What the next frame says of changes: the tables, or any. */
  #changed: Set<string> | 'any' | undefined;
  /** Reads taken and not yet answered. */
  #reading = 0;
  /** Those that have not begun, in the order received. */
  readonly #held: Call[] = [];
  #isReadingOn = false;
  #isReporting = false;
  /** Whether the client has yet to confirm a fence, and is then to be told of another one. */
  #isFenced = false;
  #isFencedAgain = false;

  constructor(socket: Socket, store: Bigtable, greeting: Omit<Greeting, 'clockMs'>) {
    this.#socket = socket;
    this.#store = store;
    this.#writer.add({ ...greeting, clockMs: clockMs() });
    this.#write();
    socket.on('data', (chunk) => {
      try {
        for (const frame of this.#reader.add(chunk)) {
          for (const message of frame.messages as (Request | Notice)[]) {
            if (message[0] === 'listening') this.#isListening = true;
            else if (message[0] === 'fenced') this.#confirmed();
            else this.#take(frame, message as Request);
          }
        }
        if (this.#isFull) void this.#untilRead();
      } catch {
        socket.destroy(); // Not a frame: this is none of our processes.
      }
    });
    socket.on('end', () => void this.#answerLast());
    socket.on('error', () => socket.destroy()); // The other process has died.
  }

  changed(tables: ReadonlySet<string> | undefined): void {
    // A client that does not read, such as a stopped one, must not fill the owner's memory.
    if (!this.#isListening || this.#socket.writableNeedDrain) return;
    if (tables === undefined || this.#changed === 'any') this.#changed = 'any';
    else this.#changed = (this.#changed ?? new Set()).union(tables);
    this.#write();
  }

  fence(): void {
    this.#isFencedAgain = this.#isFenced;
    this.#isFenced = true;
    if (this.#isFencedAgain) return; // It may be stopped, and never read: one notice is enough.
    this.#writer.add(['fenced']);
    this.#write();
  }

  #confirmed(): void {
    this.#isFenced = false;
    if (this.#isFencedAgain) this.fence();
  }

  async leave(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.#socket.ref();
    for (const { id } of this.#held.splice(0)) this.#refuse(id, notTaken());
    this.#socket.resume(); // It hears when the client leaves.
    this.#writer.add(['closing']);
    this.#write();
    const left = new AbortController();
    this.#socket.once('close', () => left.abort());
    await systemClock.sleep(LEAVE_MS, left.signal);
    this.#socket.destroy();
  }

  #take(frame: Frame, [id, method, deadlineMs, sent]: Request): void {
    const given = frame.given(method, sent);
    if (clockMs() > deadlineMs) {
      this.#writer.add([id, null, 'late', clockMs()]);
      this.#write();
      return;
    }
    if (this.#isFenced && MUTATIONS.has(method)) {
      this.#writer.add([id, null, 'fenced']);
      this.#write();
      return;
    }
    if (!method.startsWith('read')) {
      void this.#call({ id, method, given });
      return;
    }
    this.#reading++;
    void this.#reportWork();
    this.#held.push({ id, method, given });
    void this.#readOn();
  }

  /** Begins the reads, as long as the client reads their answers. */
  async #readOn(): Promise<void> {
    if (this.#isReadingOn) return;
    this.#isReadingOn = true;
    while (this.#held.length > 0 && !this.#socket.destroyed) {
      if (this.#isFull) await this.#untilRead();
      const next = this.#held.shift();
      if (next === undefined) break; // The store is closing, and has refused it.
      void this.#call(next).finally(() => this.#reading--);
      await Promise.resolve(); // An answer that is there at once is counted before the next read.
    }
    this.#isReadingOn = false;
  }

  get #isFull(): boolean {
    return (
      !this.#socket.destroyed &&
      this.#writer.length + this.#socket.writableLength > UNREAD_BYTES_MAX
    );
  }

  /** Takes nothing more from the socket until the client has read what waits for it. */
  async #untilRead(): Promise<void> {
    this.#socket.pause();
    while (this.#isFull) {
      await systemClock.yield(); // The answers of this turn are written.
      if (this.#socket.writableNeedDrain) await this.#drained();
    }
    // Its reads have waited, and not in vain: otherwise it would give them up.
    if (this.#held.length > 0) this.#writer.add(['working']);
    this.#socket.resume();
  }

  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('drain', resolve).once('close', resolve);
    await promise;
    this.#socket.off('drain', resolve).off('close', resolve);
  }

  #call({ id, method, given }: Call): Promise<void> {
    const call = this.#store[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return call
      .apply(this.#store, [...given])
      .then((answer) => {
        const [first] = method === 'checkAndMutateRows' ? (answer as unknown[]) : [];
        if (hasCode(first, 'STORE_CLOSED')) this.#refuse(id, first);
        else this.#writer.addAnswer(id, method, answer);
        this.#write();
      })
      .catch((error: unknown) => this.#refuse(id, error)); // Also if the answer cannot be sent.
  }

  /** A scan of millions of rows takes longer than the client would wait for a silent owner. */
  async #reportWork(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    while (this.#reading > 0 && !this.#socket.destroyed) {
      await systemClock.sleep(REPORT_MS, undefined, { background: true });
      if (this.#reading === 0 || this.#socket.writableNeedDrain) continue;
      this.#writer.add(['working']);
      this.#write();
    }
    this.#isReporting = false;
  }

  #refuse(id: number, error: unknown): void {
    this.#writer.add([id, null, hasCode(error, 'STORE_CLOSED') ? null : sentError(error)]);
    this.#write();
  }

  /**
   * The client sends nothing more. What it still waits for was answered, or is refused because the
   * store closes; after two turns, the refusals have been written.
   */
  async #answerLast(): Promise<void> {
    await systemClock.yield();
    await systemClock.yield();
    this.#socket.end();
  }

  /** Writes at the end of this turn of the event loop, with all else that is said in it. */
  #write(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    void systemClock.yield().then(() => {
      this.#isWriting = false;
      this.#sayChanged();
      if (!this.#socket.destroyed) this.#writeFrame();
    });
  }

  #sayChanged(): void {
    const changed = this.#changed;
    this.#changed = undefined;
    if (changed === undefined) return;
    this.#writer.add(['changed', changed === 'any' ? null : [...changed]]);
  }

  #writeFrame(): void {
    try {
      this.#socket.write(this.#writer.take());
    } catch {
      this.#socket.destroy(); // Too large for the memory: the client hears that no owner answers.
    }
  }
}

function notTaken(): PercolatorError {
  return new PercolatorError('STORE_CLOSED', 'the embedded store was closed');
}

/** In whole milliseconds, none of which has yet to end. */
function clockMs(): number {
  return Math.floor(systemClock.monotonicMs());
}
