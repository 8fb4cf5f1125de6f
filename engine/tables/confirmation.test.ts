/** The claims about commits to tables that are dropped meanwhile (P54). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { type Call, cell } from '../testing/index.ts';
import { readsDefinitions, Scene } from '../testing/table-scene.ts';

const X = cell('t/x');
const U = cell('u/x');

describe('P54: a commit is confirmed with its tables when all its locks are held', () => {
  test('a table dropped before that fails it, and leaves nothing', async () => {
    const scene = new Scene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    for (const primary of [X, U]) {
      await scene.set(b, 'old', X, U);
      const held = scene.hold(b, readsDefinitions);
      const writing = scene.write(b, 'new', primary, primary === X ? U : X);
      await scene.run(held.reached);
      const dropping = a.percolator.dropTable('t');
      await scene.untilState('t', 'dropping');
      held.release();
      await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
      await scene.run(dropping);
      assert.equal(await scene.get(a, U), 'old');
      await scene.create(a, 't');
    }
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table dropped and created again before that makes the transaction run again', async () => {
    const scene = new Scene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', X, U);
    const held = scene.pauseAt(b, readsDefinitions);
    const writing = scene.write(b, 'new', X, U);
    await scene.run(held.reached);
    await scene.drop(a, 't'); // The dropper presumes the writer dead.
    await scene.create(a, 't');
    assert.equal(await scene.get(a, U), 'old');
    held.release();
    await scene.run(writing);
    assert.equal(await scene.get(a, X), 'new');
    assert.equal(await scene.get(a, U), 'new');
    await scene.run(b.percolator.settled());
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table that is only notified weakly is confirmed as well', async () => {
    const scene = new Scene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 'u');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    await scene.set(b, 'old', X, U);
    const held = scene.hold(b, readsDefinitions);
    const writing = b.percolator.transact(async (transaction) => {
      transaction.set(U, 'new');
      transaction.notifyWeakly(X);
    });
    await scene.run(held.reached);
    await scene.drop(a, 't');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    held.release();
    await scene.run(writing);
    assert.deepEqual(await scene.observe(a, 't'), ['x']);
  });

  test('a commit that gets no timestamp leaves the read in flight, and closing waits for it', async () => {
    const scene = new Scene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    await scene.set(a, 'old', X);
    const held = scene.hold(a, readsDefinitions);
    const transaction = await scene.run(a.percolator.begin());
    transaction.set(X, 'new');
    a.before.timestamp = () => {
      a.before.timestamp = undefined;
      throw new PercolatorError('STALE_SNAPSHOT', 'the horizon has passed the snapshot');
    };
    await assert.rejects(scene.run(transaction.commit()), { code: 'STALE_SNAPSHOT' });
    let isClosed = false;
    const closing = a.percolator.close().then(() => {
      isClosed = true;
    });
    await scene.clock.advance(1_000);
    assert.equal(isClosed, false, 'the read has no answer yet');
    held.release();
    await scene.run(closing);
  });

  test('commits at the same time share the read, and none is answered by a read that began before', async () => {
    const scene = new Scene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    await scene.set(a, 'old', X);
    const before = a.store.trace.filter(readsDefinitions).length;
    const rows = Array.from({ length: 16 }, (_, i) => cell(`t/${i}`));
    const held = scene.hold(a, readsDefinitions);
    const writing = Promise.all(rows.map((one) => scene.write(a, 'new', one)));
    await scene.run(held.reached);
    await scene.clock.advance(1); // All of them hold their locks, and wait.
    held.release();
    await scene.run(writing);
    assert.equal(a.store.trace.filter(readsDefinitions).length - before, 2);
    for (const one of rows) assertConfirmedAfterLocked(a.store.trace, one.row);
  });
});

/** Between the lock of the row and its commit, a read of the definitions was sent. */
function assertConfirmedAfterLocked(trace: readonly Call[], row: string): void {
  const isOf = (call: Call): boolean => call.kind === 'mutation' && call.row === row;
  const locked = trace.findIndex(isOf);
  const committed = trace.findIndex((call, i) => i > locked && isOf(call));
  assert.ok(trace.slice(locked, committed).some(readsDefinitions), row);
}
