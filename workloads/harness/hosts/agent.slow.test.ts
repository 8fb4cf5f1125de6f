/**
 * Agents and their coordinator: who may join, what passes between them, and what is left when one
 * of them is gone. All are on the loopback here; crawl-rate/across-hosts.slow.test.ts has hosts.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectPlain, type Socket } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { execaNode } from 'execa';
import { createAuthority, issueCertificate } from '#engine/host';
import { temporaryFolder, until } from '#engine/testing';
import type { ChildOptions } from '../processes/child.fixture.ts';
import { byTurns, Crew } from '../processes/index.ts';
import { gatherHosts, type RunHosts, refuseUnreachable } from './coordinator.ts';
import { serveAgent, tokenText } from './agent.ts';
import { ROOT } from './code-version.ts';
import { tlsOfRun } from './run-identity.ts';

const AGENT = fileURLToPath(new URL('../../tools/agent/main.ts', import.meta.url));
const PARENT = fileURLToPath(new URL('../processes/parent.fixture.ts', import.meta.url));
const CHILD = new URL('../processes/child.fixture.ts', import.meta.url);
const NEVER = new AbortController().signal;
const folder = temporaryFolder();

interface Waiting {
  readonly hosts: Promise<RunHosts>;
  /** Options of an agent, as printed. */
  readonly words: readonly string[];
  readonly said: readonly string[];
  readonly stop: () => void;
}

/** Listens for agents; resolves when an operator would know what to do. */
async function waiting(t: TestContext, count: number): Promise<Waiting> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error('interrupted'));
  t.after(stop);
  const { signal } = stopping;
  const said: string[] = [];
  const printed = Promise.withResolvers<readonly string[]>();
  const say = (line: string): void => {
    said.push(line);
    const words = wordsIn(line);
    if (words !== undefined) printed.resolve(words);
  };
  const hosts = gatherHosts({ count, listen: '127.0.0.1:0', signal, say });
  hosts.catch(() => {}); // Its caller awaits it later.
  // A test that fails must not leave what keeps its process.
  t.after(() => hosts.then((run) => run[Symbol.asyncDispose]()).catch(() => {}));
  return { hosts, words: await printed.promise, said, stop };
}

function wordsIn(line: string): readonly string[] | undefined {
  return /run\.sh agent (--coordinator \S+ --token \S+)/.exec(line)?.[1]?.split(' ');
}

/** Is killed at the end of the test, if it is still there. */
function startAgent(t: TestContext, words: readonly string[]) {
  const agent = execaNode(AGENT, words, { reject: false });
  t.after(() => agent.kill('SIGKILL'));
  return agent;
}

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const portOf = ([, at = '']: readonly string[]): number => Number(at.split(':')[1]);

test('processes of a crew run under agents by turns, hear and say what others do, and are gone at the end', async (t) => {
  const { hosts: gathering, words } = await waiting(t, 2);
  const agents = [startAgent(t, words), startAgent(t, words)];
  const run = await gathering;
  const pids: number[] = [];
  {
    await using crew = new Crew(NEVER, { placeOf: byTurns(run.hosts) });
    const answered = Promise.withResolvers<unknown>();
    for (const name of ['first', 'second', 'third']) {
      const options = { alive: path.join(folder, name) } satisfies ChildOptions;
      const onMessage = (message: unknown): void => answered.resolve(message);
      const member = await crew.start({ name, program: CHILD, options, onMessage });
      assert.deepEqual(await member.ready, { pid: member.pid });
      pids.push(member.pid);
      member.send('hello');
      assert.equal(await crew.during(answered.promise), 'HELLO');
    }
    const [end] = await crew.stop();
    assert.ok((end?.cpuSeconds ?? 0) > 0.01, 'an ended process says what it has used');
    const options = { alive: path.join(folder, 'fourth'), fault: 'at start' } as const;
    await assert.rejects(
      crew.start({ name: 'fourth', program: CHILD, options }),
      /^Error: fourth \(process \d+ on host-2\) ended with exit code 1; it said last:\n {4}it begins\n(.*\n)*.*there is no store here/,
    );
  }
  const rows = run.table().rows.map(([host, , , roles]) => [host, roles]);
  assert.deepEqual(rows.slice(1), [
    ['host-1', 'first, third'],
    ['host-2', 'second, fourth'],
  ]);
  assert.match(Buffer.from(tlsOfRun()?.current().certificate ?? []).toString(), /CERTIFICATE/);
  await run[Symbol.asyncDispose]();
  for (const agent of agents) assert.equal((await agent).exitCode, 0);
  assert.ok(!pids.some(exists));
});

test('kill -9 of a process under an agent is told as that of any other', async (t) => {
  const { hosts: gathering, words } = await waiting(t, 1);
  void startAgent(t, words);
  await using run = await gathering;
  await using crew = new Crew(NEVER, { placeOf: byTurns(run.hosts) });
  const options = { alive: path.join(folder, 'killed') };
  const { pid } = await crew.start({ name: 'worker 7', program: CHILD, options });
  const work = crew.during(new Promise(() => {}));
  process.kill(pid, 'SIGKILL');
  await assert.rejects(work, /^Error: worker 7 \(process \d+ on host-1\) was ended by SIGKILL/);
  assert.ok(!run.lost.aborted);
});

/** A socket that ends with the test, also if that fails. */
function kept<S extends Socket>(t: TestContext, socket: S): S {
  t.after(() => socket.destroy());
  return socket.on('error', () => {});
}

function stranger(t: TestContext, port: number): Socket {
  return kept(t, connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }));
}

const JOIN = { kind: 'join', hostName: 'x', cores: 1, memoryBytes: 1, version: 'x' };
/** What a stranger may send first. */
const STRANGE: readonly string[] = [
  'x'.repeat(100_000),
  ...[
    null,
    7,
    [],
    {},
    { kind: 'constructor' },
    { kind: 'started', id: 1, pid: 1 },
    { kind: 'started', id: '1', pid: 1 },
    JOIN,
    { ...JOIN, secret: { toString: 1 } },
    { ...JOIN, secret: 'x' },
    { ...JOIN, secret: 7 },
  ].map((message) => `${JSON.stringify(message)}\n`),
];

test('nothing joins that does not show the token, and the right agent still does', async (t) => {
  const { hosts: gathering, words, said } = await waiting(t, 1);
  const [, coordinator = '', , token = ''] = words;
  assert.match(token, /^[0-9a-f]{96}$/, 'no option of a command line looks like it');
  const port = portOf(words);
  const wrongSecret = Buffer.from(token, 'hex').fill(0, 32).toString('hex');
  const wrongName = Buffer.from(token, 'hex').fill(0, 0, 32).toString('hex');
  const plain = kept(t, connectPlain(port, '127.0.0.1'));
  plain.write('{"kind":"join"}\n');
  const mute = stranger(t, port);
  const refused = STRANGE.map((text) => {
    const socket = stranger(t, port);
    socket.write(text);
    return socket;
  });
  await Promise.all(
    [plain, ...refused].map((socket) => new Promise((resolve) => socket.on('close', resolve))),
  );
  for (const [given, exitCode, sentence] of [
    [wrongSecret, 1, /^Error: The coordinator at \S+ is lost: /m],
    [wrongName, 2, /^--token is not that of the run at \S+: its certificate is another one\.$/m],
    ['short', 2, /^--token must be the text that the coordinator has printed/m],
  ] as const) {
    const end = await startAgent(t, ['--coordinator', coordinator, '--token', given]);
    assert.equal(end.exitCode, exitCode, end.stderr);
    assert.match(end.stderr, sentence);
  }
  assert.equal(said.length, 2, said.join('\n'));
  void startAgent(t, words);
  await using run = await gathering;
  assert.equal(run.hosts.length, 1);
  mute.destroy();
  const late = await startAgent(t, words);
  assert.equal(late.exitCode, 2, 'the token has served its run');
  assert.match(late.stderr, /^--coordinator 127\.0\.0\.1:\d+ does not answer: /m);
});

test('an agent that is lost ends the run with a sentence that names it, and nothing is left on it', async (t) => {
  const { parent, words, pids } = await startParent(t, 2);
  const agents = [startAgent(t, words), startAgent(t, words)];
  const all = await pids;
  agents[0]?.kill('SIGKILL');
  const { exitCode, stderr } = await parent;
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^Error: (?:first|second) \(process \d+ on host-[12]\) was lost with its host: the connection (?:was closed|failed)/m,
  );
  assert.equal((await agents[1])?.exitCode, 0, 'its own run ended in good order');
  for (const pid of all) await until(() => !exists(pid));
});

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`${signal} of the coordinator ends the agents, and nothing is left on them`, async (t) => {
    const { parent, words, pids } = await startParent(t, 1);
    const agent = startAgent(t, words);
    const all = await pids;
    parent.kill(signal);
    const { exitCode, stderr } = await agent;
    if (signal === 'SIGKILL') {
      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        /^Error: The coordinator at \S+ is lost: .*what it had started here was killed$/m,
      );
    } else assert.equal(exitCode, 0);
    for (const pid of all) assert.ok(!exists(pid), 'the agent has waited for them');
  });
}

test('an agent that falls silent is lost, and ends what it has started when it wakes', async (t) => {
  const { parent, words, pids } = await startParent(t, 1);
  const agent = startAgent(t, words);
  const all = await pids;
  agent.kill('SIGSTOP');
  const { exitCode, stderr } = await parent;
  assert.equal(exitCode, 1);
  assert.match(stderr, /^Error: .* was lost with its host: it was silent for 20 s/m);
  agent.kill('SIGCONT');
  assert.equal((await agent).exitCode, 1);
  assert.ok(!all.some(exists));
});

test('ctrl-C of an agent ends what it has started, and the run', async (t) => {
  const { parent, words, pids } = await startParent(t, 1);
  const agent = startAgent(t, words);
  const all = await pids;
  agent.kill('SIGINT');
  assert.equal((await agent).exitCode, 130);
  assert.ok(!all.some(exists));
  assert.equal((await parent).exitCode, 1);
});

test('who stops waiting for agents is told so at once', async (t) => {
  const { hosts, stop } = await waiting(t, 1);
  stop();
  await assert.rejects(hosts, /interrupted/);
});

test('who stops waiting as soon as the listening has begun is told so, too', async () => {
  const stopping = new AbortController();
  const say = (): void => stopping.abort(new Error('interrupted'));
  const { signal } = stopping;
  const gathering = gatherHosts({ count: 1, listen: '127.0.0.1:0', signal, say });
  await assert.rejects(gathering, /interrupted/);
});

for (const listen of ['127.0.0.1', '10.0.0.1:', ':7454', 'x:y', '127.0.0.1:77777']) {
  test(`--listen ${listen} is refused in a sentence`, async () => {
    const gathering = gatherHosts({ count: 1, listen, signal: NEVER, say: () => {} });
    await assert.rejects(gathering, {
      name: 'UsageError',
      message: /^--listen (?:must be host:port, but is "|127\.0\.0\.1:77777 cannot be used)/,
    });
  });
}

for (const address of ['10.0.0.1:7454', '[::1]', 'a b', '']) {
  test(`an agent with --address ${JSON.stringify(address)} is refused before it joins`, async (t) => {
    const { words, said } = await waiting(t, 1);
    const [, coordinator = '', , token = ''] = words;
    const options = { coordinator, token, address, signal: NEVER, say: () => {} };
    await assert.rejects(serveAgent(options), {
      name: 'UsageError',
      message:
        /^--address must be a name or an IP address, without a port and without brackets, but is "/,
    });
    assert.equal(said.length, 2);
  });
}

/** A coordinator that says only this, and never closes; options of an agent, and what that says. */
async function fakeCoordinator(t: TestContext, text: string) {
  const nowMs = Date.now();
  const issued = issueCertificate(createAuthority({ nowMs }), {
    name: 'coordinator',
    role: 'worker',
    hosts: ['coordinator'],
    nowMs,
  });
  const [cert, key] = [issued.certificate, issued.key].map((pem) => Buffer.from(pem));
  const heard: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ cert, key, allowHalfOpen: true }, (socket) => {
    kept(t, socket).on('data', (bytes) => heard.push(bytes.toString()));
    sockets.push(socket);
    socket.write(text);
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { fingerprint256 } = new X509Certificate(issued.certificate);
  const fingerprint = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex');
  return {
    heard,
    sockets,
    coordinator: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: tokenText(fingerprint, Buffer.alloc(16)),
    address: undefined,
    signal: NEVER,
    say: () => {},
  };
}

const linesOf = (...messages: readonly object[]): string =>
  messages.map((message) => `${JSON.stringify(message)}\n`).join('');

test('an agent starts nothing any more once the run is over', async (t) => {
  const program = path.relative(ROOT, fileURLToPath(CHILD));
  const options = JSON.stringify({ alive: path.join(folder, 'late') } satisfies ChildOptions);
  const order = { kind: 'start', id: 1, program, options };
  const fake = await fakeCoordinator(t, linesOf({ kind: 'over' }, order));
  await serveAgent(fake);
  assert.doesNotMatch(fake.heard.join(''), /"started"/);
});

test('an agent does not wait for ever until its coordinator closes the connection, too', async (t) => {
  const fake = await fakeCoordinator(t, linesOf({ kind: 'over' }));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await serveAgent(fake);
  t.mock.timers.tick(5_000);
  t.mock.timers.reset();
  await until(() => {
    for (const socket of fake.sockets) socket.write('x'); // Tells whether the other end is there.
    return fake.sockets.every(({ destroyed }) => destroyed);
  });
  assert.match(fake.heard.join(''), /"join"/);
});

test('an agent whose coordinator sends no message of this version ends with an error', async (t) => {
  const fake = await fakeCoordinator(t, linesOf({ kind: 'signal', id: 1, signal: 'SIGHUP' }));
  await assert.rejects(serveAgent(fake), /is lost: it sent a line that is no message;/);
});

test('a store that other hosts do not reach is refused in a sentence', () => {
  const far = [{ name: 'host-1', address: '10.0.0.7', start: () => assert.fail() }];
  const near = [{ ...far[0], address: '127.0.0.1' }] as typeof far;
  assert.throws(
    () => refuseUnreachable('embedded', []),
    /^UsageError: --hosts needs a store that all hosts reach, such as --store hbase:\/\/host:port, but --store is embedded/,
  );
  const own = { kind: 'hbase', servers: ['127.0.0.1:16000'] } as const;
  assert.throws(() => refuseUnreachable(own, far), /is at 127\.0\.0\.1:16000, which only this/);
  assert.throws(() => refuseUnreachable('hbase', far), /is at 127\.0\.0\.1, which only this/);
  refuseUnreachable(own, near);
  refuseUnreachable({ kind: 'hbase', servers: ['10.0.0.1:16000'] }, far);
});

/** An experiment as a program, and the options of agents for it. */
async function startParent(t: TestContext, hosts: number) {
  const words = ['--alive', path.join(folder, `of-parent-${hosts}`), '--hosts', String(hosts)];
  const parent = execaNode(PARENT, words, { reject: false });
  t.after(() => parent.kill('SIGKILL'));
  const pids = Promise.withResolvers<readonly number[]>();
  parent.stdout.on('data', (text: Buffer) => pids.resolve(text.toString().split(' ').map(Number)));
  const printed = Promise.withResolvers<readonly string[]>();
  let said = '';
  parent.stderr.on('data', (text: Buffer) => {
    said += text.toString();
    const found = wordsIn(said);
    if (found !== undefined) printed.resolve(found);
  });
  return { parent, pids: pids.promise, words: await printed.promise };
}
