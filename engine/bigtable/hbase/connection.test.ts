/**
 * What a connection does with calls that come too late or while it closes, and with answers that
 * fit no call or are cut off.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { type Clock, systemClock } from '../../base/index.ts';
import { Connection, Deadlines, Frames } from './connection.ts';
import { loadMessages, messageOf } from './messages.ts';

await loadMessages();

const TIMEOUT_MS = 1000;
const MULTI = {
  type: messageOf('MultiRequest'),
  value: { regionAction: [] },
  response: messageOf('MultiResponse'),
};

test('a call whose process stood still until its connection was made is not sent', async (t) => {
  let stoodStillMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + stoodStillMs,
    monotonicMs: () => systemClock.monotonicMs() + stoodStillMs,
  };
  let received = '';
  const address = await listen(t, (bytes) => {
    received += bytes.toString('latin1');
  });
  const connection = connect(t, address, clock);
  const called = connection.call('Multi', MULTI, TIMEOUT_MS);
  stoodStillMs = 3_600_000;
  await assert.rejects(called, { kind: 'unsent' });
  // The server receives in order what the connection sends.
  while (!received.includes('Later')) {
    connection.call('Later', MULTI, TIMEOUT_MS).catch(() => undefined); // Nothing answers.
    await systemClock.sleep(20);
  }
  assert.ok(!received.includes('Multi'));
});

test('closing while the connection is made sends nothing, and leaves no socket open', async (t) => {
  let received = '';
  const ended = Promise.withResolvers<void>();
  const address = await listen(t, (bytes) => void (received += bytes.toString('latin1')), ended);
  const connection = connect(t, address, systemClock);
  const called = connection.call('Multi', MULTI, TIMEOUT_MS);
  connection.close();
  await assert.rejects(called, { kind: 'unsent', message: /the connection was closed/ });
  await ended.promise;
  assert.equal(received, '');
});

test('an answer without the number of its call ends the connection', async (t) => {
  const header = messageOf('ResponseHeader').append({}).finish();
  const frame = Buffer.from([0, 0, 0, header.length, ...header]);
  const address = await listen(t, (bytes, socket) => {
    if (bytes.toString('latin1').includes('Multi')) socket.write(frame);
  });
  const called = connect(t, address, systemClock).call('Multi', MULTI, TIMEOUT_MS);
  await assert.rejects(called, { kind: 'lost', message: /without the number of its call/ });
});

test('an answer that is cut off after its header fails its call', async (t) => {
  const header = messageOf('ResponseHeader').append({ callId: 1 }).finish();
  const frame = Buffer.from([0, 0, 0, header.length, ...header]);
  const address = await listen(t, (bytes, socket) => {
    if (bytes.toString('latin1').includes('Multi')) socket.write(frame);
  });
  const called = connect(t, address, systemClock).call('Multi', MULTI, TIMEOUT_MS);
  await assert.rejects(called, { kind: 'lost', message: /cannot be read/ });
});

test('a connection on which nothing comes any more is left, and the next call makes another', async (t) => {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  let connections = 0;
  const ended = Promise.withResolvers<void>();
  const receive = (bytes: Buffer): void => {
    if (bytes.toString('latin1').startsWith('HBas')) connections++;
  };
  const connection = connect(t, await listen(t, receive, ended), clock);
  await assert.rejects(connection.call('Multi', MULTI, 100), { kind: 'late' });
  assert.equal(connections, 1, 'a server may stand still for a while');
  const called = connection.call('Multi', MULTI, 100);
  aheadMs = 20_000;
  await assert.rejects(called, { kind: 'late' });
  await ended.promise;
  await assert.rejects(connection.call('Multi', MULTI, TIMEOUT_MS), { kind: 'late' });
  assert.equal(connections, 2);
});

function connect(t: TestContext, address: string, clock: Clock): Connection {
  const options = { clock, deadlines: new Deadlines(clock), tls: false, user: 'test' };
  const connection = new Connection(address, 'ClientService', options);
  t.after(() => connection.close());
  return connection;
}

/**
 * Starts a server that gives `receive` all bytes, and resolves `ended` when a connection closes.
 * @returns its address
 */
async function listen(
  t: TestContext,
  receive: (bytes: Buffer, socket: Socket) => void,
  ended?: PromiseWithResolvers<void>,
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => ended?.resolve());
    socket.on('data', (bytes: Buffer) => receive(bytes, socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/* Frames are read whole wherever the chunks of a socket end. */

test('frames are read whole, whatever chunks they come in', () => {
  const texts = ['a', '', 'bcd', 'e'.repeat(9), 'f'];
  const bytes = Buffer.concat(texts.map(framed));
  for (let first = 1; first <= bytes.length; first++) {
    for (let size = 1; size <= bytes.length; size++) {
      const frames = new Frames();
      const found: string[] = [];
      // Two frames and a part of the next one may come in one chunk.
      for (let at = 0; at < bytes.length; at += at === 0 ? first : size) {
        const chunk = bytes.subarray(at, at + (at === 0 ? first : size));
        for (const frame of frames.add(chunk)) found.push(frame.toString());
      }
      assert.deepEqual(found, texts, `a chunk of ${first} bytes, then of ${size}`);
    }
  }
});

function framed(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text)]);
}
