/**
 * A fence (P84): what a client sent before it is taken only if the client shows that it lives, and
 * then its callers notice nothing.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { storeIn } from '../folder.ts';
import { openEmbedded } from '../index.ts';
import { type Answer, FrameReader, FrameWriter } from './messages.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { codeOf, FILTERS, lockRow, newStore } from './shared-store.fixture.ts';
import { socketOf } from './socket-place.ts';

test('P84: a mutation that arrives after a fence is not taken from a client that may be dead', async (t) => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  await using asking = await openEmbedded({ folder });
  for (const [i, fencing] of [owner, asking].entries()) {
    const client = await RawClient.open(t, folder);
    assert.equal(await client.write(`taken ${i}`), undefined);
    for (let times = 0; times < 3; times++) await fencing.fence?.(); // Told of once, it is there.
    assert.equal(await client.write(`late ${i}`), 'fenced');
    client.say((writer) => writer.add(['fenced']));
    assert.equal(
      await client.write(`early ${i}`),
      'fenced',
      'sent before it heard of the last one',
    );
    client.say((writer) => writer.add(['fenced']));
    assert.equal(await client.write(`again ${i}`), undefined);
  }
  const rows = await owner.readRange('t', { limit: 99 }, FILTERS);
  const keys = rows.map(({ key }) => key);
  assert.deepEqual(keys, ['again 0', 'again 1', 'taken 0', 'taken 1']);
});

test('P84: callers of a client that lives notice no fence', async () => {
  const folder = await newStore();
  await using owner = await OtherProcess.open(folder);
  await using client = await openEmbedded({ folder });
  await using other = await openEmbedded({ folder });
  const locking: Promise<boolean | string>[] = [];
  const fencing: Promise<void>[] = [];
  for (let i = 0; i < 400; i++) {
    locking.push(client.checkAndMutateRow(lockRow(`r${i}`, 'mine')).catch(codeOf));
    if (i % 9 === 0) fencing.push(other.fence?.() ?? Promise.reject(new Error('no fence')));
    if (i % 20 === 0) fencing.push(client.fence?.() ?? Promise.reject(new Error('no fence')));
    if (i % 4 === 0) await systemClock.yield();
  }
  assert.deepEqual(new Set(await Promise.all(locking)), new Set([false]));
  await Promise.all(fencing);
  assert.notEqual(await owner.call('readRow', 't', 'r399', FILTERS), undefined);
});

test('P84: a fence ends, although a client is stopped; the client goes on when it continues', async () => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  await using client = await OtherProcess.open(folder);
  client.signal('SIGSTOP');
  const written = client.call('mutateRows', [setRow('r')]);
  for (let i = 0; i < 5; i++) await owner.fence?.();
  assert.equal(await owner.readRow('t', 'r', FILTERS), undefined);
  client.signal('SIGCONT');
  await written;
  assert.notEqual(await owner.readRow('t', 'r', FILTERS), undefined);
});

/** Says what it is told to, whatever it hears. */
class RawClient {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #answers = new Map<number, (answer: Answer) => void>();
  #nextId = 0;

  private constructor(t: TestContext, folder: string, onGreeting: () => void) {
    this.#socket = connect(socketOf(storeIn(folder) ?? folder));
    t.after(() => this.#socket.destroy());
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk) => {
      for (const { messages } of this.#reader.add(chunk)) {
        for (const message of messages) {
          if (!Array.isArray(message)) onGreeting();
          else this.#answers.get(message[0] as number)?.(message as unknown as Answer);
        }
      }
    });
  }

  static async open(t: TestContext, folder: string): Promise<RawClient> {
    const greeted = Promise.withResolvers<void>();
    const client = new RawClient(t, folder, greeted.resolve);
    await greeted.promise;
    return client;
  }

  /** Resolves to what the answer says instead of a value. */
  async write(row: string): Promise<unknown> {
    const [, , error] = await this.#ask('mutateRows', [[setRow(row)]]);
    return error;
  }

  #ask(method: 'mutateRows', given: unknown[]): Promise<Answer> {
    const id = this.#nextId++;
    this.say((writer) =>
      writer.addRequest([id, method, systemClock.monotonicMs() + 60_000, given]),
    );
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  say(what: (writer: FrameWriter) => void): void {
    const writer = new FrameWriter();
    what(writer);
    this.#socket.write(writer.take());
  }
}
