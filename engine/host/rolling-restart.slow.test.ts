/**
 * Every process of a database is told to end and started again, one after the other, while clients
 * write: nothing is lost, and no transaction is delayed for longer than a lease lasts.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../base/index.ts';
import { freePorts, temporaryFolder, until } from '../testing/index.ts';
import { connectPercolator } from './connect.ts';
import { type Program, run, start } from './program.fixture.ts';

const OBSERVERS = `
const run = async (transaction, cell) => transaction.set({ ...cell, column: 'seen' }, 'yes');
export default [{ name: 'sees', table: 'pages', column: 'content', run }];`;
/** Ten times what the longest delay of a quiet machine may be: the lease of an oracle. */
const DELAY_MS_MAX = 20_000;

test('a rolling restart of every process loses nothing and delays nothing for long', async (t) => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'observers.mjs'), OBSERVERS);
  const ports = await freePorts(3);
  const [a = '', b = '', locks = ''] = ports.map((port) => `127.0.0.1:${port}`);
  const services = ['--oracles', `${a},${b}`, '--lock-services', locks];
  const store = path.join(folder, 'data');
  assert.equal(await run(folder, 'tables', 'create', 'pages', '--observed', 'content'), 0);
  const words = [
    ['oracle', '--listen', a],
    ['oracle', '--listen', b],
    ['locks', '--listen', locks],
    ['worker', '--observers', 'observers.mjs'],
    ['collector'],
  ];
  const programs: Program[] = [];
  for (const [i, all] of words.entries()) {
    programs[i] = await start(t, folder, ...all, ...services);
    await programs[i].says(/^200/);
  }

  const config = { store, oracles: [a, b], lockServices: [locks] };
  const percolator = await connectPercolator({ config, onWarning: () => {} });
  const isOver = new AbortController();
  let written = 0;
  let longestMs = 0;
  const load = (async () => {
    while (!isOver.signal.aborted) {
      const beganMs = systemClock.monotonicMs();
      const row = `row ${written}`;
      await percolator.transact(async (transaction) => {
        transaction.set({ table: 'pages', row, column: 'content' }, 'v');
      });
      written++;
      longestMs = Math.max(longestMs, systemClock.monotonicMs() - beganMs);
      await systemClock.sleep(5);
    }
  })();
  for (const [i, all] of words.entries()) {
    assert.equal(await programs[i]?.end('SIGTERM'), 0, programs[i]?.stderr());
    const next = await start(t, folder, ...all, ...services);
    await next.says(/^200/);
  }
  isOver.abort();
  await load;
  await until(async () => {
    await using snapshot = await percolator.snapshot();
    const rows = Array.from({ length: written }, (_, i) => `row ${i}`);
    const cells = rows.map((row) => ({ table: 'pages', row, column: 'seen' }));
    return (await snapshot.getMany(cells)).every((value) => value !== undefined);
  });
  await percolator.close();
  t.diagnostic(`${written} transactions, the longest took ${longestMs.toFixed(0)} ms`);
  assert.ok(written > 50, `${written} transactions`);
  assert.ok(longestMs < DELAY_MS_MAX, `${longestMs} ms`);
});
