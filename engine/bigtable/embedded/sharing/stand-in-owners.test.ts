/**
 * What a client does with an owner that is no good one: a server of the test takes its place. Other
 * tests of clients and owners are in sharing.test.ts.
 */
import assert from 'node:assert/strict';
import { createServer, type Server, type ServerOpts, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { setRow } from '../../../testing/small-rows.ts';
import { storeIn } from '../folder.ts';
import { openEmbedded } from '../index.ts';
import { openPatiently } from '../open-embedded.ts';
import { FrameReader, FrameWriter, type Greeting, PROTOCOL, type Request } from './messages.ts';
import { OtherProcess } from './other-process.fixture.ts';
import {
  codeOf,
  FILTERS,
  greetingOf,
  IMPATIENT,
  lockRow,
  newStore,
  PATIENT,
} from './shared-store.fixture.ts';
import { listenIn } from './socket-place.ts';

const otherVersion = (folder: string): Greeting => ({
  ...greetingOf(folder),
  protocol: PROTOCOL + 1,
});

test('an owner of another version is refused', async (t) => {
  const folder = await newStore();
  await using reader = await openEmbedded({ folder, readOnly: true }); // Has the lock.
  await standIn(t, folder, (socket) => socket.end(frameOf(otherVersion(folder))));
  await assert.rejects(openEmbedded({ folder }), {
    code: 'STORE_REFUSED',
    message: /process 99 uses it with another version of this library: use one version$/,
  });
  assert.deepEqual(await reader.listTables(), ['t']);
});

for (const text of ['no JSON', '[]', '[null]']) {
  test(`a program that listens at the socket and sends ${text} is no owner`, async (t) => {
    const folder = await newStore();
    await standIn(t, folder, (socket) => socket.write(frameOfText(text)));
    await assert.rejects(openPatiently({ folder, own: false }, IMPATIENT), {
      code: 'STORE_UNAVAILABLE',
      message: /cannot be opened: no process that owns it answers, and this one may not own it$/,
    });
  });
}

for (const [what, text] of [
  ['no frame', 'no JSON'],
  ['no answer to the request', '[[0,5]]'],
] as const) {
  test(`a client that receives what is ${what} goes to the next owner`, async (t) => {
    const folder = await newStore();
    const asked = Promise.withResolvers<void>();
    const server = await standIn(t, folder, (socket) => {
      socket.write(frameOf(greetingOf(folder)));
      socket.once('data', () => {
        server.close(); // The client is to go to the next owner.
        socket.write(frameOfText(text));
        asked.resolve();
      });
    });
    await using client = await openEmbedded({ folder, own: false });
    const rows = client.readRows('t', ['r'], FILTERS);
    await asked.promise;
    await using _ = await openEmbedded({ folder });
    assert.deepEqual(await rows, [undefined]);
  });
}

test('the end of a refused connection does not disturb the next one', async (t) => {
  const folder = await newStore();
  const first = await openEmbedded({ folder });
  await using client = await openEmbedded({ folder, own: false });
  await first.close();
  const accepted = Promise.withResolvers<Socket>();
  const serve = (socket: Socket): void => {
    socket.write(frameOf(otherVersion(folder)));
    accepted.resolve(socket);
  };
  const server = await standIn(t, folder, serve, { allowHalfOpen: true });
  await assert.rejects(client.listTables(), /process 99 uses it with another version/);
  server.close();
  await using owner = await OtherProcess.open(folder);
  assert.deepEqual(await client.listTables(), ['t']);
  owner.signal('SIGSTOP'); // So that the request is in flight when the refused connection ends.
  const locked = client.checkAndMutateRow(lockRow('r', 'mine')).catch(codeOf);
  (await accepted.promise).destroy();
  await systemClock.sleep(50);
  owner.signal('SIGCONT');
  assert.equal(await locked, false);
});

test('a client leaves an owner that closes as it greets, and goes to the next one', async (t) => {
  const folder = await newStore();
  const left = Promise.withResolvers<boolean>();
  const serve = (socket: Socket): void => {
    socket.write(frameOf(greetingOf(folder), ['closing']));
    socket.resume().once('end', () => left.resolve(true));
    void left.promise.then(() => socket.end());
  };
  const server = await standIn(t, folder, serve, { allowHalfOpen: true });
  await using client = await openEmbedded({ folder, own: false });
  const tables = client.listTables();
  const isLeft = await Promise.race([left.promise, systemClock.sleep(5_000).then(() => false)]);
  left.resolve(false);
  server.close();
  await using _ = await openEmbedded({ folder });
  assert.deepEqual(await tables, ['t']);
  assert.ok(isLeft, 'the client does not wait until the owner hangs up');
});

test('a process that was stopped while it looked for the owner still gives the owner time to greet', async (t) => {
  const folder = await newStore();
  await standIn(t, folder, (socket) => {
    void systemClock.sleep(20).then(() => socket.write(frameOf(greetingOf(folder))));
  });
  const afterStop = { ...IMPATIENT, attachMs: 0 };
  await using client = await openPatiently({ folder, own: false }, afterStop);
  assert.equal(client.manifest.name, 'embedded');
});

test('a client that begins to listen to an owner that closes still receives its last answers', async (t) => {
  const folder = await newStore();
  const left = Promise.withResolvers<Socket>();
  const serve = (socket: Socket): void => {
    socket.write(frameOf(greetingOf(folder)));
    socket.once('data', () => socket.write(frameOf(['closing'])));
    socket.once('end', () => left.resolve(socket));
  };
  const server = await standIn(t, folder, serve, { allowHalfOpen: true });
  await using client = await openEmbedded({ folder, own: false });
  const locked = client.checkAndMutateRow(lockRow('r', 'mine')).catch(codeOf);
  const socket = await left.promise;
  client.onChange?.(() => {});
  await systemClock.sleep(20);
  socket.end(frameOf([0, false]));
  server.close();
  assert.equal(await locked, false);
});

test('P61: requests of one turn have one deadline, so none is late without those after it', async (t) => {
  const folder = await newStore();
  const reader = new FrameReader();
  const deadlines: number[] = [];
  const server = await standIn(t, folder, (socket) => {
    socket.write(frameOf(greetingOf(folder)));
    socket.on('data', (chunk) => {
      for (const { messages } of reader.add(chunk)) {
        for (const message of messages) deadlines.push((message as Request)[2]);
        if (deadlines.length < 3) continue;
        server.close(); // The client is to go to the next owner.
        socket.destroy();
      }
    });
  });
  let steps = 0;
  const nowMs = (): number => steps++;
  await using client = await openPatiently({ folder, own: false }, { ...PATIENT, nowMs });
  const marks = client.mutateRows([setRow('r')]);
  await Promise.race([marks, Promise.resolve()]);
  const commit = client.checkAndMutateRow(lockRow('r', 'mine'));
  await systemClock.yield();
  const later = client.listTables();
  await assert.rejects(commit, { code: 'STORE_IN_DOUBT' });
  const [first = 0, second = 0, third = 0] = deadlines;
  assert.equal(first, second);
  assert.ok(third > second);
  await using _ = await openEmbedded({ folder });
  await marks;
  assert.deepEqual(await later, ['t']);
});

test('P61, P84: a client confirms a fence before all that it says in the same turn', async (t) => {
  const folder = await newStore();
  const reader = new FrameReader();
  const frames: unknown[][] = [];
  const heard = Promise.withResolvers<void>();
  await standIn(t, folder, (socket) => {
    socket.write(frameOf(greetingOf(folder)));
    socket.once('data', () => socket.write(frameOf(['changed', null], ['fenced'])));
    socket.on('data', (chunk) => {
      for (const { messages } of reader.add(chunk)) {
        frames.push(messages.map((message) => (message as Request).slice(0, 2)));
        if (frames.length < 3) continue;
        heard.resolve();
        socket.write(frameOf([0, true]));
      }
    });
  });
  await using client = await openEmbedded({ folder, own: false });
  const answer = Promise.withResolvers<boolean>();
  const end = client.onChange?.(() => {
    end?.();
    answer.resolve(client.checkAndMutateRow(lockRow('r', 'mine')));
  });
  await heard.promise;
  assert.deepEqual(frames, [[['listening']], [['fenced']], [[0, 'checkAndMutateRow']]]);
  assert.equal(await answer.promise, true);
});

test('a mutation that one owner may have applied, and the next one refuses, is in doubt', async (t) => {
  const folder = await newStore();
  await using reader = await openEmbedded({ folder, readOnly: true }); // Has the lock.
  const refusal = { code: 'TABLE_NOT_FOUND', message: 'there is no table t' };
  let isNext = false;
  await standIn(t, folder, (socket) => {
    socket.write(frameOf(greetingOf(folder)));
    socket.once('data', () => {
      if (isNext) socket.write(frameOf([0, null, refusal]));
      else socket.destroy();
      isNext = true;
    });
  });
  await using client = await openEmbedded({ folder });
  assert.equal(await client.mutateRows([setRow('r')]).catch(codeOf), 'STORE_IN_DOUBT');
  assert.deepEqual(await reader.listTables(), ['t']);
});

/** Listens where the owner of the folder would, until the test ends. */
async function standIn(
  t: TestContext,
  folder: string,
  serve: (socket: Socket) => unknown,
  options: ServerOpts = {},
): Promise<Server> {
  const server = createServer(options, (socket) => {
    socket.on('error', () => {}); // A client that takes it for no owner resets the connection.
    t.after(() => socket.destroy());
    serve(socket);
  });
  t.after(() => server.close());
  await listenIn(storeIn(folder) ?? folder, server);
  return server;
}

function frameOf(...messages: readonly Parameters<FrameWriter['add']>[0][]): Buffer {
  const writer = new FrameWriter();
  for (const message of messages) writer.add(message);
  return writer.take();
}

/** The text in the place of a frame's list of messages, without values. */
function frameOfText(text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([header, Buffer.from(text)]);
}
