/**
 * Single-cell transactions on random rows, alternately a read and a rewrite: the work of the
 * paper's figure 8, for tuning. A rewrite adds one to the cell's number, so the sum of all is the
 * number of rewrites, unless an update was lost.
 */
import {
  type Bigtable,
  createRandom,
  openBulkLoader,
  openPercolator,
  type Percolator,
} from '#engine';
import type { Check } from '../../crawl-rate/check.ts';
import { closedLoop, type LoopOptions, type LoopResult } from '../../harness/load/timed-loop.ts';
import type { EngineSettings } from '../../harness/engine-settings.ts';

const TABLE = 'micro';
const COLUMN = 'number';

export interface MicroBenchmark extends AsyncDisposable {
  run(options: LoopOptions): Promise<LoopResult>;
  check(): Promise<Check>;
}

export async function loadMicroBenchmark(store: Bigtable, rows: number): Promise<void> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE);
  const loader = await openBulkLoader(percolator);
  for (let n = 0; n < rows; n++) {
    await loader.add({
      table: TABLE,
      row: rowOf(n),
      cells: [{ column: COLUMN, value: Buffer.from('0') }],
    });
  }
  await loader.finish();
}

export async function openMicroBenchmark(
  store: Bigtable,
  settings: EngineSettings,
  { rows, seed }: { readonly rows: number; readonly seed: number },
): Promise<MicroBenchmark> {
  const percolator = await openPercolator({ store, ...settings });
  const random = createRandom(seed);
  let rewrites = 0;
  const one = async (n: number): Promise<void> => {
    const cell = { table: TABLE, row: rowOf(random.integer(0, rows - 1)), column: COLUMN };
    const isRewrite = n % 2 === 1;
    await percolator.transact(
      async (transaction) => {
        const number = Number(await transaction.get(cell));
        if (isRewrite) transaction.set(cell, String(number + 1));
      },
      { kind: isRewrite ? 'rewrite' : 'read' },
    );
    if (isRewrite) rewrites++;
  };
  return {
    run: (options) => closedLoop(one, options),
    check: () => checkSum(percolator, rewrites),
    [Symbol.asyncDispose]: () => percolator.close(),
  };
}

async function checkSum(percolator: Percolator, rewrites: number): Promise<Check> {
  let sum = 0;
  await using snapshot = await percolator.snapshot();
  for await (const { values } of snapshot.scan({ table: TABLE, columns: [COLUMN] })) {
    sum += Number(values.get(COLUMN));
  }
  return {
    passed: sum === rewrites,
    detail: `the numbers add up to ${sum} after ${rewrites} rewrites`,
  };
}

function rowOf(n: number): string {
  return String(n).padStart(9, '0');
}
