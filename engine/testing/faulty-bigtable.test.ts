/** The claims of the faulty client: each fault does what it says, and only to its own client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { type Bigtable, decorate, type RowMutation } from '../bigtable/index.ts';
import { conformanceSuite } from '../bigtable/conformance.ts';
import { CrashedError, createMemoryBigtable, FaultyBigtable, once } from './index.ts';

conformanceSuite('faulty client without faults', async () => {
  return new FaultyBigtable(createMemoryBigtable());
});

async function openStore(): Promise<Bigtable> {
  const store = createMemoryBigtable();
  await store.createTable('t', { families: ['f'] });
  return store;
}

function setRow(row: string, text = row): RowMutation {
  const value = Buffer.from(text);
  return {
    table: 't',
    row,
    mutations: [{ kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value }],
  };
}

async function rowsOf(store: Bigtable): Promise<string[]> {
  const rows = await store.readRange('t', { limit: 100 }, [{ family: 'f' }]);
  return rows.map((row) => row.key);
}

test('a crash after the second mutation leaves two of three rows, and the client dead', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  client.crashAfter(2);
  await assert.rejects(client.mutateRows([setRow('a'), setRow('b'), setRow('c')]), CrashedError);
  await assert.rejects(client.readRow('t', 'a', [{ family: 'f' }]), CrashedError);
  await assert.rejects(client.mutateRows([setRow('d')]), CrashedError);
  await assert.rejects(client.listTables(), CrashedError);
  assert.deepEqual(await rowsOf(store), ['a', 'b']);
});

test('a crash before the second mutation leaves the first', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  client.crashBefore(2);
  await client.mutateRows([setRow('a')]);
  await assert.rejects(
    client.checkAndMutateRows([
      { table: 't', row: 'b', anyOf: [], ifNotFound: setRow('b').mutations },
    ]),
    CrashedError,
  );
  assert.deepEqual(await rowsOf(store), ['a']);
});

test('a crash ends one client; the others of the store go on', async () => {
  const store = await openStore();
  const [dead, alive] = [new FaultyBigtable(store), new FaultyBigtable(store)];
  dead.crash();
  await assert.rejects(dead.mutateRows([setRow('a')]), CrashedError);
  await alive.mutateRows([setRow('b')]);
  assert.deepEqual(await rowsOf(alive), ['b']);
});

test('mutations sent after the one that crashes are not applied', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  client.crashAfter(1);
  const sent = ['a', 'b', 'c'].map((row) => client.mutateRows([setRow(row)]));
  for (const answer of await Promise.allSettled(sent)) assert.equal(answer.status, 'rejected');
  assert.deepEqual(await rowsOf(store), ['a']);
});

test('an answer that comes after the crash is not delivered', async () => {
  const client = new FaultyBigtable(await openStore());
  client.afterCall = () => client.crash();
  await assert.rejects(client.readRow('t', 'a', [{ family: 'f' }]), CrashedError);
});

test('an error that comes after the crash is not delivered either', async () => {
  const dies = async (): Promise<never> => {
    client.crash();
    throw new PercolatorError('STORE_UNAVAILABLE', 'it is away');
  };
  const replaced = { readRow: dies, mutateRows: dies, listTables: dies };
  const open = async (): Promise<FaultyBigtable> =>
    new FaultyBigtable(decorate(await openStore(), replaced));
  let client = await open();
  await assert.rejects(client.readRow('t', 'a', [{ family: 'f' }]), CrashedError);
  client = await open();
  await assert.rejects(client.mutateRows([setRow('a')]), CrashedError);
  client = await open();
  await assert.rejects(client.listTables(), CrashedError);
});

test('a crash after a mutation whose answer is lost comes after that mutation, not the next', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  client.loseAnswer(once((call) => call.row === 'a'));
  client.crashAfter(1);
  await assert.rejects(client.mutateRows([setRow('a'), setRow('b')]), CrashedError);
  assert.deepEqual(await rowsOf(store), ['a']);
});

test('a lost answer leaves the mutation applied and the caller in doubt', async () => {
  const client = new FaultyBigtable(await openStore());
  client.loseAnswer(once((call) => call.row === 'a'));
  await assert.rejects(client.mutateRows([setRow('a')]), { code: 'STORE_IN_DOUBT' });
  assert.deepEqual(await rowsOf(client), ['a']);
  await client.mutateRows([setRow('a'), setRow('b')]);
  assert.deepEqual(await rowsOf(client), ['a', 'b']);
});

test('a lost request leaves its mutation unapplied and the caller in doubt', async () => {
  const client = new FaultyBigtable(await openStore());
  client.loseRequest((call) => call.row === 'a');
  await assert.rejects(client.mutateRows([setRow('a'), setRow('b')]), { code: 'STORE_IN_DOUBT' });
  assert.deepEqual(await rowsOf(client), ['b']);
});

test('a lost answer to one row of a batch leaves the other rows answered', async () => {
  const client = new FaultyBigtable(await openStore());
  client.loseAnswer((call) => call.row === 'a');
  const [a, b] = await client.checkAndMutateRows(
    ['a', 'b'].map((row) => ({ table: 't', row, anyOf: [], ifNotFound: setRow(row).mutations })),
  );
  assert.equal((a as { code?: string }).code, 'STORE_IN_DOUBT');
  assert.equal(b, false);
});

test('a duplicate arrives once, when the test delivers it, and overwrites later mutations', async () => {
  const client = new FaultyBigtable(await openStore());
  client.duplicate(once((call) => call.row === 'a'));
  await client.mutateRows([setRow('a', 'old')]);
  await client.mutateRows([setRow('a', 'new')]);
  assert.equal(await valueOf(client, 'a'), 'new');
  await client.deliverDuplicates();
  assert.equal(await valueOf(client, 'a'), 'old');
  await client.mutateRows([setRow('a', 'new')]);
  await client.deliverDuplicates();
  assert.equal(await valueOf(client, 'a'), 'new');
});

test('a duplicate of a lost request is a delayed request, and outlives its sender', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  client.duplicate(() => true);
  client.loseRequest(() => true);
  await assert.rejects(client.mutateRows([setRow('a')]), { code: 'STORE_IN_DOUBT' });
  assert.deepEqual(await rowsOf(store), []);
  client.crash();
  await client.deliverDuplicates();
  assert.deepEqual(await rowsOf(store), ['a']);
});

test('a refused mutation is not applied, and its caller is told so; only a copy of it may arrive', async () => {
  const client = new FaultyBigtable(await openStore());
  client.refuse((call) => call.row !== 'c');
  client.duplicate((call) => call.row === 'b');
  const refused = client.mutateRows(['a', 'b', 'c'].map((row) => setRow(row)));
  await assert.rejects(refused, { code: 'STORE_UNAVAILABLE' });
  assert.deepEqual(await rowsOf(client), ['c']);
  await client.deliverDuplicates();
  assert.deepEqual(await rowsOf(client), ['b', 'c']);
});

test('hooks run before and after each mutation, and may use the store meanwhile', async () => {
  const store = await openStore();
  const client = new FaultyBigtable(store);
  const seen: string[][] = [];
  client.beforeCall = async () => void seen.push(await rowsOf(store));
  client.afterCall = async () => void seen.push(await rowsOf(store));
  await client.mutateRows([setRow('a'), setRow('b')]);
  assert.deepEqual(seen, [[], ['a'], ['a'], ['a', 'b']]);
});

test('the trace names every read and mutation with its rows, and counts mutations', async () => {
  const client = new FaultyBigtable(await openStore());
  await client.mutateRows([setRow('a'), setRow('b')]);
  await client.readRows('t', ['a', 'b'], [{ family: 'f' }]);
  await client.readRow('t', 'a', [{ family: 'f' }]);
  await client.readRange('t', { start: 'a', end: 'c', limit: 9 }, [{ family: 'f' }]);
  await client.checkAndMutateRow({
    table: 't',
    row: 'c',
    anyOf: [],
    ifNotFound: setRow('c').mutations,
  });
  assert.deepEqual(
    client.trace.map((call) =>
      call.kind === 'read'
        ? [call.operation, ...call.rows]
        : [call.number, call.operation, call.row, call.mutations.length],
    ),
    [
      [1, 'mutateRows', 'a', 1],
      [2, 'mutateRows', 'b', 1],
      ['readRows', 'a', 'b'],
      ['readRow', 'a'],
      ['readRange', 'a', 'c'],
      [3, 'checkAndMutateRow', 'c', 1],
    ],
  );
  assert.equal(client.mutationCount, 3);
});

test('the manifest may claim less than the store gives', () => {
  const client = new FaultyBigtable(createMemoryBigtable(), { ordered: false });
  assert.equal(client.manifest.ordered, false);
  assert.equal(client.manifest.name, 'memory');
});

async function valueOf(store: Bigtable, row: string): Promise<string | undefined> {
  const found = await store.readRow('t', row, [{ family: 'f' }]);
  return found?.cells[0] && Buffer.from(found.cells[0].value).toString();
}
