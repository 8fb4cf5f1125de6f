/**
 * The rules of protocol.md about what is deleted, and when: P4, P9, P11, P17, P30, P32, P34 and
 * P66. Each test fails without its rule.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError, type TransactionName } from '../base/index.ts';
import {
  cell,
  type TestClient,
  type DatabaseOptions,
  type MutationCall,
  put,
} from '../testing/index.ts';
import { placeOf, isOf, kindOf, outcomeOf } from '../transaction/index.ts';
import { collectGarbage, type CollectionReport, Collector } from './collector.ts';
import {
  LEASE_MS,
  MESSAGE_LIFETIME_MS,
  openScene,
  type CollectionScene,
} from '../testing/collection-scene.ts';

const isCommitPoint = ({ row, mutations }: MutationCall): boolean =>
  row === 'p' && mutations.some((one) => one.kind === 'set' && isOf('write', one));
const isSecondPhase = ({ row, mutations }: MutationCall): boolean =>
  row === 'x' && mutations.some((one) => one.kind === 'set' && isOf('write', one));
const isPrewrite = ({ mutations }: MutationCall): boolean =>
  mutations.some((one) => one.kind === 'set' && isOf('lock', one));

describe('what is garbage', () => {
  test('old versions go with their data; the newest stays, however old it is (P32)', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    for (const value of ['1', '2', '3']) await a.write({ x: value, y: 'once' });
    for (let cycle = 0; cycle < 3; cycle++) {
      await scene.renewals();
      await scene.collect();
      assert.deepEqual(await scene.database.stored('x'), { write: '6: 5 put', data: '5: 3' });
      await scene.database.clock.advance(3_600_000);
    }
    assert.deepEqual(await a.read(['x', 'y']), { x: '3', y: 'once' });
  });

  test('a deleted cell goes altogether', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    await a.write({ x: '1' });
    await a.write({ x: undefined });
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), {});
  });

  test('data that a touch points back to stays, although its own record goes', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    await a.write({ x: '1' });
    for (let i = 0; i < 2; i++) {
      const transaction = await a.begin();
      await transaction.lock(cell('x'));
      await transaction.commit();
    }
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), { write: '6: 5 touch 1 2', data: '1: 1' });
    assert.deepEqual(await a.read(['x']), { x: '1' });
  });

  test('P34: a collector erases no lock of a transaction that is alive', async () => {
    const scene = await openScene();
    const a = scene.client('A', { lockTimeToLiveMs: 1e9 });
    await a.write({ x: '1' });
    let report: CollectionReport | undefined;
    a.beforeMutation(3, async () => {
      await scene.lapse(a);
      report = await scene.collect(); // Meets A's locks, which are below the horizon, and alive.
      assert.deepEqual(await scene.database.locks(), ['x:c', 'z:c']);
    });
    await a.write({ x: '2', z: '2' });
    assert.equal(report?.completed, false);
    const erased = scene.collector.store.trace.flatMap((call) =>
      call.kind === 'mutation' ? call.mutations : [],
    );
    assert.ok(erased.every((one) => !isOf('lock', one)));
  });
});

describe('P9: a second phase brings nothing back', () => {
  /**
   * Between the commit point and the second phase of A's transaction, other processes finish the
   * transaction, delete its cells, and collect.
   */
  async function collectInBetween(
    scene: CollectionScene,
    a: TestClient,
    names: readonly string[],
  ): Promise<void> {
    const b = scene.client('B');
    await scene.lapse(a);
    await b.read(names);
    await b.write(Object.fromEntries(names.map((name) => [name, undefined])));
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), {});
  }

  test('of a process whose lease has lapsed meanwhile', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    a.store.afterCall = async (call) => {
      if (call.kind === 'read' || !isCommitPoint(call)) return;
      a.store.afterCall = undefined;
      await collectInBetween(scene, a, ['p', 'x']);
    };
    await a.write({ p: '1', x: '1' });
    assert.deepEqual(await scene.database.stored('x'), {});
  });

  test('nor of one cell, if the other cell of its row is still locked', async () => {
    // A condition on the whole row, "any of its locks", would bring the first cell back.
    const scene = await openScene();
    const a = scene.client('A');
    a.store.afterCall = async (call) => {
      if (call.kind === 'read' || !isCommitPoint(call)) return;
      a.store.afterCall = undefined;
      a.leaseStore.loseRequest(() => true);
      await scene.database.clock.advance(LEASE_MS);
      const b = scene.client('B');
      await b.write({ 'u/other': '1' });
      await b.read(['x']); // Rolled forward; the second cell of the row is not.
      await scene.database.store.mutateRows([
        {
          table: 't',
          row: 'x',
          mutations: [
            { kind: 'erase', ...placeOf('write', 'c'), from: 0, to: Number.MAX_SAFE_INTEGER },
            { kind: 'erase', ...placeOf('data', 'c'), from: 0, to: Number.MAX_SAFE_INTEGER },
          ],
        },
      ]);
    };
    await a.write({ p: '1', x: '1', 'x:second': '1' });
    assert.deepEqual(await scene.database.stored('x'), {});
    assert.deepEqual(await scene.client('C').read(['x:second']), { 'x:second': '1' });
  });

  test('nor one that the process had decided to send before it stopped for longer than every lease', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    const late = Promise.withResolvers<void>();
    const sending = Promise.withResolvers<void>();
    a.store.beforeCall = async (call) => {
      if (call.kind === 'read' || !isSecondPhase(call)) return;
      sending.resolve();
      await late.promise; // The process stops when it has decided what to send.
    };
    const transaction = await a.begin();
    put(transaction, { p: '1', x: '1' });
    await transaction.commit();
    await sending.promise;
    await b.read(['x']); // Rolls it forward.
    await b.write({ x: undefined });
    await scene.lapse(a);
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), {}, 'deleted and collected');
    late.resolve();
    await a.settled();
    assert.deepEqual(await scene.database.stored('x'), {});
    assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: undefined });
  });

  test('nor does a copy of it that is in flight when the horizon moves', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    a.store.duplicate(isSecondPhase);
    await a.write({ p: '1', x: '1' });
    await b.write({ p: undefined, x: undefined });
    await scene.renewals();
    const collector = await scene.beginCycle();
    const rest = scene.endCycle(collector);
    await scene.database.clock.advance(MESSAGE_LIFETIME_MS - 1);
    await a.store.deliverDuplicates(); // At the last moment.
    await rest;
    assert.deepEqual(await scene.database.stored('x'), {});
  });
});

/** A transaction of `a` was rolled back; a copy of its prewrite is in flight. */
async function rolledBack(
  options: DatabaseOptions = {},
): Promise<{ readonly scene: CollectionScene; readonly a: TestClient }> {
  const scene = await openScene(options);
  const [a, b] = [scene.client('A'), scene.client('B')];
  a.store.duplicate(isPrewrite);
  const loser = await a.begin();
  await b.write({ x: '1' });
  put(loser, { p: '2', x: '2' });
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
  await b.write({ x: undefined });
  await scene.renewals();
  return { scene, a };
}

describe('P4: a rollback record outlives the copies of the prewrite that it stops', () => {
  test('for as long as a message may be in flight', async () => {
    const { scene, a } = await rolledBack();
    const collector = await scene.beginCycle();
    const rest = scene.endCycle(collector);
    await scene.database.clock.advance(MESSAGE_LIFETIME_MS - 1);
    await a.store.deliverDuplicates();
    assert.deepEqual(await scene.database.locks(), []);
    await rest;
    assert.deepEqual(await scene.database.stored('p'), {}, 'and not longer');
  });

  test('and a collector that is started again waits again', async () => {
    const { scene, a } = await rolledBack();
    await scene.beginCycle();
    await scene.database.clock.advance(MESSAGE_LIFETIME_MS / 2); // It dies.
    const rest = scene.endCycle(await scene.beginCycle());
    await scene.database.clock.advance(MESSAGE_LIFETIME_MS - 1);
    await a.store.deliverDuplicates();
    assert.deepEqual(await scene.database.locks(), []);
    await rest;
    assert.deepEqual(await scene.database.stored('p'), {});
  });
});

describe('P66: a collector waits as long as the storage may apply a call late', () => {
  test('a copy of a prewrite that a paused server applies after the default lifetime locks nothing', async () => {
    const messageLifetimeMs = 2.5 * MESSAGE_LIFETIME_MS;
    const { scene, a } = await rolledBack({ messageLifetimeMs });
    const collector = await scene.beginCycle();
    const rest = scene.endCycle(collector);
    await scene.database.clock.advance(messageLifetimeMs - 1);
    await a.store.deliverDuplicates();
    assert.deepEqual(await scene.database.locks(), []);
    await rest;
    assert.deepEqual(await scene.database.stored('p'), {}, 'and it waits no longer');
  });

  test('a collector that is told to wait for less is refused in one sentence', async () => {
    const scene = await openScene({ messageLifetimeMs: 90_000 });
    const refused = {
      code: 'INVALID_ARGUMENT',
      message:
        'messageLifetimeMs must be at least 90000, not 89999: the store memory may apply a call that late',
    };
    const told = { messageLifetimeMs: 89_999 };
    await assert.rejects(collectGarbage(scene.services, told), refused);
    assert.throws(() => new Collector(scene.services, told), refused);
    await assert.doesNotReject(scene.collect({ messageLifetimeMs: 90_000 }));
  });
});

describe('P30: locks are resolved before the evidence goes', () => {
  test('a secondary of a dead committer is rolled forward, although its primary has been overwritten since', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    a.store.loseRequest(isSecondPhase);
    await a.write({ p: '1', x: '1' });
    a.store.crash();
    a.leaseStore.crash();
    scene.database.bury('A');
    await b.write({ p: '2' });
    await scene.lapse(a);
    await scene.renewals();
    const report = await scene.collect();
    assert.equal(report.locksResolved, 1);
    assert.deepEqual(await scene.database.stored('p'), { write: '4: 3 put', data: '3: 2' });
    assert.deepEqual(await b.read(['p', 'x']), { p: '2', x: '1' });
  });

  /** A process dies before it has rolled forward `u/x`, and another one deletes the primary `p`. */
  async function dieBeforeSecondPhase(scene: CollectionScene): Promise<void> {
    const [a, b] = [scene.client('A'), scene.client('B')];
    a.store.loseRequest(
      ({ table, mutations }) =>
        table === 'u' && mutations.some((one) => one.kind === 'set' && isOf('write', one)),
    );
    await a.write({ p: '1', 'u/x': '1' });
    a.store.crash();
    a.leaseStore.crash();
    scene.database.bury('A');
    await b.write({ p: undefined });
    await scene.lapse(a);
    await scene.renewals();
  }

  test('in all tables before the first row of any is collected', async () => {
    const scene = await openScene();
    await dieBeforeSecondPhase(scene);
    await scene.collect();
    assert.deepEqual(await scene.database.stored('p'), {});
    assert.deepEqual(await scene.client('B').read(['u/x']), { 'u/x': '1' });
  });

  test('also in a table that the storage once reports missing by mistake', async () => {
    const scene = await openScene();
    await dieBeforeSecondPhase(scene);
    let reads = 0;
    scene.collector.store.beforeCall = (call) => {
      if (call.kind !== 'read' || call.operation !== 'readRange' || call.table !== 'u') return;
      if (reads++ === 0) throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
    };
    await assert.rejects(scene.collect(), { code: 'TABLE_NOT_FOUND' });
    assert.equal((await scene.collect()).completed, true);
    assert.deepEqual(await scene.client('B').read(['u/x']), { 'u/x': '1' });
  });

  test('while one of them is alive nothing is deleted, and the report names its owner', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    for (const value of ['1', '2']) await b.write({ y: value });
    let report: CollectionReport | undefined;
    const transaction = await a.begin();
    put(transaction, { p: '1', x: '1' });
    const { oracle } = scene.database;
    oracle.beforeNext = async () => {
      oracle.beforeNext = undefined; // All locks are held.
      await b.write({ z: '1' });
      await scene.lapse(a); // But its heartbeat goes on.
      await scene.renewals();
      const before = await scene.database.stored('y');
      report = await scene.collect();
      assert.deepEqual(await scene.database.stored('y'), before);
    };
    await assert.rejects(transaction.commit(), { code: 'STALE_SNAPSHOT' });
    assert.equal(report?.completed, false);
    assert.equal(report?.heldBackBy?.process, 'A');
    assert.deepEqual(report?.heldBackBy?.lock, cell('p'));
    assert.equal((await scene.collect()).completed, true);
    assert.deepEqual(await scene.database.stored('y'), { write: '4: 3 put', data: '3: 2' });
  });

  test('P11: a commit whose evidence was collected is unknown, not rolled back', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    a.store.afterCall = async (call) => {
      if (call.kind === 'read' || !isCommitPoint(call)) return;
      a.store.afterCall = undefined;
      await scene.lapse(a);
      await b.write({ p: '2' });
      await scene.renewals();
      await scene.collect();
      throw new PercolatorError('STORE_IN_DOUBT', 'the answer was lost');
    };
    void scene.database.clock.sleep(3_600_000); // Time passes also while nothing else sleeps.
    const error = await scene.database.clock.runUntil(
      a.write({ p: '1' }).catch((reason: unknown) => reason),
    );
    assert.ok(error instanceof PercolatorError);
    assert.equal(error.code, 'COMMIT_UNKNOWN');
    const name = error.transaction as TransactionName;
    await assert.rejects(outcomeOf(a.context, name), { code: 'STALE_SNAPSHOT' });
    assert.deepEqual(await scene.database.stored('p'), { write: '4: 3 put', data: '3: 2' });
  });

  test('a rollback record put where nothing was found proves nothing below the horizon; other rollback records do', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    const transaction = await a.begin();
    const name = { primary: cell('p'), startTimestamp: transaction.startTimestamp };
    assert.equal(await outcomeOf(a.context, name), 'rolled back', 'and left a rollback record');
    assert.deepEqual(await scene.database.stored('p'), { rollback: '1: forbidden' });
    await scene.database.oracle.raiseHorizon(2);
    await assert.rejects(outcomeOf(a.context, name), { code: 'STALE_SNAPSHOT' });
    const rollback = { ...placeOf('rollback', 'c'), timestamp: 1, value: new Uint8Array() };
    const mutations = [{ kind: 'set', ...rollback }] as const;
    await scene.database.store.mutateRows([{ table: 't', row: 'p', mutations }]);
    assert.equal(await outcomeOf(a.context, name), 'rolled back');
  });

  test('a lock below the horizon whose primary shows nothing is rolled back, without a rollback record there', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    const zombie = await a.begin();
    put(zombie, { p: '1', x: '1' });
    await scene.database.oracle.raiseHorizon(5);
    scene.database.oracle.skipTo(10);
    const seen: unknown[] = [];
    a.beforeMutation(3, async () => {
      // A has not begun to roll back; another process removes the primary's lock and meets the
      // other one.
      const own = { kind: 'erase', from: 1, to: 1 } as const;
      const erase = [
        { ...own, ...placeOf('lock', 'c') },
        { ...own, ...placeOf('data', 'c') },
      ];
      await scene.database.store.mutateRows([{ table: 't', row: 'p', mutations: erase }]);
      scene.database.bury('A');
      seen.push(await b.read(['x']), await scene.database.stored('p'));
    });
    await assert.rejects(zombie.commit(), { code: 'STALE_SNAPSHOT' });
    assert.deepEqual(seen, [{ x: undefined }, {}]);
  });
});

describe('P17: a tombstone goes last', () => {
  test('in the row mutation that erases what is older', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    await a.write({ x: '1' });
    await a.write({ x: '2' });
    await a.write({ x: undefined });
    await scene.renewals();
    await scene.collect();
    const order = scene.collector.store.trace.flatMap((call) =>
      call.kind === 'mutation' && call.row === 'x'
        ? call.mutations.map((one) => `${kindOf(one)}@${one.kind === 'erase' ? one.from : ''}`)
        : [],
    );
    assert.deepEqual(order.slice(-3), ['write@4', 'write@2', 'write@6']);
    assert.deepEqual(order.toSorted(), ['data@1', 'data@3', 'write@2', 'write@4', 'write@6']);
  });
});
