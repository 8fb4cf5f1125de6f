/**
 * The remote store on the official emulator is a Bigtable: the same suite as for the embedded one.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { createMemoryBigtable } from '../../testing/index.ts';
import type { Bigtable, ConditionalRowMutation, RowMutation } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { findEmulator } from './emulator.ts';
import { type Emulator, openRemote, type RemoteOptions, startEmulator } from './index.ts';

const isThere = (await findEmulator(process.env)) !== undefined;
if (isThere) claimAll(await startEmulator({ environment: process.env }));
else test('the remote store on the official emulator', { skip: 'no emulator found' }, () => {});

function claimAll(emulator: Emulator): void {
  after(() => emulator.stop());
  const open = (more: Partial<RemoteOptions> = {}): Promise<Bigtable> =>
    openRemote({ project: 'p', instance: 'i', plainAddress: emulator.address, ...more });
  conformanceSuite('emulator', open);
  describe('the remote store', () => claimRemote(open));
}

function claimRemote(open: (more?: Partial<RemoteOptions>) => Promise<Bigtable>): void {
  const set = (row: string): RowMutation => ({
    table: 'remote',
    row,
    mutations: [
      { kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value: Buffer.alloc(1000) },
    ],
  });
  const filters = [{ family: 'data' }];

  test('reads more rows than fit in one call', async () => {
    await using store = await open();
    await store.createTable('remote', { families: ['data'] });
    const rows = Array.from({ length: 4500 }, (_, i) => `r${String(i).padStart(5, '0')}`);
    await store.mutateRows(rows.map(set));
    const read = await store.readRows('remote', [...rows.toReversed(), 'absent'], filters);
    assert.deepEqual(
      read.map((row) => row?.key),
      [...rows.toReversed(), undefined],
    );
    for (const limit of [Infinity, 4500, 4499, 2000, 2001]) {
      const page = await store.readRange('remote', { limit }, filters);
      assert.equal(page.length, Math.min(limit, 4500));
    }
    const before = await store.readRange(
      'remote',
      { end: `${rows[2000]}\0`, limit: 9999 },
      filters,
    );
    assert.equal(before.length, 2001);
    for (const limit of [Infinity, 4500, 4499, 2001, 1]) {
      const page = await store.readRange('remote', { limit, reverse: true }, filters);
      assert.deepEqual(
        page.map(({ key }) => key),
        rows.toReversed().slice(0, limit),
      );
    }
    const sections = await store.sampleRowKeys('remote');
    assert.ok(sections.length > 0);
    assert.ok(sections.every((key) => rows.includes(key)));
    await store.dropTable('remote');
  });

  test('refuses, like Bigtable, a long row key and too many mutations of one row', async () => {
    await using store = await open();
    await store.createTable('remote', { families: ['data'] });
    await store.mutateRows([set('r'.repeat(4096))]);
    const code = 'INVALID_ARGUMENT';
    await assert.rejects(store.mutateRows([set('é'.repeat(2049))]), { code });
    const [mutation] = set('r').mutations;
    assert.ok(mutation);
    const mutations = Array.from({ length: 100_001 }, () => mutation);
    await assert.rejects(store.mutateRows([{ ...set('r'), mutations }]), { code });
    await store.dropTable('remote');
  });

  test('answers conditionals that share a call as if each had been sent alone', async () => {
    await using store = await open();
    await store.createTable('remote', { families: ['data', 'lock'] });
    await using memory = createMemoryBigtable();
    await memory.createTable('remote', { families: ['data', 'lock'] });
    const random = createRandom(54);
    const at = (qualifier: string) => ({ family: 'data', qualifier, from: 5, to: 5 });
    for (let round = 0; round < 60; round++) {
      const where = { table: 'remote', row: `r${round}` };
      const columns = Array.from({ length: random.integer(2, 90) }, (_, i) => `c${i}.é:lock`);
      const thirds = random.integer(0, 3); // Of the cells, how many are there.
      const mutations = columns.flatMap((qualifier) => {
        const put = { kind: 'set', family: 'data', qualifier, value: Buffer.from('v') } as const;
        // Other versions, another column of the same time, another family: they must not count.
        const others = [
          { ...put, timestamp: 4 },
          { ...put, timestamp: 6 },
          { ...put, qualifier: `${qualifier}s`, timestamp: 5 },
          { ...put, qualifier: `${qualifier.slice(0, 2)}:lock`, timestamp: 5 },
          { ...put, family: 'lock', timestamp: 5 },
        ];
        return random.integer(1, 3) <= thirds ? [...others, { ...put, timestamp: 5 }] : others;
      });
      const conditionals = columns
        .filter(() => random.integer(0, 4) > 0)
        .map((qualifier): ConditionalRowMutation => {
          const ifFound = [{ kind: 'erase', ...at(qualifier) }] as const;
          return { table: where.table, row: where.row, anyOf: [at(qualifier)], ifFound };
        });
      const answers = [memory, store].map(async (one) => {
        await one.mutateRows([{ ...where, mutations }]);
        const answer = await one.checkAndMutateRows(conditionals);
        const { table, row } = where;
        const left = await one.readRow(table, row, [{ family: 'data' }, { family: 'lock' }]);
        return { answer, left: left?.cells.map((cell) => [cell.qualifier, cell.timestamp]) };
      });
      const [wanted, found] = await Promise.all(answers);
      assert.deepEqual(found, wanted, `round ${round}`);
    }
    await store.dropTable('remote');
  });

  test('that was opened for reading refuses to write, and reads', async () => {
    await using writing = await open();
    await writing.createTable('remote', { families: ['data'] });
    await writing.mutateRows([set('r')]);
    await using reading = await open({ readOnly: true });
    assert.ok(await reading.readRow('remote', 'r', filters));
    const { mutations } = set('r');
    const conditional = { table: 'remote', row: 'r', anyOf: [], ifNotFound: mutations };
    for (const refused of [
      reading.mutateRows([set('r')]),
      reading.checkAndMutateRow(conditional),
      reading.createTable('other', { families: ['data'] }),
      reading.dropTable('remote'),
    ]) {
      await assert.rejects(refused, { code: 'READ_ONLY' });
    }
    await writing.dropTable('remote');
  });

  test('notices that another process has recreated a table with other families', async () => {
    await using one = await open();
    await using other = await open();
    await one.createTable('remote', { families: ['data'] });
    await one.mutateRows([set('r')]);
    await other.dropTable('remote');
    await other.createTable('remote', { families: ['data', 'more'] });
    const [mutation] = set('r').mutations;
    assert.ok(mutation);
    await one.mutateRows([
      { table: 'remote', row: 'r', mutations: [{ ...mutation, family: 'more' }] },
    ]);
    assert.ok(await one.readRow('remote', 'r', [{ family: 'more' }]));
    await one.dropTable('remote');
  });
}
