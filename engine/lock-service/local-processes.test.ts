/**
 * Claims of liveness among local processes: only processes that certainly exited are reported dead.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { mock, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { localProcesses } from './local-processes.ts';
import { until } from '../testing/index.ts';

const withProc = { skip: existsSync('/proc/self/stat') ? false : 'needs /proc' };
const withThreads = { skip: existsSync('/proc/thread-self') ? false : 'needs /proc/thread-self' };
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const withBootId = { skip: existsSync(BOOT_ID) ? false : `needs ${BOOT_ID}` };

/** The token of an engine in the child process, as where there is no /proc: without its start. */
function tokenOf(child: ChildProcess, self: string): string {
  const [machine, , , nonce] = self.split('/');
  return [machine, child.pid, '', nonce].join('/');
}

function startSleeping(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
}

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error('this call is mocked'), { code });
  };
}

/** Runs `action` while the mock also replaces what modules import from Node by name. */
function during(mocked: { readonly mock: { restore(): void } }, action: () => void): void {
  syncBuiltinESMExports();
  try {
    action();
  } finally {
    mocked.mock.restore();
    syncBuiltinESMExports();
  }
}

test('this process is alive, under every nonce', () => {
  const liveness = localProcesses('1');
  assert.equal(liveness.isDead(liveness.self), false);
  assert.equal(liveness.isDead(localProcesses('2').self), false);
  assert.notEqual(liveness.self, localProcesses('2').self);
});

test('a running process is alive, and dead as soon as it has exited', async (t) => {
  const liveness = localProcesses('1');
  const child = startSleeping();
  t.after(() => child.kill('SIGKILL'));
  const token = tokenOf(child, liveness.self);
  assert.equal(liveness.isDead(token), false);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  assert.equal(liveness.isDead(token), true);
});

test('a process is dead, even if another process has its number now', withProc, () => {
  const liveness = localProcesses('1');
  const [machine, pid, start, nonce] = liveness.self.split('/');
  assert.equal(liveness.isDead([machine, pid, Number(start) - 1, nonce].join('/')), true);
});

test('processes of other machines are never reported dead', () => {
  const liveness = localProcesses('1');
  const [machine, , ...rest] = liveness.self.split('/');
  assert.equal(liveness.isDead([`not ${machine}`, 999_999_999, ...rest].join('/')), false);
});

test('processes of another container with our host name are never reported dead', withProc, () => {
  const liveness = localProcesses('1');
  const [machine = '', , ...rest] = liveness.self.split('/');
  const other = machine.replace(/:\d+$/, ':1');
  assert.equal(liveness.isDead([other, 999_999_999, ...rest].join('/')), false);
});

test('processes of another machine with our host name are never reported dead', withBootId, () => {
  const liveness = localProcesses('1');
  const [machine = '', , ...rest] = liveness.self.split('/');
  const boot = readFileSync(BOOT_ID, 'latin1').slice(0, 8);
  assert.ok(machine.includes(`:${boot}:`), machine);
  const other = machine.replace(boot, 'ffffffff');
  assert.equal(liveness.isDead([other, 999_999_999, ...rest].join('/')), false);
});

test('a process of another user, or of the system, is alive', () => {
  const liveness = localProcesses('1');
  const [machine, , , nonce] = liveness.self.split('/');
  const token = [machine, 1, '', nonce].join('/');
  assert.equal(liveness.isDead(token), false);
  // Root may signal every process, so only the mock refuses it.
  during(mock.method(process, 'kill', failing('EPERM')), () => {
    assert.equal(liveness.isDead(token), false);
  });
});

test('a process of another user whose start this user may not see is alive', withProc, () => {
  const liveness = localProcesses('1');
  const [machine, , start, nonce] = liveness.self.split('/');
  const token = [machine, process.pid, Number(start) - 1, nonce].join('/');
  assert.equal(liveness.isDead(token), true, 'while its start can be seen');
  during(mock.method(fs, 'readFileSync', failing('ENOENT')), () => {
    assert.equal(liveness.isDead(token), false);
  });
});

test(
  'a process that has ended counts as dead even if its parent has not reaped it',
  withProc,
  async (t) => {
    // Its number is still taken: checking only that it exists would wait for the time to live.
    const script = `const child = require('node:child_process').spawn('true');
    require('node:fs').writeSync(1, String(child.pid) + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);`;
    const parent = spawn(process.execPath, ['-e', script]);
    t.after(() => parent.kill('SIGKILL'));
    const [written] = (await once(parent.stdout, 'data')) as [Buffer];
    const liveness = localProcesses('1');
    const [machine, , , nonce] = liveness.self.split('/');
    const zombie = written.toString().trim();
    const start = readFileSync(`/proc/${zombie}/stat`, 'latin1').split(') ')[1]?.split(' ')[19];
    const token = [machine, zombie, start, nonce].join('/');
    await until(() => liveness.isDead(token));
  },
);

test('P81: what was closed in this thread is dead, and what is open is not', () => {
  const [closed, open] = [localProcesses('1'), localProcesses('2')];
  closed.leave();
  assert.equal(open.isDead(closed.self), true);
  assert.equal(open.isDead(open.self), false);
});

test('P81: a terminated thread is dead, although its process lives', withThreads, async () => {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData).then(({ localProcesses }) => {
      parentPort.postMessage(localProcesses('1').self);
      setInterval(() => {}, 60_000);
    });`;
  const workerData = new URL('local-processes.ts', import.meta.url).href;
  const thread = new Worker(code, { eval: true, workerData });
  const [token] = (await once(thread, 'message')) as [string];
  const liveness = localProcesses('2');
  assert.equal(liveness.isDead(token), false);
  const earlier = token.replace(/@(\d+)$/, (_, start) => `@${Number(start) - 1}`);
  assert.equal(liveness.isDead(earlier), true, 'another thread has its number now');
  // A process that can open no more files reads nothing, which proves nothing.
  during(mock.method(fs, 'readFileSync', failing('EMFILE')), () => {
    assert.equal(liveness.isDead(token), false);
  });
  await thread.terminate();
  assert.equal(liveness.isDead(token), true);
});
