/**
 * Clients of a shared store that misbehave, on connections of their own, and the judge of what its
 * owner keeps for them (P77):
 *
 *     reads nothing       asks for much, reads no answer, and goes on asking
 *     half a frame        stops in the middle of a request
 *     large frames        sends mutations of megabytes, and reads no answer
 *     many connections    reads nothing, on each of them
 *
 * What is kept is counted, not measured: values that the storage has given for a connection, and
 * bytes of requests that were taken from it. Both must stay below a bound that does not depend on
 * how much is asked, so twice as much is asked in the second half of a run.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../../engine/base/index.ts';
import type { CellFilter, RowMutation } from '../../../engine/bigtable/index.ts';
import { FrameWriter } from '../../../engine/bigtable/embedded/sharing/messages.ts';
import type { Violation } from '../judges/index.ts';
import { FAMILY, TABLE } from './load.ts';

export const MISBEHAVIOURS = [
  'reads nothing',
  'half a frame',
  'large frames',
  'many connections',
] as const;
export type Misbehaviour = (typeof MISBEHAVIOURS)[number];

/** Only these clients read this row. */
export const LARGE_ROW = 'large';
const VALUE_BYTES = 2 ** 18;
const READS = 80;
/** Requests with so long a name that those after the reads take megabytes. */
const LONG_NAME = '.'.repeat(2 ** 16);
const LONG_REQUESTS = 100;
const CONNECTIONS = 8;
/** The owner's bound, the answers of one turn, and the buffers of the system. */
const KEPT_BYTES_MAX = 12 * 2 ** 20;
/** What arrives before the owner notices that nothing is read, and the buffers of the system. */
const TAKEN_BYTES_MAX = 3 * 2 ** 20;
const FILTERS: readonly CellFilter[] = [{ family: FAMILY }];

export const LARGE: RowMutation = {
  table: TABLE,
  row: LARGE_ROW,
  mutations: [
    {
      kind: 'set',
      family: FAMILY,
      qualifier: 'q',
      timestamp: 1,
      value: Buffer.alloc(VALUE_BYTES, 'x'),
    },
  ],
};

export class Crowd {
  readonly violations: Violation[] = [];
  readonly #misbehaviour: Misbehaviour;
  readonly #sockets: Socket[] = [];
  #given = 0;
  #asked = 0;

  constructor(misbehaviour: Misbehaviour) {
    this.#misbehaviour = misbehaviour;
  }

  /** Called when the storage has read the large row. */
  gave(): void {
    this.#given += VALUE_BYTES;
  }

  async begin(path: string): Promise<void> {
    const connections = this.#misbehaviour === 'many connections' ? CONNECTIONS : 1;
    for (let i = 0; i < connections; i++) {
      const socket = connect(path).on('error', () => socket.destroy());
      await once(socket.pause(), 'connect');
      this.#sockets.push(socket);
    }
    for (const socket of this.#sockets) this.#misbehave(socket);
  }

  /** Asks for as much again, and judges what the owner keeps of both. */
  async end(): Promise<void> {
    this.#judge('what was asked');
    for (const socket of this.#sockets) this.#misbehave(socket);
    await this.#untilStill();
    this.#judge('twice as much');
    for (const socket of this.#sockets) socket.destroy();
  }

  #misbehave(socket: Socket): void {
    if (this.#misbehaviour === 'half a frame') {
      const frame = frameOf((writer) => this.#askFor(writer, [LARGE_ROW]));
      socket.write(frame.subarray(0, frame.length / 2));
    } else if (this.#misbehaviour === 'large frames') {
      const rows = Array.from({ length: READS / 4 }, () => LARGE);
      const deadlineMs = systemClock.monotonicMs() + 60_000;
      const id = this.#asked++;
      socket.write(frameOf((writer) => writer.addRequest([id, 'mutateRows', deadlineMs, [rows]])));
    } else {
      const rows = Array.from({ length: READS }, () => LARGE_ROW);
      socket.write(frameOf((writer) => this.#askFor(writer, rows)));
      for (let i = 0; i < LONG_REQUESTS; i++) {
        socket.write(frameOf((writer) => this.#askFor(writer, [LONG_NAME])));
      }
    }
  }

  #askFor(writer: FrameWriter, rows: readonly string[]): void {
    const deadlineMs = systemClock.monotonicMs() + 60_000;
    for (const row of rows) {
      writer.addRequest([this.#asked++, 'readRow', deadlineMs, [TABLE, row, FILTERS]]);
    }
  }

  /** Until the owner has done all that it does for them now. */
  async #untilStill(): Promise<void> {
    let before = -1;
    while (before !== this.#given + this.#taken) {
      before = this.#given + this.#taken;
      await systemClock.sleep(100);
    }
  }

  get #taken(): number {
    return this.#sockets.reduce(
      (sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength,
      0,
    );
  }

  #judge(asked: string): void {
    const kept = this.#given - this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    this.#claim(kept, KEPT_BYTES_MAX, `answers, of ${asked}`);
    if (this.#misbehaviour === 'large frames') return; // Mutations that have arrived do not wait.
    this.#claim(this.#taken, TAKEN_BYTES_MAX, `requests, of ${asked}`);
  }

  #claim(bytes: number, bytesMax: number, of: string): void {
    const mayBe = bytesMax * this.#sockets.length;
    if (bytes <= mayBe) return;
    const message = `"${this.#misbehaviour}": ${bytes} bytes of ${of}; at most ${mayBe} are expected`;
    this.violations.push({ claim: 'owner: what it keeps for a client is bounded', message });
  }
}

function frameOf(add: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter();
  add(writer);
  return writer.take();
}
