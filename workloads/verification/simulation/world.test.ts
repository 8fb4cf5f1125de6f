/** What becomes of everything that is in flight when the storage's owner dies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PercolatorError } from '../../../engine/base/index.ts';
import { planOf } from './plan.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import { World } from './world.ts';

const DATA = { family: 'data', qualifier: 'c' } as const;
const BACK_MS = 20;

/** Two processes without any other fault, whose messages take up to 10 ms each way. */
function scene(ordered: boolean): {
  readonly world: World;
  readonly stores: readonly SimulatedBigtable[];
  readonly processes: readonly SimulatedProcess[];
} {
  const { knobs } = planOf(1);
  const quiet = { messages: {}, events: {}, groups: {}, delayMsMax: 10, deadlineMs: 100, ordered };
  // The tests erase what was set, and look whether it is set again.
  const world = new World(1, { ...knobs, ...quiet, tombstones: false });
  world.tables.create('t', { families: ['data'] });
  const processes = [1, 2].map(
    (id) => new SimulatedProcess(world.timeline, { name: `process ${id}`, id }, () => {}),
  );
  return { world, stores: processes.map((one) => new SimulatedBigtable(world, one)), processes };
}

const set = (value: string) =>
  [{ kind: 'set', ...DATA, timestamp: 1, value: Buffer.from(value) }] as const;
const lock = (row: string) =>
  ({ table: 't', row, anyOf: [DATA], ifNotFound: set('locked') }) as const;

async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    return (error as PercolatorError).code;
  }
}

for (const ordered of [false, true]) {
  const kind = ordered ? 'in order' : 'in any order';
  test(`callers of conditional mutations are in doubt, and all other callers go on: ${kind}`, async () => {
    const { world, stores } = scene(ordered);
    const [one, other] = stores as [SimulatedBigtable, SimulatedBigtable];
    const rows = Array.from({ length: 20 }, (_, i) => `row ${i}`);
    const locked = rows.map((row) => outcome(one.checkAndMutateRow(lock(row))));
    const written = outcome(other.mutateRows([{ table: 't', row: 'w', mutations: set('w') }]));
    const dropped = outcome(other.dropTable('absent'));
    const read = outcome(other.readRow('t', 'absent', [DATA]));
    world.timeline.at(1, () => world.owner.die(BACK_MS));
    let answeredMs = 0;
    void written.then(() => (answeredMs = world.timeline.nowMs));
    await world.timeline.run(() => false);
    assert.deepEqual(new Set(await Promise.all(locked)), new Set(['STORE_IN_DOUBT']));
    const others = await Promise.all([written, dropped, read]);
    assert.deepEqual(others, [undefined, undefined, undefined]);
    assert.ok(answeredMs >= 1 + BACK_MS);
    const applied = rows.filter((row) => world.table('t').readRow(row, [DATA]) !== undefined);
    assert.ok(applied.length < rows.length, 'some had not arrived');
  });
}

test('what was applied and not answered is applied again, or in doubt', async () => {
  const { world, stores } = scene(false);
  const [one] = stores as [SimulatedBigtable];
  const locked = outcome(one.checkAndMutateRow(lock('a')));
  const written = outcome(one.mutateRows([{ table: 't', row: 'b', mutations: set('b') }]));
  await world.timeline.run(() => world.table('t').readRow('b', [DATA]) !== undefined);
  const erase = { kind: 'erase', ...DATA, from: 0, to: 9 } as const;
  world.table('t').mutateRow('b', [erase]);
  world.owner.die(BACK_MS);
  await world.timeline.run(() => false);
  assert.equal(await written, undefined);
  assert.notEqual(world.table('t').readRow('b', [DATA]), undefined);
  // False if the answer came before the owner died.
  assert.ok(['STORE_IN_DOUBT', false].includes((await locked) as string | boolean));
});

test('what is sent again is lost when the next owner dies, and sent again to the one after', async () => {
  const { world, stores } = scene(false);
  const [one] = stores as [SimulatedBigtable];
  const isThere = (): boolean => world.table('t').readRow('w', [DATA]) !== undefined;
  const written = outcome(one.mutateRows([{ table: 't', row: 'w', mutations: set('w') }]));
  world.timeline.at(1, () => world.owner.die(BACK_MS));
  world.timeline.at(10, () => world.owner.die(2 * BACK_MS));
  await world.timeline.run(isThere);
  assert.equal(world.timeline.nowMs, 10 + 2 * BACK_MS);
  await world.timeline.run(() => false);
  assert.equal(await written, undefined);
});

test('a process that is stopped past its deadline sends nothing again', async () => {
  const { world, stores, processes } = scene(false);
  const [one] = stores as [SimulatedBigtable];
  const written = outcome(one.mutateRows([{ table: 't', row: 'late', mutations: set('x') }]));
  await world.timeline.run(() => world.table('t').readRow('late', [DATA]) !== undefined);
  world.table('t').mutateRow('late', [{ kind: 'erase', ...DATA, from: 0, to: 9 }]);
  processes[0]?.pause(500);
  world.owner.die(BACK_MS);
  await world.timeline.run(() => false);
  assert.equal(await written, 'STORE_IN_DOUBT');
  assert.equal(world.table('t').readRow('late', [DATA]), undefined);
});
