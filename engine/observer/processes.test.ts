/**
 * A worker learns of what other processes commit: it scans, and while changes come it rests only
 * for milliseconds.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../base/index.ts';
import { openPercolator } from '../percolator.ts';
import { temporaryFolder } from '../testing/index.ts';

const WRITE = fileURLToPath(new URL('write.fixture.ts', import.meta.url));

test('a worker runs the observer of a change made by another process within milliseconds, or within ten times of what the commit took', async () => {
  const folder = temporaryFolder();
  await using percolator = await openPercolator({ folder, fsync: false });
  await percolator.createTable('t', { observedColumns: ['seen'] });
  const child = fork(WRITE, [folder]);
  const exited = once(child, 'exit');
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(async () => {
    child.kill('SIGKILL'); // It still runs if the test has failed.
    await exited;
  });
  await once(child, 'message');

  const seenAtMs = new Map<string, number>();
  const observer = {
    name: 'observer',
    table: 't',
    column: 'seen',
    run: async (_: unknown, { row }: { readonly row: string }) => {
      seenAtMs.set(row, systemClock.monotonicMs());
    },
  };
  await using worker = percolator.startWorker([observer]);
  const commits: number[] = [];
  const latencies: number[] = [];
  for (let i = 0; i < 15; i++) {
    const row = `row ${i}`;
    const sentMs = systemClock.monotonicMs();
    child.send(row);
    await once(child, 'message');
    const committedMs = systemClock.monotonicMs();
    commits.push(committedMs - sentMs);
    while (!seenAtMs.has(row)) await systemClock.sleep(1);
    latencies.push((seenAtMs.get(row) ?? 0) - committedMs);
  }
  const median = (of: readonly number[]): number => of.toSorted((a, b) => a - b)[7] ?? Infinity;
  const [commitMs, runMs] = [median(commits), median(latencies)];
  assert.ok(runMs < 100 + 10 * commitMs, `${runMs} ms after commits that took ${commitMs} ms`);
  await worker.idle();
  assert.equal(worker.counters.runs, 15);
  child.disconnect();
  await exited;
});
