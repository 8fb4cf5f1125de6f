/** P68: what a cycle may pass over because an earlier one has collected it, and what it may not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openScene, type CollectionScene } from '../testing/collection-scene.ts';
import { createMemoryBigtable, type MutationCall, put } from '../testing/index.ts';
import { plant } from '../testing/planting.ts';
import { isOf } from '../transaction/index.ts';
import { GarbageCollector } from './cycle.ts';
import { settingsOf } from './options.ts';

const { manifest } = createMemoryBigtable();
const ROWS = ['a', 'b', 'c', 'd', 'e'];
const isRecordOf =
  (wanted: string) =>
  ({ row, mutations }: MutationCall): boolean =>
    row === wanted && mutations.some((one) => one.kind === 'set' && isOf('write', one));

/** Five rows of two versions each, collected by one whole cycle. */
async function openCollected(): Promise<{
  readonly scene: CollectionScene;
  readonly collector: GarbageCollector;
}> {
  const scene = await openScene();
  for (const value of ['1', '2']) {
    await scene.client('A').write(Object.fromEntries(ROWS.map((row) => [row, value])));
  }
  const collector = scene.newCollector({ rowsPerStep: 2 });
  await runCycle(scene, collector);
  return { scene, collector };
}

/** Resolves to the number of rows that the cycle has visited. */
async function runCycle(scene: CollectionScene, collector: GarbageCollector): Promise<number> {
  const before = collector.counters.rowsVisited;
  await scene.renewals();
  await scene.endCycle(collector);
  return collector.counters.rowsVisited - before;
}

test('a cycle visits the rows that have changed since the last one, and leaves what a look at every row leaves', async () => {
  const { scene, collector } = await openCollected();
  const a = scene.client('A');
  for (const value of ['3', '4']) await a.write({ a: value, c: value, e: value });
  await a.write({ b: undefined });
  assert.equal(await runCycle(scene, collector), 4);
  assert.deepEqual(await scene.database.stored('b'), {});
  const cells = await Promise.all(ROWS.map((row) => scene.database.stored(row)));
  await scene.collect(); // Looks at every row.
  assert.deepEqual(await Promise.all(ROWS.map((row) => scene.database.stored(row))), cells);
  assert.deepEqual(await a.read(ROWS), { a: '4', b: undefined, c: '4', d: '2', e: '4' });
});

test('a cycle visits again what it could not collect, because a reader needed it', async () => {
  const { scene, collector } = await openCollected();
  await scene.client('A').write({ a: '3' });
  const reader = scene.client('B');
  await using snapshot = await reader.begin(); // Sees what the next commit replaces.
  await scene.client('A').write({ a: '4' });
  assert.equal(await runCycle(scene, collector), 1);
  assert.equal((await snapshot.get({ table: 't', row: 'a', column: 'c' }))?.toString(), '3');
  snapshot.discard();
  await reader.context.leases.close();
  await scene.client('A').write({ d: '3' });
  assert.equal(await runCycle(scene, collector), 2);
  assert.match((await scene.database.stored('a'))['data'] ?? '', /^\d+: 4$/);
});

test('a lock at the last deletion horizon is resolved before the record that decides its fate goes', async () => {
  const { scene, collector } = await openCollected();
  const a = scene.client('A');
  const writer = await a.begin();
  await runCycle(scene, collector);
  assert.equal(collector.deletionHorizon, writer.startTimestamp);
  put(writer, { p: '1', x: '1' });
  a.store.loseRequest(isRecordOf('x'));
  await writer.commit(); // Its commit point is p; x stays locked.
  await a.context.leases.close();
  a.store.crash();
  scene.database.bury('A');
  const b = scene.client('B');
  await b.write({ p: '2' });
  await b.write({ p: '3' });
  assert.deepEqual(await scene.database.locks(), ['x:c']);
  await runCycle(scene, collector);
  assert.deepEqual(await scene.database.locks(), []);
  assert.deepEqual(await b.read(['p', 'x']), { p: '3', x: '1' });
});

test('a successor goes on from what the storage says', async () => {
  const { scene, collector } = await openCollected();
  await scene.client('A').write({ a: '3' });
  await scene.renewals();
  for (let i = 0; i < 3; i++) await scene.database.clock.runUntil(collector.step()); // And it dies.
  const successor = scene.newCollector();
  await scene.endCycle(successor);
  assert.equal(successor.counters.rowsVisited, 1);
});

test('every few cycles one looks at every row, and finds what came late', async () => {
  const { scene } = await openCollected();
  const settings = { ...settingsOf({}, manifest), shortCyclesMax: 2 };
  const collector = new GarbageCollector(scene.services, settings);
  await plant(scene.database, 'rollback a', 1); // Of a transaction that is long forgotten.
  const visited: number[] = [];
  for (let i = 0; i < 6; i++) {
    await scene.client('A').write({ e: `${i}` });
    visited.push(await runCycle(scene, collector));
    const isThere = 'rollback' in (await scene.database.stored('a'));
    assert.equal(isThere, i < 2, `after ${i + 1} cycles`);
  }
  assert.deepEqual(visited, [1, 1, 5, 1, 1, 5]);
});

test('a caller that asks for a cycle gets one that looks at every row, although a short one has begun', async () => {
  const { scene, collector } = await openCollected();
  await scene.client('A').write({ a: '3' });
  await scene.renewals();
  for (let i = 0; i < 4; i++) await scene.database.clock.runUntil(collector.step());
  assert.equal((await scene.collect()).rowsVisited, ROWS.length);
});

test('a storage that would read old rows anyway is looked at as a whole', async () => {
  const { scene } = await openCollected();
  const settings = settingsOf({}, { ...manifest, skipsOldRows: false });
  const collector = new GarbageCollector(scene.services, settings);
  await scene.client('A').write({ a: '3' });
  assert.equal(await runCycle(scene, collector), ROWS.length);
});
