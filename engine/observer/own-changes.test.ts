/** A worker is told of the changes of its own process, and does not scan for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/index.ts';
import { openTestDatabase, type TestClient, until } from '../testing/index.ts';
import { type Observer, Worker } from './index.ts';

/** A client on the real clock: its workers rest without a test that moves the time. */
async function openClient(): Promise<TestClient> {
  const database = await openTestDatabase({ observed: ['seen'] });
  return database.client('A', { clock: systemClock, backoffMsMax: 4 });
}

const observer: Observer = { name: 'observer', table: 't', column: 'seen', run: async () => {} };

test('changes of this process start runs at once, without a scan', async () => {
  const a = await openClient();
  await using worker = new Worker(a.context, [observer], { idleMs: 60_000 });
  await systemClock.sleep(5); // The first scan is over; the next one is a minute away.
  await a.write({ 'x:seen': '1' });
  await until(() => worker.counters.runs > 0);
  assert.equal(worker.counters.runs, 1);
});

test('a change of this process during a run starts another at once, although the answer of a scan is older', async () => {
  const a = await openClient();
  await a.write({ 'x:seen': 'first' });
  const [running, scanned] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [runEnds, scanEnds] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let scans = 0;
  a.store.afterCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRange' || ++scans !== 2) return;
    scanned.resolve();
    await scanEnds.promise;
  };
  let runs = 0;
  const run = async (): Promise<void> => {
    runs++;
    running.resolve();
    await runEnds.promise;
  };
  await using worker = new Worker(a.context, [{ ...observer, run }], { idleMs: 60_000 });
  await Promise.all([running.promise, scanned.promise]);
  await a.write({ 'x:seen': 'second' });
  scanEnds.resolve();
  await systemClock.sleep(5); // The worker hears the answer.
  runEnds.resolve();
  await until(() => worker.counters.runs > 1);
  assert.equal(runs, 2);
});

test('a scan leaves the notification of a commit in flight in its process to that commit, and takes it if the commit fails', async () => {
  const a = await openClient();
  await using worker = new Worker(a.context, [observer], { idleMs: 1 });
  const ranges = (): number =>
    a.store.trace.filter((call) => call.kind === 'read' && call.operation === 'readRange').length;
  const [notified, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  a.store.afterCall = async (call) => {
    if (call.kind !== 'mutation' || call.table !== 't.notify') return;
    a.store.afterCall = undefined;
    notified.resolve();
    await lost.promise; // The primary's commit comes after its notification has been answered.
  };
  const writing = a.write({ 'x:seen': '1' });
  await notified.promise;
  const before = ranges();
  await until(() => ranges() > before + 2); // Whole scans have seen the notification.
  const looks = a.store.trace.filter((call) => call.kind === 'read' && call.table === 't');
  assert.deepEqual(looks, [], 'a run would meet the lock of the commit');
  a.store.refuse(({ mutations }) =>
    mutations.some(({ qualifier }) => qualifier.endsWith(':write')),
  );
  lost.resolve();
  await assert.rejects(writing, { code: 'STORE_UNAVAILABLE' });
  await until(() => worker.counters.clean === 1); // It has found out that nothing was committed.
});
