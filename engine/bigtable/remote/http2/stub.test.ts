/**
 * gRPC over node:http2, against servers that cut, refuse, reset and vanish as no well-behaved
 * server would.
 *
 * Its codes here: 1 cancelled, 2 unknown, 4 deadline exceeded, 5 not found, 7 permission denied,
 * 12 unimplemented, 13 internal, 14 unavailable.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createServer,
  type Http2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata } from '@grpc/grpc-js';
import { systemClock } from '../../../base/index.ts';
import { Deadlines } from '../../deadlines.ts';
import { Connection } from './connection.ts';
import { createFastStub, type Stub } from './stub.ts';
import { until } from '../../../testing/until.ts';

const OK = { 'grpc-status': '0' };
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const PATH = '/test.Service/Method';

const same = (bytes: Buffer): Buffer => bytes;
const NONE = Buffer.alloc(0);
const {
  NGHTTP2_CANCEL,
  NGHTTP2_ENHANCE_YOUR_CALM,
  NGHTTP2_INTERNAL_ERROR,
  NGHTTP2_REFUSED_STREAM,
} = constants;

describe('an answer', () => {
  test('is a message followed by a status', async () => {
    await using server = await serve((stream) => reply(stream, [framed('hello')], OK));
    assert.equal(String(await unary(server.stub, Buffer.from('x'))), 'hello');
  });

  test('may be cut anywhere, and several messages may come at once', async () => {
    const texts = ['one', '', 'three and more', '', 'x'];
    const whole = Buffer.concat(texts.map((text) => framed(text)));
    for (const size of [1, 2, 4, 5, 6, 7, 100]) {
      const pieces: Buffer[] = [];
      for (let i = 0; i < whole.length; i += size) pieces.push(whole.subarray(i, i + size));
      await using server = await serve((stream) => void replySlowly(stream, pieces));
      const messages = await streamed(server.stub);
      assert.deepEqual(messages.map(String), texts, `in pieces of ${size}`);
    }
  });

  test('that is short comes at once, also after a long one', async () => {
    await using server = await serve((stream) => {
      stream.respond(GRPC);
      stream.write(framed('long '.repeat(10)).subarray(0, 20));
      setTimeout(() => {
        stream.write(framed('long '.repeat(10)).subarray(20));
        stream.write(framed('x'));
      }, 20);
    });
    const answers = start(server.stub);
    const seen: string[] = [];
    answers.on('data', (message) => seen.push(String(message)));
    answers.on('error', () => {});
    await until(() => seen.length === 2);
    answers.cancel();
  });

  test('of megabytes comes whole, and so does a request', async () => {
    const large = Buffer.alloc(9_000_000, 'percolator');
    await using server = await serve((stream, request) => reply(stream, [framed(request)], OK));
    assert.ok((await unary(server.stub, large)).equals(large));
  });

  test('with a status that is not OK is an error with its code and its decoded message', async () => {
    const status = { 'grpc-status': '5', 'grpc-message': 'no table %C3%A9 100%25' };
    await using server = await serve((stream) => reply(stream, [], status));
    await assert.rejects(unary(server.stub), {
      code: 5,
      details: 'no table é 100%',
      isUnsent: false,
    });
    await using odd = await serve((stream) =>
      reply(stream, [], { 'grpc-status': '5', 'grpc-message': '100%' }),
    );
    await assert.rejects(unary(odd.stub), { code: 5, details: '100%' });
  });

  test('may be headers and nothing else', async () => {
    await using server = await serve((stream) => {
      stream.respond(
        { ...GRPC, 'grpc-status': '7', 'grpc-message': 'denied' },
        { endStream: true },
      );
    });
    await assert.rejects(unary(server.stub), { code: 7, details: 'denied' });
    await assert.rejects(streamed(server.stub), { code: 7, details: 'denied' });
  });

  test('that lacks its message, is cut short or compressed is an internal error', async () => {
    const cases: Record<string, readonly Buffer[]> = {
      'no answer came': [],
      'the answer ended in the middle of a message': [framed('hello').subarray(0, 7)],
      'a message is compressed': [Buffer.from([1, 0, 0, 0, 1, 0])],
    };
    for (const [details, pieces] of Object.entries(cases)) {
      await using server = await serve((stream) => reply(stream, pieces, OK));
      await assert.rejects(unary(server.stub), { code: 13, details });
    }
  });

  test('that is not gRPC’s is an error of its HTTP status', async () => {
    for (const [status, code] of [
      [503, 14],
      [403, 7],
      [404, 12],
      [418, 2],
    ] as const) {
      await using server = await serve((stream) => {
        stream.respond({ ':status': status });
        stream.end('<html>');
      });
      await assert.rejects(unary(server.stub), { code });
    }
  });

  test('is received no faster than its reader reads', async () => {
    // 3,000 times: 30 MB, of which a stream's window lets 4 MB out (connection.ts).
    const piece = framed('x'.repeat(10_000));
    let sent = 0;
    await using server = await serve((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(OK));
      const send = (): void => {
        while (sent < 3000) {
          sent++;
          if (!stream.write(piece)) {
            stream.once('drain', send);
            return;
          }
        }
        stream.end();
      };
      send();
    });
    const answers = start(server.stub);
    await sleep(300);
    assert.ok(sent < 2000, `${sent} of 3,000 were sent before the first read`);
    let read = 0;
    for await (const _ of answers) read++;
    assert.equal(read, 3000);
  });
});

describe('a call', () => {
  test('sends its deadline, its metadata and its path', async () => {
    let seen: Record<string, unknown> = {};
    await using server = await serve((stream, _, headers) => {
      seen = headers;
      reply(stream, [framed('')], OK);
    });
    const metadata = new Metadata();
    metadata.set('x-goog-request-params', 'table_name=t');
    await unary(server.stub, NONE, { metadata, timeoutMs: 1234 });
    assert.equal(seen[':path'], PATH);
    assert.equal(seen['te'], 'trailers');
    assert.equal(seen['content-type'], 'application/grpc');
    assert.equal(seen['x-goog-request-params'], 'table_name=t');
    assert.equal(seen['grpc-timeout'], '1234m');
    await unary(server.stub, NONE, { metadata, timeoutMs: 99 });
    assert.equal(seen['grpc-timeout'], '99m');
    await unary(server.stub, NONE, { metadata, timeoutMs: 98.4 }); // What is left for a second try.
    assert.equal(seen['grpc-timeout'], '99m', 'gRPC has only whole numbers');
    await unary(server.stub, NONE, { metadata, timeoutMs: 1e9 });
    assert.equal(seen['grpc-timeout'], '99999999m', 'of at most eight digits');
    await unary(server.stub, NONE, { metadata });
    assert.equal(seen['grpc-timeout'], undefined);
  });

  test('that is late is abandoned, and the server is told', async () => {
    let resetWith: number | undefined;
    await using server = await serve((stream) => {
      stream.on('close', () => {
        resetWith = stream.rstCode;
      });
    });
    await assert.rejects(unary(server.stub, NONE, { timeoutMs: 500 }), { code: 4 });
    await until(() => resetWith === NGHTTP2_CANCEL);
    await assert.rejects(unary(server.stub, NONE, { deadline: Date.now() + 500 }), {
      code: 4,
      isUnsent: false,
    });
  });

  test('that is cancelled ends at once, and the server is told', async () => {
    let resetWith: number | undefined;
    await using server = await serve((stream) => {
      stream.on('close', () => {
        resetWith = stream.rstCode;
      });
      stream.respond(GRPC);
      stream.write(framed('one'));
    });
    const answers = start(server.stub);
    answers.once('data', () => answers.cancel());
    await assert.rejects(ended(answers), { code: 1 });
    await until(() => resetWith === NGHTTP2_CANCEL);
  });

  test('that is refused was not processed; one that is otherwise reset may have been', async () => {
    for (const [rstCode, code, isUnsent] of [
      [NGHTTP2_REFUSED_STREAM, 14, true],
      [NGHTTP2_CANCEL, 14, false],
      [NGHTTP2_ENHANCE_YOUR_CALM, 14, false],
      [NGHTTP2_INTERNAL_ERROR, 13, false],
    ] as const) {
      await using server = await serve((stream) => stream.close(rstCode));
      await assert.rejects(unary(server.stub), { code, isUnsent });
    }
  });

  test('on a connection that breaks may have been processed', async () => {
    await using server = await serve((stream) => stream.session?.socket.destroy());
    await assert.rejects(unary(server.stub), { code: 14, isUnsent: false });
  });

  for (const { how, isSuspended } of [
    { how: 'process stood still', isSuspended: false },
    { how: 'machine was suspended', isSuspended: true }, // Its monotonic clock stood still, too.
  ]) {
    test(`whose ${how} until the connection was made is not sent`, async () => {
      let awayMs = 0;
      let seen = 0;
      await using server = await serve((stream) => {
        seen++;
        reply(stream, [framed('')], OK);
      });
      const clock = {
        ...systemClock,
        wallMs: () => systemClock.wallMs() + awayMs,
        monotonicMs: () => systemClock.monotonicMs() + (isSuspended ? 0 : awayMs),
      };
      const stub = createFastStub(server.address, { clock });
      const called = unary(stub, NONE, { timeoutMs: 1000 });
      awayMs = 3_600_000;
      await assert.rejects(called, { code: 4, isUnsent: true });
      await unary(stub); // Arrives after all that was sent before it.
      assert.equal(seen, 1);
      stub.close();
    });
  }

  test('to an absent server was not sent', async () => {
    const server = await serve(() => {});
    await server[Symbol.asyncDispose]();
    const stub = createFastStub(server.address, { clock: systemClock });
    await assert.rejects(unary(stub), { code: 14, isUnsent: true });
    await assert.rejects(unary(stub), { code: 14, isUnsent: true });
  });

  test('keeps its answer when another one on the connection fails', async () => {
    await using server = await serve((stream, request) => {
      if (String(request) === 'bad') stream.close(NGHTTP2_INTERNAL_ERROR);
      else setTimeout(() => reply(stream, [framed('good')], OK), 50);
    });
    const good = unary(server.stub, Buffer.from('good'));
    await assert.rejects(unary(server.stub, Buffer.from('bad')), { code: 13 });
    assert.equal(String(await good), 'good');
  });
});

describe('a connection', () => {
  test('is one for all calls', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    await Promise.all(Array.from({ length: 300 }, () => unary(server.stub)));
    assert.equal(server.sessions.size, 1);
  });

  test('that the server wants to end takes no new calls, and ends with those it has', async () => {
    await using server = await serve((stream, request) => {
      if (String(request) === 'slow') setTimeout(() => reply(stream, [framed('slow')], OK), 200);
      else reply(stream, [framed('fast')], OK);
    });
    const slow = unary(server.stub, Buffer.from('slow'));
    await unary(server.stub);
    const [first] = server.sessions;
    first?.goaway(0);
    await sleep(50);
    assert.equal(String(await unary(server.stub)), 'fast');
    assert.equal(server.sessions.size, 2, 'the new call has a connection of its own');
    assert.equal(String(await slow), 'slow');
  });

  test('that has used its share of stream numbers is replaced, and refuses no call', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    const deadlines = new Deadlines(systemClock);
    const options = { clock: systemClock, deadlines, streamsMax: 3 };
    const connection = new Connection(server.address, options);
    for (let i = 0; i < 7; i++) {
      const session = await connection.session();
      const stream = session.request({ ':method': 'POST', ':path': PATH }).resume().end();
      await once(stream, 'close');
    }
    assert.ok(server.sessions.size >= 2, `${server.sessions.size} sessions`);
    await connection.close();
  });

  test('is reconnected as soon as the server is back', async () => {
    const server = await serve((stream) => reply(stream, [framed('')], OK));
    await unary(server.stub);
    await server.stopListening();
    for (let i = 0; i < 3; i++) await assert.rejects(unary(server.stub), { code: 14 });
    const startedMs = performance.now();
    await using again = await serve((stream) => reply(stream, [framed('')], OK), server.address);
    await untilResolves(() => unary(server.stub));
    assert.ok(performance.now() - startedMs < 1000);
    assert.ok(again.sessions.size > 0);
    server.stub.close();
  });

  test('to a machine that has gone silent is given up, so that later calls use another', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    await using tunnel = await openTunnel(server.address);
    const stub = createFastStub(tunnel.address, { clock: systemClock });
    await unary(stub);
    tunnel.freeze(); // No answer to anything, not even to a ping; and no end of the connection.
    await assert.rejects(unary(stub, NONE, { timeoutMs: 100 }), { code: 4 });
    await untilResolves(() => unary(stub, NONE, { timeoutMs: 500 }));
    assert.equal(server.sessions.size, 2);
    stub.close();
  });

  test('is closed when its calls have ended', async () => {
    await using server = await serve((stream) => {
      setTimeout(() => reply(stream, [framed('late')], OK), 100);
    });
    const late = unary(server.stub);
    await sleep(30);
    await server.stub.closed?.();
    assert.equal(String(await late), 'late');
    await assert.rejects(unary(server.stub), { code: 14, isUnsent: true });
  });

  test('to a machine that has gone silent is closed, too', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    await using tunnel = await openTunnel(server.address);
    const stub = createFastStub(tunnel.address, { clock: systemClock });
    await unary(stub);
    tunnel.freeze();
    await assert.doesNotReject(stub.closed?.() ?? Promise.reject(new Error('it cannot be closed')));
  });

  test('that was given up takes no new call, although its end is not reported yet', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    const connection = new Connection(server.address, {
      clock: systemClock,
      deadlines: new Deadlines(systemClock),
    });
    const session = await connection.session();
    session.destroy();
    assert.notEqual(await connection.session(), session);
    await connection.close();
  });

  test('that takes no new calls ends even if its server has gone silent', async () => {
    await using server = await serve((stream) => reply(stream, [framed('')], OK));
    await using tunnel = await openTunnel(server.address);
    const options = { clock: systemClock, deadlines: new Deadlines(systemClock), streamsMax: 1 };
    const connection = new Connection(tunnel.address, options);
    const session = await connection.session();
    tunnel.freeze();
    const closed = once(session, 'close');
    assert.notEqual(await connection.session(), session);
    await assert.doesNotReject(closed);
    await connection.close();
  });

  test('that the server wants to end can be closed, too, and its calls still end', async () => {
    await using server = await serve((stream, request) => {
      if (String(request) !== 'slow') reply(stream, [framed('fast')], OK);
      else setTimeout(() => reply(stream, [framed('slow')], OK), 200);
    });
    const slow = unary(server.stub, Buffer.from('slow'));
    await unary(server.stub);
    const [session] = server.sessions;
    session?.goaway(0);
    await sleep(50);
    const closing = server.stub.closed?.().then(() => 'closed');
    assert.equal(await Promise.race([closing, slow.then(String)]), 'slow');
    assert.equal(await closing, 'closed');
  });
});

interface TestServer extends AsyncDisposable {
  readonly address: string;
  readonly stub: Stub;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  stopListening(): Promise<void>;
}

type Handler = (
  stream: ServerHttp2Stream,
  request: Buffer,
  headers: Record<string, unknown>,
) => void;

async function serve(handle: Handler, at = '127.0.0.1:0'): Promise<TestServer> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => handle(stream, Buffer.concat(pieces).subarray(5), headers));
  });
  const [host, port] = at.split(':');
  await new Promise<void>((resolve) => {
    server.listen(Number(port), host, () => resolve());
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stub = createFastStub(address, { clock: systemClock });
  return {
    address,
    stub,
    sessions,
    stopListening: () => stop(server, sessions),
    [Symbol.asyncDispose]: async () => {
      stub.close();
      await stop(server, sessions);
    },
  };
}

/** Passes bytes on to `target`; frozen connections stay open and pass nothing. */
async function openTunnel(
  target: string,
): Promise<AsyncDisposable & { readonly address: string; freeze(): void }> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  const tunnel = createTcpServer((client) => {
    const upstream = connect(Number(port), host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => {
    tunnel.listen(0, '127.0.0.1', () => resolve());
  });
  return {
    address: `127.0.0.1:${(tunnel.address() as AddressInfo).port}`,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      tunnel.close();
    },
  };
}

async function stop(server: Http2Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  for (const session of sessions) session.destroy();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

function reply(
  stream: ServerHttp2Stream,
  pieces: readonly Buffer[],
  trailers: OutgoingHttpHeaders,
): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  for (const piece of pieces) stream.write(piece);
  stream.end();
}

/** Sends each piece in a frame of its own. */
async function replySlowly(stream: ServerHttp2Stream, pieces: readonly Buffer[]): Promise<void> {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(OK));
  for (const piece of pieces) {
    await new Promise<void>((resolve) => {
      stream.write(piece, () => resolve());
    });
    await sleep(1);
  }
  stream.end();
}

function framed(message: string | Buffer): Buffer {
  const body = Buffer.from(message);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

interface Options {
  readonly metadata?: Metadata;
  readonly timeoutMs?: number;
  readonly deadline?: number;
}

function unary(stub: Stub, request: Buffer = NONE, options: Options = {}): Promise<Buffer> {
  const { metadata = new Metadata(), ...rest } = options;
  return new Promise((resolve, reject) => {
    stub.makeUnaryRequest(PATH, same, same, request, metadata, rest, (error, answer) => {
      if (error === null) resolve(answer as Buffer);
      else reject(error);
    });
  });
}

function start(stub: Stub): ReturnType<Stub['makeServerStreamRequest']> {
  return stub.makeServerStreamRequest(PATH, same, same, NONE, new Metadata(), {}) as never;
}

async function streamed(stub: Stub): Promise<readonly Buffer[]> {
  const messages: Buffer[] = [];
  for await (const message of start(stub)) messages.push(message as Buffer);
  return messages;
}

async function ended(answers: ReturnType<typeof start>): Promise<void> {
  await new Promise((resolve, reject) => {
    answers.on('error', reject);
    answers.on('end', resolve);
    answers.resume();
  });
}

function untilResolves(call: () => Promise<unknown>): Promise<void> {
  return until(() =>
    call().then(
      () => true,
      () => false,
    ),
  );
}
