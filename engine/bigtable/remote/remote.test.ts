/**
 * The remote store on the official emulator is a Bigtable: the same suite as for the embedded one,
 * through our own class on node:http2, and through grpc-js, which Cloud Bigtable uses.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { findEmulator } from './find-emulator.ts';
import { type Emulator, openRemote, type RemoteOptions, startEmulator } from './index.ts';

const isThere = (await findEmulator(process.env)) !== undefined;
if (isThere) claimAll(await startEmulator({ environment: process.env }));
else test('the remote store on the official emulator', { skip: 'no emulator found' }, () => {});

function claimAll(emulator: Emulator): void {
  after(() => emulator.stop());
  const open = (more: Partial<RemoteOptions> = {}): Promise<Bigtable> =>
    openRemote({ project: 'p', instance: 'i', plainAddress: emulator.address, ...more });
  conformanceSuite('emulator', open);
  conformanceSuite('emulator through grpc-js', () => open({ plainGrpc: true }));
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
