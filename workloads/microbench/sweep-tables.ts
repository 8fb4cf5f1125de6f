/** The tables of measurements that the paper does not show. */
import { higherIsBetter, lowerIsBetter, type ResultMetric, type ResultTable } from '#results';
import { type Estimate, intervalOf } from '../harness/statistics/ratio.ts';
import type { ConditionalBatchPoint } from './conditional-batch.ts';
import type { InProcessCost } from './in-process.ts';
import type { Sweeps } from './sweeps.ts';

export interface SweptStore {
  readonly name: string;
  readonly sweeps: Sweeps;
}

/** What is swept, and the texts of its table. */
export type SweepName = 'cells' | 'versions' | 'readers' | 'writers';

export const SWEEPS: Readonly<
  Record<SweepName, { readonly title: string; readonly at: string; readonly caption: string }>
> = {
  cells: {
    title: 'Writes of several cells',
    at: 'cells',
    caption:
      'Cells in different rows: a raw write is one MutateRows, which is atomic only per row; Percolator’s is one ' +
      'transaction, which is atomic. Rates are of whole operations.',
  },
  versions: {
    title: 'Reads of one of many versions',
    at: 'versions',
    caption: 'The newest version of a cell that has many, in 64 rows.',
  },
  readers: {
    title: 'Reads, by operations in flight',
    at: 'callers',
    caption: 'A closed loop: each caller begins an operation when its last one has ended.',
  },
  writers: {
    title: 'Writes, by operations in flight',
    at: 'callers',
    caption: 'A closed loop: each caller begins an operation when its last one has ended.',
  },
};

const RELATIVE = higherIsBetter('relative', 'of raw', { intervalColumns: ['low', 'high'] });

function rate(column: string, estimates: readonly Estimate[]): ResultMetric {
  return higherIsBetter(column, 'operations/s', { intervals: estimates.map(intervalOf) });
}

/** The cells of two rates and their ratio. */
function compared(one: Estimate, other: Estimate, ratio: Estimate): readonly (number | null)[] {
  return [one.value, other.value, ratio.value, ratio.low, ratio.high];
}

export function sweepTable(what: SweepName, swept: readonly SweptStore[]): ResultTable {
  const { title, at, caption } = SWEEPS[what];
  return {
    name: what,
    title,
    caption,
    columns: ['store', at, 'raw/s', 'Percolator/s', 'relative', 'low', 'high'],
    rows: swept.flatMap(({ name, sweeps }) =>
      sweeps[what].map(({ at: value, rawPerSecond, percolatorPerSecond, ratio }) => [
        name,
        value,
        ...compared(rawPerSecond, percolatorPerSecond, ratio),
      ]),
    ),
    metrics: {
      rowNames: 2,
      columns: [
        rate(
          'Percolator/s',
          swept.flatMap(({ sweeps }) => sweeps[what].map((point) => point.percolatorPerSecond)),
        ),
        RELATIVE,
      ],
    },
  };
}

export function conflictsTable(swept: readonly SweptStore[]): ResultTable {
  return {
    name: 'conflicts',
    title: 'Transactions that conflict',
    caption:
      'Each transaction increments a counter; the fewer counters there are, the more attempts lose a conflict and ' +
      'begin again after a pause. The counters add up to the number of commits. A raw store would lose increments.',
    columns: ['store', 'counters', 'commits/s', 'lost attempts for each commit'],
    rows: swept.flatMap(({ name, sweeps }) =>
      sweeps.conflicts.map(({ hotRows, commitsPerSecond, conflictsPerCommit }) => [
        name,
        hotRows,
        commitsPerSecond.value,
        conflictsPerCommit,
      ]),
    ),
    metrics: {
      rowNames: 2,
      columns: [
        rate(
          'commits/s',
          swept.flatMap(({ sweeps }) => sweeps.conflicts.map((point) => point.commitsPerSecond)),
        ),
        lowerIsBetter('lost attempts for each commit', 'attempts'),
      ],
    },
  };
}

export function batchingTable(swept: readonly SweptStore[]): ResultTable {
  return {
    name: 'batching',
    title: 'Batching on',
    caption: 'The same operations with and without batching (section 2.5), in turns.',
    columns: ['store', 'operation', 'off/s', 'on/s', 'relative', 'low', 'high'],
    rows: swept.flatMap(({ name, sweeps }) =>
      sweeps.batching.map(({ name: of, offPerSecond, onPerSecond, ratio }) => [
        name,
        of,
        ...compared(offPerSecond, onPerSecond, ratio),
      ]),
    ),
    metrics: {
      rowNames: 2,
      columns: [
        rate(
          'on/s',
          swept.flatMap(({ sweeps }) => sweeps.batching.map((point) => point.onPerSecond)),
        ),
        higherIsBetter('relative', 'of off', { intervalColumns: ['low', 'high'] }),
      ],
    },
  };
}

export function conditionalBatchTable(
  measured: readonly {
    readonly name: string;
    readonly points: readonly ConditionalBatchPoint[];
  }[],
): ResultTable {
  const all = measured.flatMap(({ points }) => points);
  return {
    name: 'conditional-batch',
    title: 'Conditional mutations of several rows in one RPC',
    caption:
      'Transactions of several cells, each in a row of its own, in turns: each conditional mutation is an RPC (off), or ' +
      'many share one (on), which is the change to Bigtable of section 2.5. Without batching those of one transaction ' +
      'share it, and with batching those of many.',
    columns: ['store', 'cells', 'batching', 'off/s', 'on/s', 'relative', 'low', 'high'],
    rows: measured.flatMap(({ name, points }) =>
      points.map(({ cells, batching, offPerSecond, onPerSecond, ratio }) => [
        name,
        cells,
        batching,
        ...compared(offPerSecond, onPerSecond, ratio),
      ]),
    ),
    metrics: {
      rowNames: 3,
      columns: [
        rate(
          'on/s',
          all.map(({ onPerSecond }) => onPerSecond),
        ),
        higherIsBetter('relative', 'of off', { intervalColumns: ['low', 'high'] }),
      ],
    },
  };
}

export function latencyTable(swept: readonly SweptStore[]): ResultTable {
  return {
    name: 'latency',
    title: 'Latency at a load',
    caption:
      'An open loop, at a share of the throughput of the closed loop; latency counts from ' +
      'the scheduled moment. If the store did not keep up, there is none.',
    columns: ['store', 'operation', 'load', 'per second', 'operations', 'median ms', 'p99 ms'],
    rows: swept.flatMap(({ name, sweeps }) =>
      sweeps.latencies.map((point) => [
        name,
        point.name,
        point.load,
        point.perSecond,
        point.operations,
        point.medianMs,
        point.p99Ms,
      ]),
    ),
    metrics: {
      rowNames: 3,
      columns: [lowerIsBetter('median ms', 'ms'), lowerIsBetter('p99 ms', 'ms')],
    },
  };
}

export function inProcessTable(timed: readonly InProcessCost[]): ResultTable {
  return {
    name: 'in-process',
    title: 'One caller at a time, in the client’s process',
    caption:
      'Medians by tinybench. With a storage in memory, the engine is the difference between a Percolator operation and a raw one.',
    columns: ['operation', 'median us', 'samples'],
    rows: timed.map(({ name, medianUs, samples }) => [name, medianUs, samples]),
    metrics: { rowNames: 1, columns: [lowerIsBetter('median us', '\u00b5s')] },
  };
}
