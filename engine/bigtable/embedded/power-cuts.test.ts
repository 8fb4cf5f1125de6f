/**
 * Single power cuts, in scenes that are scripted. Random ones, with a judge of what may be there
 * afterwards: workloads/verification/simulation/disk.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

const FAMILIES = ['f', 'g'];
/** Files, garbage and hints of some kilobytes. */
const SMALL = { ...SIZES, fileBytes: 6_000, garbageBytes: 8_000, hintBytes: 5_000, files: 12 };

function open(disk: SimulatedDisk): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly: false, sizes: SMALL });
}

/** The keys of the rows; undefined if there is no table. */
async function rowsOf(store: Bigtable): Promise<readonly string[] | undefined> {
  if (!(await store.listTables()).includes('t')) return undefined;
  const filters = FAMILIES.map((family) => ({ family }));
  return (await store.readRange('t', { limit: 100 }, filters)).map(({ key }) => key);
}

test('a dropped table stays dropped when the power is cut, and comes back empty when it is made again', async () => {
  const random = createRandom(1);
  const disk = new SimulatedDisk({ random });
  const store = await open(disk);
  const create = (): Promise<void> => store.createTable('t', { families: FAMILIES });
  await create();
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1 } as const;
  const mutations = [{ ...set, value: Buffer.from('1 ') }];
  await store.mutateRows([{ table: 't', row: 'a', mutations }]);
  const textOf = (rows: readonly string[] | undefined): string =>
    rows === undefined ? 'no table' : JSON.stringify(rows);
  const found = async (files: Map<string, Buffer>): Promise<string> =>
    textOf(await rowsOf(await open(new SimulatedDisk({ random }, files))));
  for (const [step, before, after] of [
    [() => store.dropTable('t'), '["a"]', 'no table'],
    [create, 'no table', '[]'],
  ] satisfies [() => Promise<void>, string, string][]) {
    const cuts: Map<string, Buffer>[] = [];
    disk.before = () => {
      cuts.push(disk.afterPowerCut(random));
      return undefined;
    };
    await step();
    for (const files of cuts) assert.ok([before, after].includes(await found(files)));
    for (let cut = 0; cut < 10; cut++) assert.equal(await found(disk.afterPowerCut(random)), after);
  }
});

test('a torn group does no harm, though the group before it was written again and a power cut brings back the torn file', async () => {
  const random = createRandom(1);
  // Each group begins a file, and no index is written.
  const sizes = { ...SIZES, fileBytes: 1, hintBytes: 1e9 };
  const openOn = (disk: SimulatedDisk): Promise<Bigtable> =>
    openOnDisk(disk, { fsync: true, readOnly: false, sizes });
  const disk = new SimulatedDisk({ random });
  const store = await openOn(disk);
  await store.createTable('t', { families: FAMILIES });
  const value = Buffer.alloc(1_500, '1 ');
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
  for (const row of ['a', 'b']) await store.mutateRows([{ table: 't', row, mutations: [set] }]);
  const files = disk.files();
  const newest = [...files.keys()].toSorted().at(-1) as string;
  files.set(newest, Buffer.from(files.get(newest) as Buffer).fill(0, 1_024));
  for (let opening = 1; opening <= 3; opening++) {
    const found = new SimulatedDisk({ random }, files);
    assert.deepEqual(await rowsOf(await openOn(found)), ['a'], `opening ${opening}`);
    // It was killed; what it has removed comes back in a power cut.
    for (const [name, bytes] of found.files()) files.set(name, bytes);
  }
});
