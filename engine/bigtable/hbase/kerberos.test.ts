/**
 * The exchange of Kerberos byte for byte, with a scripted server and a scripted library: what is
 * sent, and that after a refusal nothing more is. Real ones: kerberos.slow.test.ts.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Clock, systemClock } from '../../base/index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { Connection, Deadlines } from './connection.ts';
import {
  type BeginContext,
  Kerberos,
  KerberosFailure,
  loadKerberos,
  PRINCIPAL,
} from './kerberos.ts';
import { loadMessages, messageOf, readerOf } from './messages.ts';

await loadMessages();

const TIMEOUT_MS = 60_000;
const GET_TABLES = {
  type: messageOf('MultiRequest'),
  value: { regionAction: [] },
  response: messageOf('MultiResponse'),
};
const REALM = 'EXAMPLE.ORG';
const HELLO = Buffer.from('HBas\0\x51', 'latin1');
const PROOF = token('the proof');
/** All layers, and messages of up to 64 KB in those of them that have messages. */
const ANY_LAYER = Buffer.from([7, 1, 0, 0]);
const NO_LAYER = Buffer.from([1, 0, 0, 0]);

test('the client shows its ticket, chooses no layer, and then sends the header and calls', async (t) => {
  const server = await listen(t, [
    { expects: [HELLO, framed(ticketFor('127.0.0.1'))], sends: [success(PROOF)] },
    { expects: [framed(Buffer.alloc(0))], sends: [success(sealed(ANY_LAYER))] },
    { expects: [framed(sealed(NO_LAYER))], sends: [] },
  ]);
  const called = connect(t, server.address).call('Multi', GET_TABLES, TIMEOUT_MS);
  const [header = HELLO, call = HELLO] = await server.frames(2);
  // A name would ask for the rights of another user than the ticket's owner.
  assert.deepEqual({ ...messageOf('ConnectionHeader').decode(header) }, { serviceName: 'Service' });
  const { callId } = messageOf('RequestHeader').read(readerOf(call)) as { callId: number };
  const answer = messageOf('ResponseHeader').append({ callId });
  server.send(framed(answer.uint32(0).finish()));
  assert.deepEqual({ ...(await called) }, { regionActionResult: [] });
});

test('the exchange is the same whatever pieces the answers come in', async (t) => {
  const byteByByte = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));
  const server = await listen(t, [
    { expects: [HELLO, framed(ticketFor('127.0.0.1'))], sends: byteByByte(success(PROOF)) },
    { expects: [framed(Buffer.alloc(0))], sends: byteByByte(success(sealed(ANY_LAYER))) },
    { expects: [framed(sealed(NO_LAYER))], sends: [] },
  ]);
  connect(t, server.address)
    .call('Multi', GET_TABLES, TIMEOUT_MS)
    .catch(() => {});
  assert.equal((await server.frames(2)).length, 2);
});

/** What a server may answer to the ticket instead of its proof, and what the client says then. */
const REFUSALS: readonly (readonly [name: string, answer: Buffer, expected: object])[] = [
  [
    'a server without Kerberos is refused, and is sent nothing more',
    Buffer.concat([int32(0), int32(-88)]),
    {
      code: 'STORE_REFUSED',
      message: /^the HBase server \S+ does not ask for Kerberos, and principal says that it must; /,
    },
  ],
  [
    'a server that refuses the ticket says why',
    Buffer.concat([
      int32(1),
      framed(Buffer.from('javax.security.sasl.SaslException')),
      framed(Buffer.from('GSS initiate failed\n\tat X')),
    ]),
    {
      kind: 'unsent',
      message: /^the HBase server \S+ refuses the Kerberos ticket: GSS \w+ failed$/,
    },
  ],
  [
    'a server that cannot read the ticket has not proven who it is',
    success(token('another proof')),
    { kind: 'unsent', message: /^the HBase server \S+ does not prove who it is: a wrong proof$/ },
  ],
  [
    'an answer of another protocol is refused',
    Buffer.from('HTTP/1.1 400 Bad Request'),
    { kind: 'unsent', message: /: the server does not speak the protocol of HBase$/ },
  ],
  [
    'a token that would fill the memory is refused before it comes',
    Buffer.concat([int32(0), int32(2 ** 30)]),
    { kind: 'unsent', message: /: the server does not speak the protocol of HBase$/ },
  ],
];
for (const [name, answer, expected] of REFUSALS) {
  test(name, async (t) => {
    const server = await listen(t, [
      { expects: [HELLO, framed(ticketFor('127.0.0.1'))], sends: [answer] },
    ]);
    const called = connect(t, server.address).call('Multi', GET_TABLES, TIMEOUT_MS);
    await assert.rejects(called, expected);
    await server.ended;
    assert.deepEqual(server.rest(), Buffer.alloc(0));
  });
}

for (const [layers, demanded] of [
  [4, 'privacy'],
  [6, 'integrity'],
] as const) {
  test(`a server that demands ${demanded} is refused in one sentence`, async (t) => {
    const server = await listen(t, [
      { expects: [HELLO, framed(ticketFor('127.0.0.1'))], sends: [success(PROOF)] },
      {
        expects: [framed(Buffer.alloc(0))],
        sends: [success(sealed(Buffer.from([layers, 1, 0, 0])))],
      },
    ]);
    await assert.rejects(connect(t, server.address).call('Multi', GET_TABLES, TIMEOUT_MS), {
      code: 'STORE_REFUSED',
      message: new RegExp(`^the HBase server \\S+ demands Kerberos with ${demanded} \\([^\\n]+$`),
    });
    await server.ended;
    assert.deepEqual(server.rest(), Buffer.alloc(0));
  });
}

test('an offer of layers that is not signed is not believed', async (t) => {
  const server = await listen(t, [
    { expects: [HELLO, framed(ticketFor('127.0.0.1'))], sends: [success(PROOF)] },
    { expects: [framed(Buffer.alloc(0))], sends: [success(ANY_LAYER)] },
  ]);
  const called = connect(t, server.address).call('Multi', GET_TABLES, TIMEOUT_MS);
  await assert.rejects(called, { kind: 'unsent', message: /not sealed/ });
  await server.ended;
  assert.deepEqual(server.rest(), Buffer.alloc(0));
});

/** What a principal asks the library for, and which tickets are not what it says. */
const TICKETS: readonly (readonly [principal: string, service: string, refused?: RegExp])[] = [
  ['hbase/_HOST', 'hbase@127.0.0.1'],
  [`hbase/_HOST@${REALM}`, 'hbase@127.0.0.1'],
  ['hbase/127.0.0.1', 'hbase@127.0.0.1'],
  ['hm/db.example', 'hm@db.example'],
  [
    'hbase/_HOST@OTHER',
    'hbase@127.0.0.1',
    /is for hbase\/127\.0\.0\.1@EXAMPLE\.ORG, and principal/,
  ],
  ['hbase/alias.example', 'hbase@alias.example', /is for hbase\/db\.example@EXAMPLE\.ORG, and/],
];
for (const [principal, service, refused] of TICKETS) {
  const what = refused === undefined ? 'accepts the ticket' : 'sends no ticket';
  test(`${principal} asks for ${service}, and ${what}`, async (t) => {
    const asked: string[] = [];
    const begin: BeginContext = (name) => {
      asked.push(name);
      // The library asks DNS for the name of an alias.
      return scripted(name.replace('alias', 'db'));
    };
    const server = await listen(t, []);
    const called = connect(t, server.address, new Kerberos(principal, begin)).call(
      'Multi',
      GET_TABLES,
      TIMEOUT_MS,
    );
    called.catch(() => {});
    if (refused === undefined) {
      assert.deepEqual(await server.bytes(HELLO.length), HELLO);
    } else {
      await assert.rejects(called, { isLasting: true, message: refused });
      await server.ended;
      assert.deepEqual(server.rest(), Buffer.alloc(0));
    }
    assert.deepEqual(asked, [service]);
  });
}

test('a first token in which no ticket can be read is not sent where the realm matters', async (t) => {
  const begin: BeginContext = async (service) => ({
    ...(await scripted(service)),
    step: async () => Buffer.from([0x60, 0x84, 0xff]).toString('base64'),
  });
  const server = await listen(t, []);
  const kerberos = new Kerberos(`hbase/_HOST@${REALM}`, begin);
  const called = connect(t, server.address, kerberos).call('Multi', GET_TABLES, TIMEOUT_MS);
  await assert.rejects(called, { isLasting: true, message: /is unreadable, and principal/ });
});

test('while one connection waits for its ticket, no other one asks, nor does a closed one later', async (t) => {
  const answers: PromiseWithResolvers<void>[] = [];
  const kerberos = new Kerberos('hbase/_HOST', async (service) => {
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    await answer.promise;
    return scripted(service);
  });
  const server = await listen(t, []);
  const connections = [0, 1, 2].map(() => connect(t, server.address, kerberos));
  const called = connections.map((connection) => connection.call('Multi', GET_TABLES, TIMEOUT_MS));
  for (const one of called) one.catch(() => {});
  await until(() => server.connections() === 3 && answers.length > 0);
  assert.equal(answers.length, 1);
  connections[1]?.close();
  await assert.rejects(called[1] ?? Promise.resolve(), /the connection was closed/);
  answers[0]?.reject(new Error('Cannot contact any KDC for realm'));
  await assert.rejects(called[0] ?? Promise.resolve(), (error) => {
    // It may be there again in a moment.
    return !(error instanceof KerberosFailure) && /Cannot contact any KDC/.test(String(error));
  });
  await until(() => answers.length === 2);
  answers[1]?.resolve();
  await server.bytes(HELLO.length);
  assert.equal(answers.length, 2, 'for the closed connection, no ticket is asked for');
});

test('a server that stops answering in the middle does not hold its callers for ever', async (t) => {
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  const server = await listen(t, []);
  const kerberos = new Kerberos('hbase/_HOST', scripted);
  const called = connect(t, server.address, kerberos, clock).call('Multi', GET_TABLES, TIMEOUT_MS);
  called.catch(() => {});
  await server.bytes(HELLO.length);
  aheadMs = 20_000;
  await assert.rejects(called, {
    kind: 'unsent',
    message: /Kerberos has not let it in after 10000/,
  });
  await server.ended;
});

test('a server that sends without end is left before it fills the memory', async (t) => {
  const flood = Array.from({ length: 40 }, () => Buffer.alloc(1 << 16));
  // All of it is the second answer, for which the client is not yet ready.
  const slow: BeginContext = async (service) => {
    const context = await scripted(service);
    return { ...context, step: (text) => (text === '' ? context.step('') : never()) };
  };
  const server = await listen(t, [
    { expects: [HELLO], sends: [success(PROOF), ...flood] },
    { expects: [framed(ticketFor('127.0.0.1'))], sends: [] },
  ]);
  const called = connect(t, server.address, new Kerberos('hbase/_HOST', slow)).call(
    'Multi',
    GET_TABLES,
    TIMEOUT_MS,
  );
  await assert.rejects(called, { kind: 'unsent', message: /does not speak the protocol of HBase/ });
});

function never(): Promise<never> {
  return new Promise(() => {});
}

test('closing in the middle of the exchange leaves no socket open', async (t) => {
  const server = await listen(t, []);
  const connection = connect(t, server.address);
  const called = connection.call('Multi', GET_TABLES, TIMEOUT_MS);
  called.catch(() => {});
  await server.bytes(HELLO.length);
  connection.close();
  await assert.rejects(called, { kind: 'unsent', message: /the connection was closed/ });
  await server.ended;
});

test('a principal has a service and a host, and may have a realm', () => {
  const accepts = (value: unknown): boolean => PRINCIPAL.accepts(value);
  for (const right of ['hbase/_HOST', 'hbase/_HOST@A.B', 'hm-1/db.example.org@A', 'h/10.0.0.1']) {
    assert.ok(accepts(right), right);
  }
  const wrong = ['', 'hbase', 'hbase@REALM', 'hbase/', 'hbase/_host', 'hbase/a@', 'a/b/c', 'h/a b'];
  for (const one of [...wrong, 'hbase/_HOST@A\n', 7, undefined]) {
    assert.ok(!accepts(one), String(one));
  }
});

test('who lacks the package is told what to install, and who lacks a part of it, how to get it', async () => {
  const folder = temporaryFolder();
  {
    using _ = importedFrom(folder);
    await assert.rejects(loadKerberos(), {
      code: 'PACKAGE_MISSING',
      message:
        'HBase with Kerberos needs the package kerberos, which is not installed; run: npm install kerberos',
    });
  }
  const place = join(folder, 'node_modules', 'kerberos');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'index.js'), "require('../build/Debug/kerberos.node');");
  using _ = importedFrom(folder);
  await assert.rejects(loadKerberos(), {
    code: 'PACKAGE_MISSING',
    message:
      "HBase with Kerberos needs the package kerberos, which does not load: Cannot find module '../build/Debug/kerberos.node'; " +
      'npm rebuild kerberos compiles it, and the system must have its library of Kerberos',
  });
});

/** Until disposed of, the package is looked for as if a file in this folder asked for it. */
function importedFrom(folder: string): Disposable {
  const parentURL = pathToFileURL(join(folder, 'index.js')).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, specifier === 'kerberos' ? { ...context, parentURL } : context),
  });
  return { [Symbol.dispose]: () => hooks.deregister() };
}

/** A library whose tickets are for the service that is asked for, and whose seal is a text. */
async function scripted(service: string): ReturnType<BeginContext> {
  const [, host = ''] = service.split('@');
  const base64 = (bytes: Buffer): string => bytes.toString('base64');
  const context = {
    contextComplete: false,
    async step(answer: string): Promise<string | null> {
      if (answer === '') return base64(ticketFor(host, service.split('@')[0]));
      if (answer !== base64(PROOF)) throw new Error('No.  more information: a wrong proof');
      context.contextComplete = true;
      return null;
    },
    async unwrap(text: string): Promise<string> {
      const bytes = Buffer.from(text, 'base64');
      if (!bytes.toString().startsWith(SEAL)) throw new Error('not sealed');
      return base64(bytes.subarray(SEAL.length));
    },
    async wrap(text: string, { user }: { readonly user: string }): Promise<string> {
      return base64(Buffer.concat([sealed(Buffer.from(text, 'base64')), Buffer.from(user)]));
    },
  };
  return context;
}

const SEAL = 'sealed:';

function sealed(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(SEAL), bytes]);
}

function token(text: string): Buffer {
  return Buffer.from(text);
}

/** As a client of MIT sends it, without what is encrypted. */
function ticketFor(host: string, service = 'hbase'): Buffer {
  const text = (value: string): Buffer => der(0x1b, Buffer.from(value));
  const number = (value: number): Buffer => der(0x02, Buffer.from([value]));
  const name = der(0x30, der(0xa0, number(3)), der(0xa1, der(0x30, text(service), text(host))));
  const ticket = der(
    0x30,
    der(0xa0, number(5)),
    der(0xa1, text(REALM)),
    der(0xa2, name),
    der(0xa3, Buffer.alloc(400)), // Encrypted: for the server.
  );
  const request = der(
    0x30,
    der(0xa0, number(5)),
    der(0xa1, number(14)),
    der(0xa2, der(0x03, Buffer.from([0, 0x20, 0, 0, 0]))),
    der(0xa3, der(0x61, ticket)),
  );
  const kerberos5 = der(0x06, Buffer.from('2a864886f712010202', 'hex'));
  return der(0x60, kerberos5, Buffer.from([1, 0]), der(0x6e, request));
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.from([tag, ...head, ...content]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function framed(bytes: Uint8Array): Buffer {
  return Buffer.concat([int32(bytes.length), bytes]);
}

function success(answer: Buffer): Buffer {
  return Buffer.concat([int32(0), framed(answer)]);
}

function connect(
  t: TestContext,
  address: string,
  kerberos = new Kerberos('hbase/_HOST', scripted),
  clock: Clock = systemClock,
): Connection {
  const options = { clock, deadlines: new Deadlines(clock), tls: false, user: 'test', kerberos };
  const connection = new Connection(address, 'Service', options);
  t.after(() => connection.close());
  return connection;
}

interface Step {
  readonly expects: readonly Buffer[];
  /** Each in a turn of its own. */
  readonly sends: readonly Buffer[];
}

interface ScriptedServer {
  readonly address: string;
  /** Resolves when a connection has been closed. */
  readonly ended: Promise<void>;
  connections(): number;
  send(bytes: Buffer): void;
  /** What was received and is not in the script. */
  rest(): Buffer;
  /** Waits for bytes after the script. */
  bytes(count: number): Promise<Buffer>;
  /** Waits for frames after the script. */
  frames(count: number): Promise<readonly Buffer[]>;
}

/** Answers each step of the script once its bytes have come; other bytes fail the test. */
async function listen(t: TestContext, script: readonly Step[]): Promise<ScriptedServer> {
  const sockets: Socket[] = [];
  const ended = Promise.withResolvers<void>();
  const steps = [...script];
  let received = Buffer.alloc(0);
  const receive = async (socket: Socket, bytes: Buffer): Promise<void> => {
    received = Buffer.concat([received, bytes]);
    const [step] = steps;
    const expected = Buffer.concat(step?.expects ?? []);
    if (step === undefined || received.length < expected.length) return;
    assert.deepEqual(received.subarray(0, expected.length), expected);
    received = received.subarray(expected.length);
    steps.shift();
    for (const piece of step.sends) {
      socket.write(piece);
      await systemClock.sleep(0);
    }
    await receive(socket, Buffer.alloc(0));
  };
  const server = createServer((socket) => {
    sockets.push(socket.setNoDelay(true));
    socket.on('error', () => {});
    socket.once('close', () => ended.resolve());
    socket.on('data', (bytes: Buffer) => void receive(socket, bytes));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bytes = async (count: number): Promise<Buffer> => {
    await until(() => steps.length === 0 && received.length >= count);
    return received.subarray(0, count);
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ended: ended.promise,
    connections: () => sockets.length,
    send: (answer) => void sockets[0]?.write(answer),
    rest: () => received,
    bytes,
    async frames(count) {
      const found: Buffer[] = [];
      for (let at = 0; found.length < count;) {
        const begin = at + 4;
        at = begin + (await bytes(begin)).readUInt32BE(at);
        found.push((await bytes(at)).subarray(begin));
      }
      return found;
    },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await systemClock.sleep(5);
}
