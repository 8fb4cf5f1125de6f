/**
 * The rows that are read and written, the same for the raw store and for Percolator.
 *
 *     micro-raw         the plain table: one family, one column
 *     micro-cells       the Percolator table
 *     micro-messages    a Percolator table for messages sent without the engine
 *                       (recorded-messages.ts)
 *
 * Rows that are read are never written, so that they keep their one version; rows that are written
 * are never read before the end. Operations visit rows in a random order that is the same each time
 * round. So reads and writes are random, every row is equally busy, and no two operations that are
 * close in time use one row.
 */
import { type Bigtable, createRandom, openBulkLoader, type Percolator } from '#engine';
import { shuffled } from '../harness/shuffled.ts';
import { type Stamp, stamper, stampOf } from './stamped-value.ts';

export const RAW = 'micro-raw';
export const CELLS = 'micro-cells';
export const MESSAGES = 'micro-messages';
export const COLUMN = 'value';
/** The family of the raw table. */
export const FAMILY = 'data';
/** Stamp of the data before any operation. */
export const LOADED = -1;
const LOAD_ROWS = 1_000;

export interface Dimensions {
  readonly rows: number;
  readonly valueBytes: number;
  readonly seed: number;
}

export class Data {
  readonly rows: number;
  /** Keys of rows that are only read, and of those that are only written, by number. */
  readonly readKeys: readonly string[];
  readonly writeKeys: readonly string[];
  readonly value: (stamp: Stamp) => Buffer;
  readonly #order: readonly number[];

  constructor({ rows, valueBytes, seed }: Dimensions) {
    const random = createRandom(seed).fork('order');
    const numbers = Array.from({ length: rows }, (_, i) => i);
    this.rows = rows;
    this.readKeys = numbers.map((i) => `r${String(i).padStart(9, '0')}`);
    this.writeKeys = numbers.map((i) => `w${String(i).padStart(9, '0')}`);
    this.value = stamper(valueBytes, seed);
    this.#order = shuffled(random, numbers);
  }

  /** The number of the row that an operation uses. */
  rowOf(operation: number): number {
    return this.#order[operation % this.rows] ?? 0;
  }

  /** @throws if `value`, which a read of row `row` returned, is not the loaded one */
  checkRead(row: number, value: Uint8Array | undefined): void {
    const stamp = value && stampOf(value);
    if (stamp?.row === row && stamp.operation === LOADED) return;
    throw new Error(`a read of row ${row} returned ${JSON.stringify(stamp ?? null)}`);
  }
}

/** Makes the tables, and loads one version of each row, except into the table of the messages. */
export async function loadTables(percolator: Percolator, data: Data): Promise<void> {
  const { store } = percolator;
  await dropTables(percolator); // A run that was killed may have left them.
  await store.createTable(RAW, { families: [FAMILY] });
  await percolator.createTable(CELLS);
  await percolator.createTable(MESSAGES);
  const keys = [data.readKeys, data.writeKeys].flatMap((half) =>
    half.map((key, row) => ({ key, value: data.value({ row, operation: LOADED }) })),
  );
  await loadRaw(store, keys);
  await loadCells(percolator, CELLS, keys);
}

/** Loads the table of the messages, so that they, too, change rows that have a version. */
export async function loadMessages(percolator: Percolator, data: Data): Promise<void> {
  const rows = data.writeKeys.map((key, row) => ({
    key,
    value: data.value({ row, operation: LOADED }),
  }));
  await loadCells(percolator, MESSAGES, rows);
}

export async function dropTables(percolator: Percolator): Promise<void> {
  await percolator.store.dropTable(RAW);
  await percolator.dropTable(CELLS);
  await percolator.dropTable(MESSAGES);
}

type Loaded = readonly { readonly key: string; readonly value: Buffer }[];

async function loadCells(percolator: Percolator, table: string, rows: Loaded): Promise<void> {
  const loader = await openBulkLoader(percolator);
  for (const { key, value } of rows) {
    await loader.add({ table, row: key, cells: [{ column: COLUMN, value }] });
  }
  await loader.finish();
}

async function loadRaw(store: Bigtable, keys: Loaded): Promise<void> {
  for (let i = 0; i < keys.length; i += LOAD_ROWS) {
    await store.mutateRows(
      keys.slice(i, i + LOAD_ROWS).map(({ key, value }) => rawWrite(key, value, 1)),
    );
  }
}

/** One cell of the raw table. */
export function rawWrite(
  row: string,
  value: Buffer,
  timestamp: number,
): Parameters<Bigtable['mutateRows']>[0][number] {
  const set = { kind: 'set', family: FAMILY, qualifier: COLUMN, timestamp, value } as const;
  return { table: RAW, row, mutations: [set] };
}
