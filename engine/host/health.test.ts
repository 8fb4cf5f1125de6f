/**
 * A process tells the truth about itself: ready if it does its work, and otherwise why not. The
 * programs here are real processes, asked over HTTP.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { freePorts, temporaryFolder, until, VirtualClock } from '../testing/index.ts';
import { Health, type Probe } from './health.ts';
import { MAIN, run, start } from './program.fixture.ts';

const OBSERVERS = `
const run = async (transaction, cell) => {
  if (cell.row === 'blocks') for (const until = performance.now() + 4000; performance.now() < until;);
  transaction.set({ ...cell, column: 'seen' }, 'yes');
};
export default [{ name: 'sees', table: 'pages', column: 'content', run }];`;

describe('health', () => {
  test('is not ready before the process has started, nor when it is being stopped', async () => {
    const health = new Health(new VirtualClock());
    assert.equal(await health.whyNotReady(), 'it is starting');
    health.started([]);
    assert.equal(await health.whyNotReady(), undefined);
    health.stops('it is being stopped');
    assert.equal(await health.whyNotReady(), 'it is being stopped');
    assert.equal(health.whyNotLive(), undefined);
    health.close();
  });

  test('names what has not answered in time, and what has refused', async () => {
    const clock = new VirtualClock();
    const health = new Health(clock);
    health.started([{ of: 'the oracle', ask: () => new Promise(() => {}) }]);
    const answer = health.whyNotReady();
    await clock.advance(5_000);
    assert.equal(await answer, 'the oracle has not answered for 5 s');
    const down = new PercolatorError('STORE_UNAVAILABLE', 'row secret is away');
    health.started([{ of: 'the storage', ask: () => Promise.reject(down) }]);
    assert.equal(await health.whyNotReady(), 'the storage does not answer (STORE_UNAVAILABLE)');
    health.close();
  });

  test('does not ask a probe again that has not answered, for a minute', async () => {
    const clock = new VirtualClock();
    const health = new Health(clock);
    let asked = 0;
    const ask = (): Promise<undefined> => {
      asked++;
      return new Promise(() => {});
    };
    health.started([{ of: 'the storage', ask }]);
    const answers: (string | undefined)[] = [];
    for (let i = 0; i < 6; i++) {
      void health.whyNotReady().then((answer) => answers.push(answer));
      await clock.advance(8_000);
    }
    assert.equal(asked, 1);
    assert.deepEqual(answers.slice(0, 2), [
      'the storage has not answered for 5 s',
      'the storage has not answered for 8 s',
    ]);
    await clock.advance(20_000);
    void health.whyNotReady();
    assert.equal(asked, 2);
    health.close();
  });

  test('asks its probes once a second, however many ask it', async () => {
    const clock = new VirtualClock();
    const health = new Health(clock);
    let asked = 0;
    const ask = async (): Promise<undefined> => {
      asked++;
    };
    const probe: Probe = { of: 'it', ask };
    health.started([probe]);
    await Promise.all(Array.from({ length: 50 }, () => health.whyNotReady()));
    assert.equal(asked, 1);
    await clock.advance(1_000);
    await health.whyNotReady();
    assert.equal(asked, 2);
    health.close();
  });
});

function folderWithObservers(): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'observers.mjs'), OBSERVERS);
  return folder;
}

const WORKER = ['worker', '--observers', 'observers.mjs'];

test('a worker whose table is missing is not ready, and says which; then it is', async (t) => {
  const folder = folderWithObservers();
  const worker = await start(t, folder, ...WORKER);
  await worker.says(/^503 table pages, which observers of this process need, does not exist\n$/);
  assert.equal((await worker.ask('/livez'))?.status, 200);
  assert.equal(await run(folder, 'tables', 'create', 'pages', '--observed', 'content'), 0);
  await worker.says(/^200 ready\n$/);
  assert.equal((await worker.ask('/elsewhere'))?.status, 404);
  const { text = '' } = (await worker.ask('/metrics')) ?? {};
  assert.match(text, /^percolator_observer_running 0$/m);
  assert.match(text, /^percolator_store_call_duration_count\{db_operation_name="readRow"/m);
  assert.equal(await worker.end('SIGTERM'), 0);
});

test('a worker whose oracle is gone is not ready, until one is there again', async (t) => {
  const folder = folderWithObservers();
  assert.equal(await run(folder, 'tables', 'create', 'pages', '--observed', 'content'), 0);
  const [port] = await freePorts(1);
  const oracles = ['--oracles', `127.0.0.1:${port}`];
  const oracle = await start(t, folder, 'oracle', ...oracles);
  await oracle.says(/^200/);
  const worker = await start(t, folder, ...WORKER, ...oracles);
  await worker.says(/^200/);
  await oracle.end('SIGKILL');
  await worker.says(/^503 the oracle (?:has not answered for \d+ s|does not answer \(\w+\))\n$/);
  const next = await start(t, folder, 'oracle', ...oracles);
  await worker.says(/^200/);
  const { text = '' } = (await next.ask('/metrics')) ?? {};
  assert.match(text, /^percolator_oracle_leading 1$/m);
  assert.match(text, /^percolator_lease_remaining\{percolator_lease="oracle"\} [\d.]+$/m);
});

test('a worker whose event loop stands still does not answer, and says so afterwards', async (t) => {
  const folder = folderWithObservers();
  assert.equal(await run(folder, 'tables', 'create', 'pages', '--observed', 'content'), 0);
  const worker = await start(t, folder, ...WORKER);
  await worker.says(/^200/);
  const { openPercolator } = await import('../percolator.ts');
  await using percolator = await openPercolator({ folder: path.join(folder, 'data') });
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 'pages', row: 'blocks', column: 'content' }, 'v');
  });
  await until(async () => (await worker.ask('/readyz', 500)) === undefined);
  await worker.says(/^503 the event loop has stood still for \d+\.\d s a moment ago\n$/);
  await worker.says(/^200/);
});

test('a standby is ready, and does not lead', async (t) => {
  const folder = temporaryFolder();
  const [a, b] = await freePorts(2);
  const oracles = ['--oracles', `127.0.0.1:${a},127.0.0.1:${b}`];
  const leader = await start(t, folder, 'oracle', ...oracles, '--listen', `127.0.0.1:${a}`);
  await leader.says(/^200/);
  const standby = await start(t, folder, 'oracle', ...oracles, '--listen', `127.0.0.1:${b}`);
  await standby.says(/^200/);
  const leading = /^percolator_oracle_leading ([01])$/m;
  const ofBoth = await Promise.all([leader, standby].map(({ ask }) => ask('/metrics')));
  assert.deepEqual(
    ofBoth.map((answer) => leading.exec(answer?.text ?? '')?.[1]),
    ['1', '0'],
  );
});

test('an address at which nothing can listen is refused in a sentence, with exit code 2', async (t) => {
  const folder = temporaryFolder();
  const [port] = await freePorts(1);
  const listen = ['--listen', `127.0.0.1:${port}`];
  const one = await start(t, folder, 'locks', ...listen);
  await one.says(/^200/);
  const taken = /http:\/\/(127\.0\.0\.1:\d+) /.exec(one.stderr())?.[1] ?? '';
  const all = [MAIN, 'locks', ...listen, '--metrics', taken];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString();
  });
  await once(child, 'exit');
  assert.equal(child.exitCode, 2);
  assert.equal(
    stderr,
    `percolator locks: metrics ${taken}: nothing can listen there (EADDRINUSE).\n`,
  );
});
