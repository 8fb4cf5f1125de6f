/**
 * Counts the requests to a storage in two ways: as operations, each of which names a row or a range
 * ("around 50 individual Bigtable operations to process a single document", section 2.5), and as
 * RPCs:
 *
 *     reads of rows, a range           one RPC
 *     conditional mutations together   one RPC where the storage batches them, else one for each
 *     blind mutations together         one RPC for each table
 */
import { type Bigtable, decorate } from '#engine';

export interface KindCounts {
  operations: number;
  rpcs: number;
}

export interface StoreCounts {
  readonly reads: KindCounts;
  readonly scans: KindCounts;
  readonly conditionals: KindCounts;
  readonly blind: KindCounts;
}

export function countCalls(store: Bigtable): {
  readonly store: Bigtable;
  readonly counts: StoreCounts;
} {
  const none = (): KindCounts => ({ operations: 0, rpcs: 0 });
  const counts = { reads: none(), scans: none(), conditionals: none(), blind: none() };
  const count = (kind: KindCounts, operations: number, rpcs: number): void => {
    kind.operations += operations;
    kind.rpcs += rpcs;
  };
  const counting = decorate(store, {
    readRow: (table, row, filters) => {
      count(counts.reads, 1, 1);
      return store.readRow(table, row, filters);
    },
    readRows: (table, rows, filters) => {
      count(counts.reads, rows.length, 1);
      return store.readRows(table, rows, filters);
    },
    readRange: (table, range, filters) => {
      count(counts.scans, 1, 1);
      return store.readRange(table, range, filters);
    },
    checkAndMutateRow: (conditional) => {
      count(counts.conditionals, 1, 1);
      return store.checkAndMutateRow(conditional);
    },
    checkAndMutateRows: (conditionals) => {
      const together = store.manifest.conditionalBatch ? 1 : conditionals.length;
      count(counts.conditionals, conditionals.length, together);
      return store.checkAndMutateRows(conditionals);
    },
    mutateRows: (rows) => {
      count(counts.blind, rows.length, new Set(rows.map(({ table }) => table)).size);
      return store.mutateRows(rows);
    },
  });
  return { store: counting, counts };
}

export function copyCounts(counts: StoreCounts): StoreCounts {
  return structuredClone(counts);
}

/** The increase since `before`, per unit. */
export function countsPerUnit(
  counts: StoreCounts,
  before: StoreCounts,
  units: number,
): StoreCounts {
  const share = (kind: keyof StoreCounts): KindCounts => ({
    operations: (counts[kind].operations - before[kind].operations) / units,
    rpcs: (counts[kind].rpcs - before[kind].rpcs) / units,
  });
  return {
    reads: share('reads'),
    scans: share('scans'),
    conditionals: share('conditionals'),
    blind: share('blind'),
  };
}

export function total(counts: StoreCounts, of: keyof KindCounts): number {
  return Object.values(counts).reduce((sum: number, kind: KindCounts) => sum + kind[of], 0);
}
