/**
 * The rows that are read and written, the same for the raw store and for Percolator: their values,
 * their loading, and the check after a run.
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
 *
 * A value contains its row and the operation that wrote it. So every read is checked at almost no
 * cost, and at the end the storage must contain exactly what was written:
 *
 *     raw          the newest version of each row is the one written last
 *     Percolator   no lock is left, and a fresh snapshot shows the value written last to each row
 *
 * The check reports errors as sentences; a run with errors has no numbers.
 */
import {
  type Bigtable,
  type CellAddress,
  createRandom,
  openBulkLoader,
  type Percolator,
} from '#engine';
import { shuffled } from '../harness/chance.ts';

export const RAW = 'micro-raw';
export const CELLS = 'micro-cells';
export const MESSAGES = 'micro-messages';
export const COLUMN = 'value';
/** The family of the raw table. */
export const FAMILY = 'data';
/** What a read of the raw table asks for. */
export const NEWEST: Parameters<Bigtable['readRow']>[2] = [
  { family: FAMILY, qualifier: COLUMN, versions: 1 },
];
/** Stamp of the data before any operation. */
const LOADED = -1;
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

/** The cell of the Percolator table in this row. */
export function cellOf(row: string): CellAddress {
  return { table: CELLS, row, column: COLUMN };
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

/*
 *     bytes 0-3    number of the row
 *     bytes 4-11   number of the operation that wrote it
 *     the rest     always the same noise
 */

export const STAMP_BYTES = 12;

interface Stamp {
  readonly row: number;
  readonly operation: number;
}

/** Returns a maker of values of `bytes` bytes. */
function stamper(bytes: number, seed: number): (stamp: Stamp) => Buffer {
  const random = createRandom(seed).fork('noise');
  const template = Buffer.from(Array.from({ length: bytes }, () => random.integer(0, 255)));
  return ({ row, operation }) => {
    const value = Buffer.allocUnsafe(bytes);
    template.copy(value);
    value.writeUInt32LE(row, 0);
    value.writeDoubleLE(operation, 4);
    return value;
  };
}

/** Null if the value is too short for a stamp. */
function stampOf(value: Uint8Array): Stamp | null {
  if (value.byteLength < STAMP_BYTES) return null;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return { row: view.getUint32(0, true), operation: view.getFloat64(4, true) };
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

/** The number of the operation that wrote each row last, by the number of the row. */
export interface LastWrites {
  readonly raw: Map<number, number>;
  readonly percolator: Map<number, number>;
}

/**
 * The newest version has the largest number, because its timestamp grows with it; the order of
 * arrival does not matter.
 */
export function noteRawWrite(written: Map<number, number>, row: number, operation: number): void {
  written.set(row, Math.max(operation, written.get(row) ?? operation));
}

const BATCH_ROWS = 1_000;
const TOLD_MAX = 5;

export async function checkWritten(
  percolator: Percolator,
  data: Data,
  written: LastWrites,
): Promise<readonly string[]> {
  await percolator.settled();
  const locked = await locksLeft(percolator, data); // Before a snapshot reads, and resolves them.
  const wrong = [
    ...locked,
    ...(await differences('raw', data, written.raw, (keys) => readRaw(percolator, keys))),
    ...(await differences('Percolator', data, written.percolator, (keys) =>
      readSnapshot(percolator, keys),
    )),
  ];
  if (wrong.length <= TOLD_MAX) return wrong;
  return [...wrong.slice(0, TOLD_MAX), `and ${wrong.length - TOLD_MAX} more`];
}

type ReadValues = readonly (Uint8Array | undefined)[];

async function differences(
  side: string,
  data: Data,
  written: ReadonlyMap<number, number>,
  read: (keys: readonly string[]) => Promise<ReadValues>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (let first = 0; first < data.rows; first += BATCH_ROWS) {
    const keys = data.writeKeys.slice(first, first + BATCH_ROWS);
    const values = await read(keys);
    for (const [i, key] of keys.entries()) {
      const row = first + i;
      const operation = written.get(row) ?? LOADED;
      const value = values[i];
      if (value?.length === 0 || value === undefined) {
        wrong.push(`${side}: row ${key} has no value`);
      } else if (!data.value({ row, operation }).equals(value)) {
        wrong.push(`${side}: row ${key} ${differenceOf(value, { row, operation })}`);
      }
    }
  }
  return wrong;
}

function differenceOf(value: Uint8Array, { row, operation }: Stamp): string {
  const found = stampOf(value);
  return found?.row === row && found.operation === operation
    ? `has the stamp of operation ${operation}, but other bytes`
    : `should be of operation ${operation}, but is ${JSON.stringify(found)}`;
}

async function readRaw({ store }: Percolator, keys: readonly string[]): Promise<ReadValues> {
  const rows = await store.readRows(RAW, keys, NEWEST);
  return rows.map((row) => row?.cells[0]?.value);
}

async function readSnapshot(percolator: Percolator, keys: readonly string[]): Promise<ReadValues> {
  await using snapshot = await percolator.snapshot();
  return snapshot.getMany(keys.map(cellOf));
}

/**
 * One sentence for each row of `data` that has a lock; when nothing runs, there must be none. The
 * rows are read by key: a scan that finds no lock reads a table of many versions to its end in one
 * call, which outlasts the call's deadline on the emulator.
 */
async function locksLeft({ store }: Percolator, data: Data): Promise<string[]> {
  const keys = [...data.readKeys, ...data.writeKeys];
  const found: string[] = [];
  for (let first = 0; first < keys.length; first += BATCH_ROWS) {
    const locks = [{ family: 'cells', suffix: ':lock' }];
    const rows = await store.readRows(CELLS, keys.slice(first, first + BATCH_ROWS), locks);
    found.push(...rows.flatMap((row) => (row === undefined ? [] : [row.key])));
  }
  return found.map((key) => `Percolator: row ${key} of ${CELLS} is still locked`);
}
