/**
 * One claim of the suite: a test with a store and a table of its own, and short helpers to use
 * them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf, textOf } from '../../base/index.ts';
import type { Bigtable, CellFilter, Manifest, Mutation, Row, TableSchema } from '../bigtable.ts';

export type Open = () => Promise<Bigtable>;

/** A table with the families `data`, `lock` and `write`, and no splits. */
export interface TestTable {
  readonly store: Bigtable;
  readonly table: string;
  /** Applies mutations to one row. */
  readonly mutate: (row: string, ...mutations: Mutation[]) => Promise<void>;
  /** The row's cells, each as `family:qualifier@timestamp=text`; none if the row is absent. */
  readonly cells: (row: string, ...filters: CellFilter[]) => Promise<readonly string[]>;
  /** The keys of every row that has a cell in `data`. */
  readonly keys: () => Promise<readonly string[]>;
}

export const SCHEMA: TableSchema = { families: ['data', 'lock', 'write'] };
export const TABLE = 'conformance';

/** @param when restricts the claim to stores whose manifest promises it */
export function claim(
  name: string,
  open: Open,
  run: (table: TestTable) => Promise<void>,
  when: (manifest: Manifest) => boolean = () => true,
): void {
  test(name, async (context) => {
    await using store = await open();
    if (!when(store.manifest)) {
      context.skip('the manifest does not promise it');
      return;
    }
    await store.createTable(TABLE, SCHEMA);
    try {
      await run(testTable(store));
    } finally {
      await store.dropTable(TABLE);
    }
  });
}

function testTable(store: Bigtable): TestTable {
  return {
    store,
    table: TABLE,
    mutate: (row, ...mutations) => store.mutateRows([{ table: TABLE, row, mutations }]),
    cells: async (row, ...filters) => describeCells(await store.readRow(TABLE, row, filters)),
    keys: async () => {
      const rows = await store.readRange(TABLE, { limit: 10_000 }, [{ family: 'data' }]);
      return rows.map((row) => row.key);
    },
  };
}

export function set(
  family: string,
  qualifier: string,
  timestamp: number,
  text = `${timestamp}`,
): Mutation {
  return { kind: 'set', family, qualifier, timestamp, value: bytesOf(text) };
}

export function erase(family: string, qualifier: string, from: number, to: number): Mutation {
  return { kind: 'erase', family, qualifier, from, to };
}

export function describeCells(row: Row | undefined): readonly string[] {
  return (row?.cells ?? []).map(
    ({ family, qualifier, timestamp, value }) =>
      `${family}:${qualifier}@${timestamp}=${textOf(value)}`,
  );
}

/** Each promise rejects with a `PercolatorError` of this code. */
export async function rejectWith(
  code: string,
  promises: readonly Promise<unknown>[],
): Promise<void> {
  // Awaited together: a promise that rejects while another is awaited counts as unhandled.
  const answers = await Promise.allSettled(promises);
  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.status, 'rejected', `call ${i} is refused`);
    const {
      name,
      code: found,
      message,
    } = answer.reason as { name: string; code: string; message: string };
    assert.deepEqual([name, found], ['PercolatorError', code], `call ${i}: ${message}`);
  }
}
