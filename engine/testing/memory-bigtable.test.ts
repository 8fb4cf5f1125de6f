/** The memory store is a Bigtable, and as asynchronous as a real one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformanceSuite } from '../bigtable/conformance.ts';
import { createMemoryBigtable } from './index.ts';

conformanceSuite('memory', async () => createMemoryBigtable());

test('nothing is applied before the call has returned', async () => {
  const store = createMemoryBigtable();
  const listed = store.listTables();
  const created = store.createTable('t', { families: ['f'] });
  assert.deepEqual(await listed, []);
  await created;
  assert.deepEqual(await store.listTables(), ['t']);
});

test('neither a writer nor a reader changes what is stored by changing its array afterwards', async () => {
  const store = createMemoryBigtable();
  await store.createTable('t', { families: ['f'] });
  const value = Uint8Array.of(1);
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
  await store.mutateRows([{ table: 't', row: 'r', mutations: [set] }]);
  value[0] = 2;
  const first = await store.readRow('t', 'r', [{ family: 'f' }]);
  assert.deepEqual(first?.cells[0]?.value, Uint8Array.of(1));
  first.cells[0].value[0] = 3;
  const second = await store.readRow('t', 'r', [{ family: 'f' }]);
  assert.deepEqual(second?.cells[0]?.value, Uint8Array.of(1));
});
