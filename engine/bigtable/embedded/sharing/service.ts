/**
 * The owner of a folder serves its store to the other processes that have it open.
 *
 *     request ─▶ too late? refused │ else the store's own method, in the order received ─▶ answer
 *
 * Why may a request be too late? This process may have been stopped for an hour with requests in
 * its socket. Their callers have given up, and what would have stopped an old prewrite may have
 * been collected since (P4). What is taken in time is applied in the same turn, unless the store
 * must first settle a commit that failed.
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
  type Listening,
  PROTOCOL,
  type Request,
  sentError,
  sharedClockMs,
} from './messages.ts';
import { isReachable, listenIn } from './socket-place.ts';

/** How long the closing store waits for each client to leave: a client may be stopped. */
const LEAVE_MS = 500;
/** How often a client hears that its reads are worked on: far sooner than their deadline. */
const REPORT_MS = 500;

export class Service {
  readonly #folder: string;
  readonly #store: Bigtable;
  readonly #greeting: Greeting;
  #server: Server | undefined;
  #listening: Promise<void> | undefined;
  #isClosing = false;
  readonly #clients = new Set<Client>();
  #removeSocket: (() => void) | undefined;

  private constructor(folder: string, store: Bigtable, fsync: boolean) {
    this.#folder = folder;
    this.#store = store;
    this.#greeting = { protocol: PROTOCOL, fsync, process: pid };
  }

  static async start(
    folder: string,
    store: Bigtable,
    { fsync }: { readonly fsync: boolean },
  ): Promise<Service> {
    const service = new Service(folder, store, fsync);
    await service.#listen();
    store.onChange?.(() => service.#changed());
    return service;
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
    await this.#listening;
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

  #changed(): void {
    for (const client of this.#clients) client.changed();
  }
}

class Client {
  readonly #socket: Socket;
  readonly #store: Bigtable;
  readonly #reader = new FrameReader();
  readonly #writer = new FrameWriter();
  #isWriting = false;
  #isListening = false;
  #isChanged = false;
  /** Reads taken and not yet answered. */
  #reading = 0;
  #isReporting = false;

  constructor(socket: Socket, store: Bigtable, greeting: Greeting) {
    this.#socket = socket;
    this.#store = store;
    this.#writer.add(greeting);
    this.#write();
    socket.on('data', (chunk) => {
      try {
        for (const frame of this.#reader.add(chunk)) {
          for (const message of frame.messages as (Request | Listening)[]) {
            if (message[0] === 'listening') this.#isListening = true;
            else this.#take(frame, message);
          }
        }
      } catch {
        socket.destroy(); // Not a frame: this is none of our processes.
      }
    });
    socket.on('end', () => void this.#answerLast());
    socket.on('error', () => socket.destroy()); // The other process has died.
  }

  changed(): void {
    // A client that does not read, such as a stopped one, must not fill the owner's memory.
    const isTold = this.#isChanged || !this.#isListening;
    if (isTold || this.#socket.writableNeedDrain) return;
    this.#isChanged = true;
    this.#writer.add(['changed']);
    this.#write();
  }

  async leave(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.#socket.ref();
    this.#writer.add(['closing']);
    this.#write();
    const left = new AbortController();
    this.#socket.once('close', () => left.abort());
    await systemClock.sleep(LEAVE_MS, left.signal);
    this.#socket.destroy();
  }

  #take(frame: Frame, [id, method, deadlineMs, sent]: Request): void {
    const given = frame.given(method, sent);
    if (sharedClockMs() > deadlineMs) {
      this.#refuse(id, tooLate());
      return;
    }
    const call = this.#store[method] as (...given: readonly unknown[]) => Promise<unknown>;
    const reads = method.startsWith('read') ? 1 : 0;
    this.#reading += reads;
    void this.#reportWork();
    call
      .apply(this.#store, [...given])
      .then((answer) => {
        const [first] = method === 'checkAndMutateRows' ? (answer as unknown[]) : [];
        if (hasCode(first, 'STORE_CLOSED')) this.#refuse(id, first);
        else this.#writer.addAnswer(id, method, answer);
        this.#write();
      })
      .catch((error: unknown) => this.#refuse(id, error)) // Also if the answer cannot be sent.
      .finally(() => (this.#reading -= reads));
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
      this.#isChanged = false;
      if (!this.#socket.destroyed) this.#writeFrame();
    });
  }

  #writeFrame(): void {
    try {
      this.#socket.write(this.#writer.take());
    } catch {
      this.#socket.destroy(); // Too large for the memory: the client hears that no owner answers.
    }
  }
}

function tooLate(): PercolatorError {
  const message =
    'the process that owns the store took the request after its deadline; nothing was applied';
  return new PercolatorError('STORE_UNAVAILABLE', message);
}
