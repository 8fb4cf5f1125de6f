/**
 * No request is sent that the emulator accepts and Cloud Bigtable refuses; and which filters a
 * check and a read send.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protos } from '@google-cloud/bigtable-api';
import type { CellFilter } from '../bigtable.ts';
import { type FakeBigtable, startFake } from './fake-bigtable.fixture.ts';
import { treeForChecking, treeForReading } from './filter-tree.ts';
import { openRemote } from './index.ts';

const SET = {
  kind: 'set',
  family: 'data',
  qualifier: 'q',
  timestamp: 1,
  value: Buffer.from('v'),
} as const;
const INVERTED: CellFilter = { family: 'data', from: 2, to: 1 };

function dataCalls({ calls }: FakeBigtable): readonly string[] {
  return calls.map(({ method }) => method).filter((method) => /Rows?$/.test(method));
}

test('a read that cannot find any row is not sent', async () => {
  await using fake = await startFake();
  await using store = await openRemote({ project: 'p', instance: 'i', plainAddress: fake.address });
  await store.readRow('t', 'r', []);
  await store.readRows('t', ['r'], [INVERTED]);
  await store.readRange('t', { start: 'b', end: 'a', limit: 9 }, [{ family: 'data' }]);
  await store.readRange('t', { start: 'a', end: 'a', limit: 9 }, [{ family: 'data' }]);
  assert.deepEqual(dataCalls(fake), []);
});

function answerOf(rows: readonly string[]): object {
  const cell = { familyName: { value: 'data' }, qualifier: { value: Buffer.from('q') } };
  return {
    chunks: rows.map((row) => {
      const key = { rowKey: Buffer.from(row), commitRow: true };
      return Object.assign(key, cell);
    }),
  };
}

test('a read in reverse asks page by page, each up to the last row, and says that it knows the order', async () => {
  await using fake = await startFake();
  await using store = await openRemote({ project: 'p', instance: 'i', plainAddress: fake.address });
  const rows = Array.from({ length: 2_001 }, (_, i) => `r${9_999 - i}`);
  const pages = [rows.slice(0, 2_000), rows.slice(2_000)].map((page) => answerOf(page));
  fake.answer('ReadRows', ...pages.map((page) => ({ answers: [page] })));
  const range = { start: 'a', end: 'z', limit: Infinity, reverse: true };
  const found = await store.readRange('t', range, [{ family: 'data' }]);
  assert.deepEqual(
    found.map(({ key }) => key),
    rows,
  );
  const reads = fake.calls.filter(({ method }) => method === 'ReadRows');
  const bounds = reads.map(({ request }) => {
    const { rows: asked, reversed } = request as protos.google.bigtable.v2.ReadRowsRequest;
    const { startKeyClosed, endKeyOpen } = asked?.rowRanges?.[0] ?? {};
    return [reversed, String(startKeyClosed), String(endKeyOpen)];
  });
  assert.deepEqual(bounds, [
    [true, 'a', 'z'],
    [true, 'a', 'r8000'],
  ]);
  const [features] = reads[0]?.headers.get('bigtable-features') ?? [];
  const flags = protos.google.bigtable.v2.FeatureFlags.decode(
    Buffer.from(String(features), 'base64'),
  );
  assert.equal(flags.reverseScans, true);
});

test('a server that reads forwards when asked to read in reverse is not believed', async () => {
  await using fake = await startFake();
  await using store = await openRemote({ project: 'p', instance: 'i', plainAddress: fake.address });
  fake.answer('ReadRows', { answers: [answerOf(['a', 'b'])] });
  const range = { limit: 2, reverse: true };
  await assert.rejects(store.readRange('t', range, [{ family: 'data' }]), {
    code: 'STORE_UNAVAILABLE',
    message: /a row came that is not before the last one/,
  });
});

test('rows without mutations are not sent', async () => {
  await using fake = await startFake();
  await using store = await openRemote({ project: 'p', instance: 'i', plainAddress: fake.address });
  await store.mutateRows([{ table: 't', row: 'r', mutations: [] }]);
  fake.answer('MutateRows', { answers: [{ entries: [{ index: 0, status: { code: 0 } }] }] });
  await store.mutateRows(
    ['a', 'b'].map((row) => ({ table: 't', row, mutations: row === 'a' ? [] : [SET] })),
  );
  assert.deepEqual(dataCalls(fake), ['MutateRows']);
  const entries: unknown = Reflect.get(fake.calls.at(-1)?.request ?? {}, 'entries');
  assert.equal((entries as readonly object[]).length, 1);
});

test('many rows of a table that was not used before ask once for its families', async () => {
  await using fake = await startFake();
  await using store = await openRemote({ project: 'p', instance: 'i', plainAddress: fake.address });
  const rows = Array.from({ length: 20 }, (_, i) => `r${i}`);
  await store.checkAndMutateRows(
    rows.map((row) => ({ table: 't', row, anyOf: [], ifNotFound: [SET] })),
  );
  assert.equal(fake.calls.filter(({ method }) => method === 'GetTable').length, 1);
});

test('a check of no cells blocks every cell, and any check leaves out empty ranges', () => {
  assert.deepEqual(treeForChecking([]), { blockAllFilter: true });
  assert.deepEqual(treeForChecking([INVERTED]), { blockAllFilter: true });
  assert.deepEqual(treeForChecking([INVERTED, { family: 'lock' }]), {
    familyNameRegexFilter: 'lock',
  });
});

test('a check of three columns names each exactly, with its own range of time', () => {
  const c = Buffer.from('c');
  const range = { startQualifierClosed: c, endQualifierClosed: c };
  const column = { qualifier: 'c' };
  const tree = treeForChecking([
    { family: 'lock', ...column },
    { family: 'write', ...column, from: 7 },
    { family: 'rollback', ...column, from: 7, to: 7 },
  ]);
  assert.deepEqual(tree, {
    interleave: {
      filters: [
        { columnRangeFilter: { familyName: 'lock', ...range } },
        {
          chain: {
            filters: [
              { columnRangeFilter: { familyName: 'write', ...range } },
              { timestampRangeFilter: { startTimestampMicros: 7000 } },
            ],
          },
        },
        {
          chain: {
            filters: [
              { columnRangeFilter: { familyName: 'rollback', ...range } },
              { timestampRangeFilter: { startTimestampMicros: 7000, endTimestampMicros: 8000 } },
            ],
          },
        },
      ],
    },
  });
});

test('a read of 30 columns has a branch for each family, and is below Bigtable’s limit even with long names', () => {
  const filters = Array.from({ length: 30 }, (_, i) => `column-${i}`).flatMap((qualifier) => [
    { family: 'lock', qualifier, to: 9, versions: 1 },
    { family: 'write', qualifier, to: 9, versions: 1 },
    { family: 'data', qualifier, to: 9, versions: 2 },
  ]);
  const tree = treeForReading(filters);
  assert.equal(tree?.interleave?.filters?.length, 3);
  const long = filters.map(({ qualifier, ...rest }) =>
    Object.assign(rest, { qualifier: `${qualifier}${'é'.repeat(900)}` }),
  );
  for (const given of [tree, treeForReading(long)]) {
    const bytes = protos.google.bigtable.v2.RowFilter.encode(given ?? {}).finish();
    assert.ok(bytes.length < 20_480, `${bytes.length} bytes`);
  }
  assert.throws(() => treeForChecking(long), { code: 'INVALID_ARGUMENT' });
});

test('a read of columns with a long suffix is below Bigtable’s limit, and a check is refused', () => {
  const filters = ['lock', 'write'].map((family) => ({ family, suffix: 'é'.repeat(3000) }));
  const tree = treeForReading(filters);
  const bytes = protos.google.bigtable.v2.RowFilter.encode(tree ?? {}).finish();
  assert.ok(bytes.length < 20_480, `${bytes.length} bytes`);
  assert.throws(() => treeForChecking(filters), { code: 'INVALID_ARGUMENT' });
});
