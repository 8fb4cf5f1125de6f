/**
 * Claims about a crew: a process is ready when it says so, none is left running, and an error names
 * the one that failed.
 */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execaNode } from 'execa';
import { systemClock } from '#engine';
import { temporaryFolder, until } from '#engine/testing';
import type { ChildOptions } from './child.fixture.ts';
import { Crew, type Member } from './index.ts';

const CHILD = new URL('child.fixture.ts', import.meta.url);
const PARENT = fileURLToPath(new URL('parent.fixture.ts', import.meta.url));
const NEVER = new AbortController().signal;
const folder = temporaryFolder();

let files = 0;
const newFile = (): string => path.join(folder, `alive-${files++}`);

function start(crew: Crew, fault?: ChildOptions['fault'], alive = newFile()): Promise<Member> {
  const options = { alive, fault } satisfies ChildOptions;
  return crew.start({ name: 'worker 7', program: CHILD, options });
}

/** Whether a process that writes the file is alive; a busy machine lets it write rarely. */
async function isAlive(alive: string): Promise<boolean> {
  const size = sizeOf(alive);
  await systemClock.sleep(300);
  return sizeOf(alive) > size;
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('work of a crew that was made after an interrupt ends at once', async () => {
  await using crew = new Crew(AbortSignal.abort(new Error('interrupted')));
  const work = systemClock.sleep(2_000).then(() => 'done');
  await assert.rejects(crew.during(work), /interrupted/);
});

test('a process is ready when it says so, with what it says, and messages go either way', async () => {
  await using crew = new Crew(NEVER);
  const answered = Promise.withResolvers<unknown>();
  const options = { alive: newFile() };
  const onMessage = (message: unknown): void => answered.resolve(message);
  const member = await crew.start({ name: 'echo', program: CHILD, options, onMessage });
  assert.deepEqual(await member.ready, { pid: member.pid });
  member.send('hello');
  assert.equal(await crew.during(answered.promise), 'HELLO');
  const [end] = await crew.stop();
  assert.ok((end?.cpuSeconds ?? 0) > 0.01, 'the start alone takes longer');
  assert.ok(!exists(member.pid));
});

test('leaving the block leaves no process running', async () => {
  const alive = newFile();
  {
    await using crew = new Crew(NEVER);
    await start(crew, undefined, alive);
    await until(() => isAlive(alive));
  }
  assert.ok(!(await isAlive(alive)));
});

test('a process that fails before it is ready is named, with its last lines', async () => {
  await using crew = new Crew(NEVER);
  await assert.rejects(
    start(crew, 'at start'),
    /^Error: worker 7 \(process \d+\) ended with exit code 1; it said last:\n {4}it begins\n(.*\n)*.*there is no store here/,
  );
});

test('a process that fails later ends the work in flight, and is named', async () => {
  await using crew = new Crew(NEVER);
  const member = await start(crew, 'on message');
  const work = crew.during(new Promise(() => {}));
  member.send('mumbling');
  await assert.rejects(work, /^Error: worker 7 .*exit code 1(.*\n)*.*cannot understand mumbling/);
});

test('a process that is killed, or leaves as if it were done, is named too', async () => {
  await using crew = new Crew(NEVER);
  const killed = await start(crew);
  process.kill(killed.pid, 'SIGKILL');
  const work = crew.during(new Promise(() => {}));
  await assert.rejects(
    work,
    /^Error: worker 7 .*was ended by SIGKILL; it said last:\n {4}it begins/,
  );

  await using another = new Crew(NEVER);
  (await start(another, 'ends on message')).send('go');
  const more = another.during(new Promise(() => {}));
  await assert.rejects(more, /^Error: worker 7 .*ended as if it were done/);
});

test('a process that is never ready, or does not stop, is named and killed', async () => {
  await using crew = new Crew(NEVER, { readyMsMax: 500, stopMsMax: 200 });
  const alive = newFile();
  await assert.rejects(start(crew, 'never ready', alive), /worker 7 .*was not ready after 0.5 s/);

  await using another = new Crew(NEVER, { stopMsMax: 200 });
  await start(another, 'does not stop');
  const killed =
    /^Error: asked to stop, worker 7 .*did not stop within 0.2 s and was killed; it said/;
  await assert.rejects(another.stop(), killed);
  await crew[Symbol.asyncDispose]();
  assert.ok(!(await isAlive(alive)));
});

test('an error in a listener ends the work in flight; a message to a process that has left is no error', async () => {
  await using crew = new Crew(NEVER);
  const options = { alive: newFile() };
  const onMessage = (): void => {
    throw new Error('what does it mean?');
  };
  const member = await crew.start({ name: 'worker 7', program: CHILD, options, onMessage });
  const work = crew.during(new Promise(() => {}));
  member.send('hello');
  await assert.rejects(work, /^Error: worker 7 (.*\n)*.*what does it mean/);
  await member.ended;
  member.send('hello');
});

test('a program that is not there is named', async () => {
  await using crew = new Crew(NEVER);
  const program = new URL('there-is-none.ts', import.meta.url);
  const started = crew.start({ name: 'ghost', program, options: {} });
  await assert.rejects(started, /^Error: ghost .*exit code 1(.*\n)*.*there-is-none/);
});

test('an abort ends the waiting, and no process starts after it', async () => {
  const controller = new AbortController();
  await using crew = new Crew(controller.signal);
  await start(crew);
  const work = crew.during(new Promise(() => {}));
  controller.abort(new Error('interrupted'));
  await assert.rejects(work, /interrupted/);
  const before = crew.pids;
  await assert.rejects(start(crew), /interrupted/);
  assert.deepEqual(crew.pids, before);
});

/** Starts the experiment as a program; resolves when its two processes are running. */
async function startParent(options: { readonly detached?: boolean } = {}) {
  const child = execaNode(PARENT, ['--alive', newFile()], { reject: false, ...options });
  const pids = Promise.withResolvers<readonly number[]>();
  child.stdout.on('data', (text: Buffer) => pids.resolve(text.toString().split(' ').map(Number)));
  return { child, pids: await pids.promise };
}

for (const [how, signal, exitCode] of [
  ['ctrl-C', 'SIGINT', 130],
  ['a polite kill', 'SIGTERM', 143],
  ['kill -9', 'SIGKILL', undefined],
] as const) {
  test(`${how} of the parent alone leaves no process running`, async () => {
    const { child, pids } = await startParent();
    assert.equal(pids.length, 2);
    child.kill(signal);
    assert.equal((await child).exitCode, exitCode);
    for (const pid of pids) await until(() => !exists(pid));
  });
}

test('ctrl-C at a terminal, which reaches all processes, is no crash and leaves none running', async () => {
  const { child, pids } = await startParent({ detached: true });
  process.kill(-(child.pid ?? 0), 'SIGINT');
  const { exitCode, stderr } = await child;
  assert.equal(exitCode, 130);
  assert.match(stderr, /Interrupted/);
  assert.doesNotMatch(stderr, /first|second/, 'no process is blamed');
  for (const pid of pids) await until(() => !exists(pid));
});

test('a child that is killed ends the experiment, which names it and exits 1, and no process is left', async () => {
  const { child, pids } = await startParent();
  process.kill(pids[1] ?? 0, 'SIGKILL');
  const { exitCode, stderr } = await child;
  assert.equal(exitCode, 1);
  assert.match(stderr, /^Error: second \(process \d+\) was ended by SIGKILL; it said last:\n/);
  for (const pid of pids) await until(() => !exists(pid));
});
