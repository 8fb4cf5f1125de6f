/** Operations of shapes that bench:micro does not have, and their tables. */
import type { Bigtable, Percolator } from '#engine';
import type { Case } from '../../microbench/case.ts';
import { CELLS, COLUMN, type Data, FAMILY, RAW, rawWrite } from '../../microbench/data.ts';

export const SHAPES = {
  longRead: 'raw read of 1,000 bytes',
  wideRead: 'raw read of 8 cells',
  rowsRead: 'raw read of 16 rows',
  scan: 'scan of 16 rows',
  batchedRead: 'read in an open snapshot, in batches',
  longWrite: 'raw write of 1,000 bytes',
  rowsWrite: 'raw write of 8 rows',
} as const;

export const ROWS_READ = 16;
const ROWS_WRITTEN = 8;
const CELLS_READ = 8;
export const BYTES = { short: 100, long: 1_000 };

const LONG = 'costs-long';
const WIDE = 'costs-wide';
const NEWEST = [{ family: FAMILY, qualifier: COLUMN, versions: 1 }];
const LOAD_ROWS = 1_000;

export async function loadShapes(
  store: Bigtable,
  { readKeys }: Pick<Data, 'readKeys'>,
): Promise<void> {
  const set = (qualifier: string, bytes: number) =>
    ({
      kind: 'set',
      family: FAMILY,
      qualifier,
      timestamp: 1,
      value: Buffer.alloc(bytes, 7),
    }) as const;
  const wide = Array.from({ length: CELLS_READ }, (_, i) => set(`${COLUMN}${i}`, BYTES.short));
  for (const [table, mutations] of [
    [LONG, [set(COLUMN, BYTES.long)]],
    [WIDE, wide],
  ] as const) {
    await store.createTable(table, { families: [FAMILY] });
    for (let i = 0; i < readKeys.length; i += LOAD_ROWS) {
      const rows = readKeys.slice(i, i + LOAD_ROWS);
      await store.mutateRows(rows.map((row) => ({ table, row, mutations })));
    }
  }
}

export function readsOfShapes(store: Bigtable, data: Data): readonly Case[] {
  const key = (operation: number): string => data.readKeys[data.rowOf(operation)] ?? '';
  const cells = (found: number, wanted: number): void => {
    if (found !== wanted) throw new Error(`a read returned ${found} cells instead of ${wanted}`);
  };
  const readOf = (name: string, table: string, wanted: number): Case => ({
    name,
    operate: async (operation) => {
      const filters = wanted === 1 ? NEWEST : [{ family: FAMILY }];
      cells((await store.readRow(table, key(operation), filters))?.cells.length ?? 0, wanted);
    },
  });
  return [
    readOf(SHAPES.longRead, LONG, 1),
    readOf(SHAPES.wideRead, WIDE, CELLS_READ),
    {
      name: SHAPES.rowsRead,
      operate: async (operation) => {
        const rows = Array.from({ length: ROWS_READ }, (_, i) => key(operation * ROWS_READ + i));
        const found = await store.readRows(RAW, rows, NEWEST);
        cells(found.filter((row) => row !== undefined).length, ROWS_READ); // A cell of each row.
      },
    },
    {
      name: SHAPES.scan,
      operate: async (operation) => {
        const range = { start: key(operation), limit: ROWS_READ };
        const found = await store.readRange(RAW, range, NEWEST);
        if (found.length === ROWS_READ) return;
        throw new Error(`a scan returned ${found.length} rows instead of ${ROWS_READ}`);
      },
    },
  ];
}

/** Reads in one open snapshot of a database that batches its reads. */
export function batchedReads(percolator: Percolator, data: Data): Case {
  let snapshot: Awaited<ReturnType<Percolator['snapshot']>> | undefined;
  return {
    name: SHAPES.batchedRead,
    prepare: async () => {
      snapshot = await percolator.snapshot();
    },
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const cell = { table: CELLS, row: data.readKeys[row] ?? '', column: COLUMN };
      data.checkRead(row, await snapshot?.get(cell));
    },
    settle: () => snapshot?.close(),
  };
}

export function writesOfShapes(store: Bigtable, data: Data): readonly Case[] {
  const key = (operation: number): string => data.writeKeys[data.rowOf(operation)] ?? '';
  const long = Buffer.alloc(BYTES.long, 7);
  const short = Buffer.alloc(BYTES.short, 7);
  return [
    {
      name: SHAPES.longWrite,
      operate: (operation) => store.mutateRows([rawWrite(key(operation), long, operation)]),
    },
    {
      name: SHAPES.rowsWrite,
      operate: (operation) =>
        store.mutateRows(
          Array.from({ length: ROWS_WRITTEN }, (_, i) =>
            rawWrite(key(operation * ROWS_WRITTEN + i), short, operation),
          ),
        ),
    },
  ];
}
