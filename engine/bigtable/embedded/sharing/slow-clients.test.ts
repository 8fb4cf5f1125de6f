/**
 * Claims about a client that asks for much and does not read (P77): the owner keeps a bounded part
 * of the answers, the other clients notice nothing, and the slow one gets every answer in the end.
 * The client is a socket of the test.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { memoryUsage } from 'node:process';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { storeIn } from '../folder.ts';
import { type Answer, type Frame, FrameReader, FrameWriter } from './messages.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { FILTERS } from './shared-store.fixture.ts';
import { socketOf } from './socket-place.ts';

const READS = 120;
const VALUE_BYTES = 1e6;
/** The bound, a turn's answers, and what the system's buffers and the test itself take. */
const KEPT_BYTES_MAX = 60e6;

test('P77: a client that does not read costs its owner a bounded memory, and then gets all', async (t) => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  for (let i = 0; i < 3; i++) await store.mutateRows([setRow(`r${i}`, textOf(i))]);
  await using other = await OtherProcess.open(folder);
  const client = new SlowClient(t, folder);
  const before = memoryUsage().arrayBuffers;

  client.ask(Array.from({ length: READS }, (_, i) => `r${i % 3}`));
  let kept = 0;
  for (let i = 0; i < 20; i++) {
    await other.call('mutateRows', [setRow('small', `${i}`)]);
    assert.ok((await other.call('readRow', 't', 'small', FILTERS)) !== undefined);
    await systemClock.sleep(10);
    kept = Math.max(kept, memoryUsage().arrayBuffers - before);
  }
  assert.ok(kept < KEPT_BYTES_MAX, `the owner keeps ${kept} bytes`);
  assert.equal(client.lengths.size, 0);

  await client.read();
  assert.equal(client.lengths.size, READS);
  for (const length of client.lengths.values()) assert.equal(length, VALUE_BYTES);
  assert.ok(client.notices.has('working'), 'it was told that its reads are not forgotten');
});

test('an owner that closes refuses the reads of a client that does not read, as not taken', async (t) => {
  const folder = temporaryFolder();
  const store = await openWithTable(folder);
  await store.mutateRows([setRow('r0', textOf(0))]);
  const client = new SlowClient(t, folder);
  client.ask(Array.from({ length: READS }, () => 'r0'));
  await systemClock.sleep(50);
  const closed = store.close();
  await client.read();
  await closed;
  const taken = [...client.lengths.values()].filter((length) => length === VALUE_BYTES);
  assert.equal(taken.length + client.refused.size, READS);
  assert.ok(client.refused.size > 0);
});

const textOf = (i: number): string => String(i).repeat(VALUE_BYTES);

/** Says what it is told to, and reads only when it is told to. */
class SlowClient {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #all = Promise.withResolvers<void>();
  #asked = 0;
  /** By request: how long the value is that was read. */
  readonly lengths = new Map<number, number>();
  readonly refused = new Set<number>();
  readonly notices = new Set<string>();

  constructor(t: TestContext, folder: string) {
    this.#socket = connect(socketOf(storeIn(folder) ?? folder));
    this.#socket.pause();
    t.after(() => this.#socket.destroy());
  }

  /** Asks for all rows in one frame. */
  ask(rows: readonly string[]): void {
    const writer = new FrameWriter();
    this.#asked += rows.length;
    for (const [id, row] of rows.entries()) {
      writer.addRequest([id, 'readRow', systemClock.monotonicMs() + 60_000, ['t', row, FILTERS]]);
    }
    this.#socket.write(writer.take());
  }

  /** Resolves when all is answered. */
  read(): Promise<void> {
    this.#socket.on('data', (chunk) => {
      for (const frame of this.#reader.add(chunk)) {
        for (const message of frame.messages) {
          if (Array.isArray(message)) this.#receive(message as unknown as Answer, frame);
        }
      }
      if (this.lengths.size + this.refused.size === this.#asked) this.#all.resolve();
    });
    this.#socket.resume();
    return this.#all.promise;
  }

  #receive([id, value, error]: Answer, frame: Frame): void {
    if (typeof id === 'string') {
      this.notices.add(id);
      if (id === 'closing') this.#socket.end();
    } else if (error === null) {
      this.refused.add(id);
    } else {
      const row = frame.answer('readRow', value) as { cells: { value: Uint8Array }[] };
      this.lengths.set(id, row.cells[0]?.value.length ?? 0);
    }
  }
}
