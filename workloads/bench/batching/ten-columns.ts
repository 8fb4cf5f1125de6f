/**
 * Rows with ten columns, and transactions that read all ten of a row, one after the other, as if
 * each read depended on the one before: the work that prefetching is for. The rows are drawn from
 * the seed, so each variant reads the same ones.
 */
import {
  type Bigtable,
  createRandom,
  openBulkLoader,
  openPercolator,
  type Percolator,
  type TimestampOracle,
} from '#engine';
import { closedLoop, type LoopOptions, type LoopResult } from '../../harness/load/timed-loop.ts';
import type { EngineSettings } from '../../harness/engine-settings.ts';

const TABLE = 'ten-columns';
const COLUMNS = Array.from({ length: 10 }, (_, i) => `column-${i}`);

export interface TenColumns extends AsyncDisposable {
  readonly percolator: Percolator;
  /** Reads rows. Rejects if a value is not the one that was loaded. */
  run(options: LoopOptions & { readonly rows: number; readonly seed: number }): Promise<LoopResult>;
}

export async function loadTenColumns(store: Bigtable, rows: number): Promise<void> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE);
  const loader = await openBulkLoader(percolator);
  for (let n = 0; n < rows; n++) {
    const cells = COLUMNS.map((column) => ({ column, value: valueOf(n, column) }));
    await loader.add({ table: TABLE, row: rowOf(n), cells });
  }
  await loader.finish();
}

export async function openTenColumns(
  services: { readonly store: Bigtable; readonly oracle?: TimestampOracle | undefined },
  settings: EngineSettings,
): Promise<TenColumns> {
  const percolator = await openPercolator({
    store: services.store,
    oracle: services.oracle,
    ...settings,
  });
  return {
    percolator,
    run: ({ rows, seed, ...options }) => {
      const random = createRandom(seed);
      return closedLoop(() => readRow(percolator, random.integer(0, rows - 1)), options);
    },
    [Symbol.asyncDispose]: () => percolator.close(),
  };
}

async function readRow(percolator: Percolator, n: number): Promise<void> {
  await percolator.transact(
    async (transaction) => {
      for (const column of COLUMNS) {
        const value = await transaction.get({ table: TABLE, row: rowOf(n), column });
        if (value?.equals(valueOf(n, column)) === true) continue;
        throw new Error(`column ${column} of row ${n} is not the value that was loaded`);
      }
    },
    { kind: 'ten-columns' },
  );
}

function rowOf(n: number): string {
  return String(n).padStart(9, '0');
}

function valueOf(n: number, column: string): Buffer {
  return Buffer.from(`${column} of row ${n}`.padEnd(100));
}
