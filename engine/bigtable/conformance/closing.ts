/** Closing waits for calls in flight, and refuses later ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../base/index.ts';
import { rejectWith, SCHEMA, set, TABLE, type Open } from './claim.ts';

export function claimClosing(open: Open): void {
  const rowMutation = { table: TABLE, row: 'r', mutations: [set('data', 'q', 1)] };
  const conditional = { table: TABLE, row: 'r', anyOf: [], ifNotFound: rowMutation.mutations };
  const filters = [{ family: 'data' }];

  test('a closed store refuses every operation', async () => {
    const store = await open();
    await store.close();
    const refused = [
      store.readRow(TABLE, 'r', filters),
      store.readRows(TABLE, ['r'], filters),
      store.readRange(TABLE, { limit: 1 }, filters),
      store.mutateRows([rowMutation]),
      store.mutateRows([]),
      store.checkAndMutateRow(conditional),
      store.sampleRowKeys(TABLE),
      store.createTable(TABLE, SCHEMA),
      store.listTables(),
      store.dropTable(TABLE),
    ];
    await rejectWith('STORE_CLOSED', refused);
    const [answer] = await store.checkAndMutateRows([conditional]);
    assert.equal((answer as { code?: unknown }).code, 'STORE_CLOSED');
  });

  test('closing twice is harmless', async () => {
    const store = await open();
    await assert.doesNotReject(Promise.all([store.close(), store.close()]));
    await assert.doesNotReject(store.close());
    await assert.doesNotReject(async () => store[Symbol.asyncDispose]());
  });

  test('closing waits for calls in flight', async () => {
    const store = await open();
    await store.createTable(TABLE, SCHEMA);
    await store.createTable(`${TABLE}-dropped`, SCHEMA);
    const sent: Promise<unknown>[] = [
      store.mutateRows([rowMutation]),
      store.checkAndMutateRow(conditional),
      store.readRow(TABLE, 'r', filters),
      store.dropTable(`${TABLE}-dropped`),
    ];
    let answered = 0;
    for (const call of sent) void call.then(() => answered++);
    await store.close();
    await systemClock.yield(); // A store in memory may close before the last `then` above runs.
    assert.equal(answered, sent.length);
    // A store that outlives its test, such as an emulator, must not keep the table.
    await using again = await open();
    await again.dropTable(TABLE);
  });
}
