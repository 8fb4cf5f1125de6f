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

test('a worker runs the observer of a change made by another process within tens of milliseconds', async () => {
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
  const latencies: number[] = [];
  for (let i = 0; i < 15; i++) {
    const row = `row ${i}`;
    child.send(row);
    await once(child, 'message');
    const committedMs = systemClock.monotonicMs();
    while (!seenAtMs.has(row)) await systemClock.sleep(1);
    latencies.push((seenAtMs.get(row) ?? 0) - committedMs);
  }
  const median = latencies.toSorted((a, b) => a - b)[7] ?? Infinity;
  assert.ok(median < 100, `the median took ${median} ms`);
  await worker.idle();
  assert.equal(worker.counters.runs, 15);
  child.disconnect();
  await exited;
});
