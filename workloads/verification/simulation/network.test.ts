/**
 * The faults of the mutations that a process sends in one turn, where the storage keeps their
 * order.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RowMutation } from '../../../engine/bigtable/index.ts';
import type { GroupFault, Knobs } from './knobs.ts';
import { planOf } from './plan.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import { MESSAGE_LIFETIME_MS, World } from './world.ts';

function scene(
  fault: GroupFault,
  messages: Knobs['messages'] = {},
  { seed = 1, rate = 1 } = {},
): {
  world: World;
  store: SimulatedBigtable;
  isThere: (row: string) => boolean;
} {
  const { knobs } = planOf(1);
  const world = new World(seed, {
    ...knobs,
    messages,
    events: {},
    groups: { [fault]: rate },
    ordered: true,
    delayMsMax: 5,
  });
  world.tables.create('t', { families: ['data'] });
  const process = new SimulatedProcess(world.timeline, { name: 'A', id: 1 }, () => {});
  const store = new SimulatedBigtable(world, process);
  const isThere = (row: string): boolean =>
    world.table('t').readRow(row, [{ family: 'data' }]) !== undefined;
  return { world, store, isThere };
}

function set(row: string): readonly RowMutation[] {
  const value = new Uint8Array();
  const cell = { kind: 'set', family: 'data', qualifier: 'c', timestamp: 1, value } as const;
  return [{ table: 't', row, mutations: [cell] }];
}

async function codesOf(world: World, work: readonly Promise<void>[]): Promise<readonly unknown[]> {
  const settled = Promise.allSettled(work);
  await world.timeline.run(() => false);
  return (await settled).map((one) =>
    one.status === 'rejected' ? (one.reason as { code: unknown }).code : 'done',
  );
}

test('a group is refused or lost as a whole, and a later group is applied', async () => {
  const codes = { refuseGroup: 'STORE_UNAVAILABLE', loseGroup: 'STORE_IN_DOUBT' } as const;
  for (const fault of ['refuseGroup', 'loseGroup'] as const) {
    const { world, store, isThere } = scene(fault);
    const work = [store.mutateRows(set('a')), store.mutateRows(set('b'))];
    world.timeline.at(1, () => {
      world.troubled = false;
      work.push(store.mutateRows(set('c')));
    });
    await world.timeline.run(() => world.timeline.nowMs >= 1);
    assert.deepEqual(await codesOf(world, work), [codes[fault], codes[fault], 'done']);
    assert.deepEqual(['a', 'b', 'c'].map(isThere), [false, false, true]);
  }
});

test('a group whose answer is lost is applied as a whole', async () => {
  const { world, store, isThere } = scene('loseGroupAnswer');
  const work = [store.mutateRows(set('a')), store.mutateRows(set('b'))];
  assert.deepEqual(await codesOf(world, work), ['STORE_IN_DOUBT', 'STORE_IN_DOUBT']);
  assert.deepEqual(['a', 'b'].map(isThere), [true, true]);
});

test('mutations sent after a delayed group do not overtake it', async () => {
  const { world, store, isThere } = scene('delayGroup');
  const work = [store.mutateRows(set('a'))];
  world.timeline.at(1, () => {
    world.troubled = false;
    work.push(store.mutateRows(set('b')));
  });
  await world.timeline.run(() => isThere('b'));
  assert.ok(isThere('a'));
  assert.ok(world.timeline.nowMs >= 20); // The shortest delay of a group.
  assert.deepEqual(await codesOf(world, work), ['done', 'done']);
});

test('a copy of a mutation sent after a delayed group arrives within the lifetime of messages', async () => {
  let oldestMs = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const { world, store } = scene('delayGroup', { replay: 1 }, { seed, rate: 0.5 });
    const work = [store.mutateRows(set('a'))];
    world.timeline.at(1, () => {
      work.push(store.mutateRows(set('b')));
    });
    await codesOf(world, work);
    oldestMs = Math.max(oldestMs, world.lastArrivalMs - 1);
  }
  assert.ok(oldestMs > 0.9 * MESSAGE_LIFETIME_MS, `at most ${oldestMs} ms`);
  assert.ok(oldestMs <= MESSAGE_LIFETIME_MS, `${oldestMs} ms`);
});

test('of a group that was lost with the owner, no copy arrives', async () => {
  const { world, store, isThere } = scene('refuseGroup', { replay: 1 }, { rate: 0 });
  const checked = { table: 't', row: 'a', anyOf: [], ifNotFound: set('a')[0]?.mutations };
  const answers = [store.checkAndMutateRow(checked).then(() => {})];
  world.owner.die(1);
  assert.deepEqual(await codesOf(world, answers), ['STORE_IN_DOUBT']);
  assert.ok(
    world.timeline.nowMs >= world.lastArrivalMs && world.lastArrivalMs > 0,
    'it had a copy',
  );
  assert.equal(isThere('a'), false);
});

test('mutations of one turn are one group, even if the sender stops in the middle', async () => {
  for (const fault of ['pause', 'stall'] as const) {
    const { world, store, isThere } = scene('refuseGroup', { [fault]: 1 });
    const work = [store.mutateRows(set('a')), store.mutateRows(set('b'))];
    world.timeline.at(0, () => {
      world.troubled = false; // A mutation that leaves later is applied.
    });
    const codes = await codesOf(world, work);
    // A pause begins when the group is leaving; a stall holds up both mutations before that.
    const expected = fault === 'pause' ? 'STORE_UNAVAILABLE' : 'done';
    assert.deepEqual(codes, [expected, expected]);
    assert.deepEqual(['a', 'b'].map(isThere), Array(2).fill(fault === 'stall'));
  }
});
