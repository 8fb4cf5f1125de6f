/** The claims about commits to tables that are dropped meanwhile (P54). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cell } from '../testing/index.ts';
import {
  type HeldStep,
  isCommitOf,
  type SceneProcess,
  readsDefinitions,
  TableScene,
} from '../testing/table-scene.ts';
import type { CellAddress } from '../transaction/index.ts';

const X = cell('t/x');
const U = cell('u/x');

describe('P54: a commit confirms its tables when all its locks are held', () => {
  test('a drop announced before the confirmation fails the commit, and leaves nothing', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    for (const primary of [X, U]) {
      await scene.set(b, 'old', X, U);
      const { held, writing } = await locked(scene, b, [primary, primary === X ? U : X]);
      const dropping = a.percolator.dropTable('t');
      await scene.untilState('t', 'dropping');
      await scene.clock.advance(1); // The drop is announced, and waits for the locks.
      held.release();
      await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
      await scene.run(dropping);
      assert.equal(await scene.get(a, U), 'old');
      await scene.create(a, 't');
    }
    assert.deepEqual(await scene.findings(), []);
  });

  test('a drop announced after the confirmation waits for the commit', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', X, U);
    const held = scene.hold(b, isCommitOf('t'));
    const writing = scene.write(b, 'new', X, U);
    await scene.run(held.reached); // The commit has its timestamp, and its tables are confirmed.
    const dropping = a.percolator.dropTable('t');
    await scene.untilState('t', 'dropping');
    await scene.clock.advance(1_000);
    assert.equal(await scene.state('t'), 'dropping', 'it waits for the locks');
    held.release();
    await scene.run(writing);
    await scene.run(dropping);
    assert.equal(await scene.get(a, U), 'new');
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table dropped and created again before the confirmation makes the transaction run again', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', X, U);
    const { held, writing } = await locked(scene, b, [X, U]);
    const silent = scene.pauseAt(b, () => true);
    await scene.drop(a, 't'); // The dropper presumes the writer dead.
    await scene.create(a, 't');
    assert.equal(await scene.get(a, U), 'old');
    silent.release();
    held.release();
    await scene.run(writing);
    assert.equal(await scene.get(a, X), 'new');
    assert.equal(await scene.get(a, U), 'new');
    await scene.run(b.percolator.settled());
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table that is only notified weakly is confirmed as well', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 'u');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    await scene.set(b, 'old', X, U);
    const { held, writing } = await locked(scene, b, [U], [X]);
    const atTheLastStep = scene.holdNext(a, 'dropTable');
    const dropping = a.percolator.dropTable('t');
    await scene.run(atTheLastStep.reached); // The storage would still take the notification.
    held.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    atTheLastStep.release();
    await scene.run(dropping);
    assert.equal(await scene.get(a, U), 'old');
  });

  test('a weak notification for a table that was dropped and created again is set in the new one', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 'u');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    const { held, writing } = await locked(scene, b, [U], [X]);
    await scene.drop(a, 't');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    held.release();
    await scene.run(writing); // The transaction runs again.
    assert.deepEqual(await scene.observe(a, 't'), ['x']);
  });

  test('the process that continues a drop announces it: the one that began it may have died', async () => {
    const scene = new TableScene();
    const [a, b, c] = await scene.processes('a', 'b', 'c');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', X, U);
    a.store.afterCall = (call) => {
      if (call.kind === 'mutation' && call.table === 'percolator-tables') scene.kill(a);
    };
    a.percolator.dropTable('t').catch(() => {});
    await scene.untilState('t', 'dropping');
    const { held, writing } = await locked(scene, b, [U, X]);
    const dropping = c.percolator.dropTable('t');
    await scene.clock.advance(1);
    held.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    await scene.run(dropping);
    assert.equal(await scene.get(c, U), 'old');
  });
});

describe('P54: a definition counts as read when the read was sent, not when it was answered', () => {
  test('so a drop in between makes the commit read it again', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', U);
    const slow = Promise.withResolvers<void>();
    b.store.afterCall = async (call) => {
      if (readsDefinitions(call)) await slow.promise;
    };
    // The writer has read that t is there. It writes no table that it knew before: of such a table
    // it would read the definition again, and that of t with it.
    const writing = scene.write(b, 'new', X);
    await scene.clock.advance(1);
    const atTheLastStep = scene.holdNext(a, 'dropTable');
    const dropping = a.percolator.dropTable('t');
    await scene.run(atTheLastStep.reached); // No lock was left, and the tables are still there.
    assert.equal(await scene.get(b, U), 'old'); // With its timestamp, it hears of the drop.
    slow.resolve();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    atTheLastStep.release();
    await scene.run(dropping);
    assert.equal(await scene.get(b, U), 'old');
    assert.deepEqual(await scene.findings(), []);
  });
});

describe('what confirming costs', () => {
  test('nothing until a table is dropped; then reads that commits at the same time share', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, 'old', X);
    const writeMany = async (): Promise<number> => {
      const before = b.store.trace.filter(readsDefinitions).length;
      const rows = Array.from({ length: 16 }, (_, i) => cell(`t/${i}`));
      await scene.run(Promise.all(rows.map((one) => scene.write(b, 'new', one))));
      return b.store.trace.filter(readsDefinitions).length - before;
    };
    assert.equal(await writeMany(), 0);
    await scene.drop(a, 'u');
    assert.equal(
      await writeMany(),
      2,
      'one for the first commit, and one for all that came meanwhile',
    );
    assert.equal(await writeMany(), 0);
  });
});

/** A transaction that holds all its locks and waits before it asks for its commit timestamp. */
async function locked(
  scene: TableScene,
  process: SceneProcess,
  cells: readonly CellAddress[],
  weak: readonly CellAddress[] = [],
): Promise<{ readonly held: HeldStep; readonly writing: Promise<void> }> {
  let held: HeldStep | undefined;
  const writing = process.percolator.transact(async (transaction) => {
    for (const one of cells) transaction.set(one, 'new');
    for (const one of weak) transaction.notifyWeakly(one);
    held ??= scene.holdNext(process, 'timestamp');
  });
  writing.catch(() => {}); // The test awaits it later.
  await scene.clock.advance(1);
  assert.ok(held !== undefined);
  await scene.run(held.reached);
  return { held, writing };
}
