/**
 * The check after a run: does the storage contain exactly what was written?
 *
 *     raw          the newest version of each row is the one written last
 *     Percolator   no lock is left, and a fresh snapshot shows the value written last to each row
 *
 * It reports errors as sentences; a run with errors has no numbers.
 */
import type { Percolator } from '#engine';
import { CELLS, COLUMN, type Data, FAMILY, LOADED, RAW } from './data.ts';
import type { LastWrites } from './figure-8-cases.ts';
import { type Stamp, stampOf } from './stamped-value.ts';

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

type Values = readonly (Uint8Array | undefined)[];

async function differences(
  side: string,
  data: Data,
  written: ReadonlyMap<number, number>,
  read: (keys: readonly string[]) => Promise<Values>,
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

async function readRaw({ store }: Percolator, keys: readonly string[]): Promise<Values> {
  const newest = [{ family: FAMILY, qualifier: COLUMN, versions: 1 }];
  const rows = await store.readRows(RAW, keys, newest);
  return rows.map((row) => row?.cells[0]?.value);
}

async function readSnapshot(percolator: Percolator, keys: readonly string[]): Promise<Values> {
  await using snapshot = await percolator.snapshot();
  return snapshot.getMany(keys.map((row) => ({ table: CELLS, row, column: COLUMN })));
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
