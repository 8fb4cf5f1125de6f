/** The claims about a drop that waits for the locks of transactions that seem to live (P55). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { cell } from '../testing/index.ts';
import { lockOf } from '../testing/planting.ts';
import { isCommitOf, TableScene } from '../testing/table-scene.ts';
import { placeOf } from '../transaction/index.ts';

const X = cell('t/x');
const U = cell('u/x');
/** As the planted locks say. */
const TIME_TO_LIVE_MS = 5_000;

describe('P55: a drop waits for locks', () => {
  test('a confirmed writer that lives is waited for, and its writes to other tables stay', async () => {
    for (const primary of [X, U]) {
      const scene = new TableScene();
      const [a, b] = await scene.processes('a', 'b');
      await scene.create(a, 't', 'u');
      await scene.set(a, 'old', X, U);
      const held = scene.hold(b, isCommitOf(primary.table));
      const writing = scene.write(b, 'new', primary, primary === X ? U : X);
      await scene.run(held.reached);
      const dropping = a.percolator.dropTable('t');
      await scene.untilState('t', 'dropping');
      await scene.clock.advance(1_000);
      assert.equal(await scene.state('t'), 'dropping');
      held.release();
      await scene.run(writing);
      await scene.run(dropping);
      assert.equal(await scene.get(a, U), 'new');
      await scene.run(b.percolator.settled());
      assert.deepEqual(await scene.findings(), []);
    }
  });

  test('a drop fails, and rolls back no confirmed writer, if the storage says by mistake that the table of its primary is missing', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    const held = scene.hold(b, isCommitOf('u'));
    const writing = scene.write(b, 'new', U, X);
    await scene.run(held.reached);
    a.store.beforeCall = (call) => {
      if (call.kind !== 'read' || call.operation !== 'readRow' || call.table !== 'u') return;
      a.store.beforeCall = undefined;
      throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
    };
    await assert.rejects(scene.drop(a, 't'), { code: 'TABLE_NOT_FOUND' });
    assert.equal(await scene.state('t'), 'dropping');
    held.release();
    await scene.run(writing);
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, U), 'new');
  });

  test('a writer that keeps its lock for too long fails the drop, which may be called again', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    const transaction = await scene.run(b.percolator.begin());
    transaction.set(X, 'new');
    transaction.set(U, 'new');
    const held = scene.holdNext(b, 'timestamp'); // The transaction’s lock beats meanwhile.
    const writing = transaction.commit();
    await scene.run(held.reached);
    await assert.rejects(scene.drop(a, 't'), { code: 'LOCKED', message: /drop the table again/ });
    held.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, U), undefined);
  });

  test('a process that died unnoticed with many locks is waited for once', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    for (const timestamp of [1, 2, 3, 4]) {
      const { table, row, column } = cell(`t/${timestamp}`);
      const value = Buffer.from(lockOf(`t/${row}`, 'died unnoticed'));
      const lock = { kind: 'set', ...placeOf('lock', column), timestamp, value } as const;
      await scene.store.mutateRows([{ table, row, mutations: [lock] }]);
    }
    const beganMs = scene.clock.monotonicMs();
    await scene.drop(a, 't');
    const tookMs = scene.clock.monotonicMs() - beganMs;
    assert.ok(tookMs >= TIME_TO_LIVE_MS && tookMs < 2 * TIME_TO_LIVE_MS, `${tookMs} ms`);
  });
});
