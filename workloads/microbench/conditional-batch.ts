/**
 * The paper's change to Bigtable (section 2.5), off and on: whether the conditional mutations of
 * several rows share an RPC. The same transactions run in turns on a store that sends each
 * conditional mutation in an RPC of its own, and on one that sends several in one. Both are
 * measured without batching, where only the rows of one transaction can share an RPC, and with it,
 * where those of many can.
 */
import { type Bigtable, decorate, openPercolator } from '#engine';
import { column, resultTable, type ResultTable, rowName } from '#results';
import { settingsOf } from '../harness/engine-settings.ts';
import type { Estimate } from '../harness/statistics.ts';
import type { BenchStore } from './bench-store.ts';
import { type MicroCase, measureInRounds } from './case.ts';
import { rateOf, ratioOf, roundsOf, type Watched } from './figure-8.ts';
import { rateColumn, ratioColumns } from './figure-8-tables.ts';
import type { MicroPlan } from './plan.ts';
import { callersOf, writesOfCells } from './sweeps.ts';

export interface ConditionalBatchPoint {
  /** Cells per transaction, each in a row of its own. */
  readonly cells: number;
  readonly batching: 'off' | 'on';
  /** Transactions per second, with conditional mutations sent one by one, and together. */
  readonly offPerSecond: Estimate;
  readonly onPerSecond: Estimate;
  readonly ratio: Estimate;
}

/** The sizes that are measured; a transaction of one cell shares an RPC only with other ones. */
const CELLS: ReadonlySet<number> = new Set([1, 4, 16]);
/**
 * Added to the operation numbers of the case `on`: `on` and `off` write the same rows, and the
 * final check tells their writes apart by number. It is half of the numbers that `nextOperations`
 * sets aside for a measurement.
 */
const APART = 5e7;

/** Resolves to no points for a store that cannot send several conditional mutations in one RPC. */
export async function measureConditionalBatch(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
): Promise<readonly ConditionalBatchPoint[]> {
  if (!bench.store.manifest.conditionalBatch) return [];
  const points: ConditionalBatchPoint[] = [];
  for (const batching of ['off', 'on'] as const) {
    const { oracle } = bench;
    const engine = settingsOf({ ...plan, batching });
    await using off = await openPercolator({ store: oneByOne(bench.store), oracle, ...engine });
    await using on = await openPercolator({ store: bench.store, oracle, ...engine });
    for (const cells of plan.cells.filter((one) => CELLS.has(one))) {
      watched.onPhase(
        `${bench.name}: conditional mutations in transactions of ${cells} cells, batching ${batching}`,
      );
      const caseOf = (percolator: typeof on): MicroCase =>
        writesOfCells(percolator, bench.data, bench.written, cells).percolator;
      const shared = caseOf(on);
      const group = [
        { ...caseOf(off), name: 'off' },
        { ...shared, name: 'on', operate: (n: number) => shared.operate(n + APART) },
      ];
      const slices = await measureInRounds(
        [group],
        roundsOf(bench, plan, {
          signal: watched.signal,
          stream: `conditional batch ${cells} ${batching}`,
          concurrency: callersOf(plan, cells),
        }),
      );
      points.push({
        cells,
        batching,
        offPerSecond: rateOf(slices, 'off'),
        onPerSecond: rateOf(slices, 'on'),
        ratio: ratioOf(slices, 'on', 'off'),
      });
    }
  }
  return points;
}

/** The same store, as if it could not send several conditional mutations in one RPC. */
function oneByOne(store: Bigtable): Bigtable {
  return decorate(store, {
    manifest: { ...store.manifest, conditionalBatch: false },
    checkAndMutateRows: async (conditionals) =>
      Promise.all(
        conditionals.map((one) =>
          store.checkAndMutateRow(one).catch((error: unknown) => {
            if (error instanceof Error) return error;
            throw error;
          }),
        ),
      ),
  });
}

export function conditionalBatchTable(
  measured: readonly {
    readonly name: string;
    readonly conditionalBatch: readonly ConditionalBatchPoint[];
  }[],
): ResultTable {
  const all = measured.flatMap(({ name, conditionalBatch }) =>
    conditionalBatch.map((point) => ({ name, ...point })),
  );
  return resultTable(
    {
      name: 'conditional-batch',
      title: 'Conditional mutations of several rows in one RPC',
      caption:
        'Transactions of several cells, each in a row of its own, in turns: each conditional mutation is an RPC (off), or ' +
        'many share one (on), which is the change to Bigtable of section 2.5. Without batching those of one transaction ' +
        'share it, and with batching those of many.',
    },
    all,
    [
      rowName('store', ({ name }) => name),
      rowName('cells', ({ cells }) => cells),
      rowName('batching', ({ batching }) => batching),
      column('off/s', ({ offPerSecond }) => offPerSecond.value),
      rateColumn('on/s', ({ onPerSecond }) => onPerSecond),
      ...ratioColumns('of off'),
    ],
  );
}
