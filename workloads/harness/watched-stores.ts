/**
 * Storages in front of another one: `countCalls` counts the requests, and `distantStore` makes each
 * take a round trip longer.
 *
 * Requests are counted in two ways: as operations, each of which names a row or a range
 * ("around 50 individual Bigtable operations to process a single document", section 2.5), and as
 * RPCs:
 *
 *     reads of rows, a range           one RPC
 *     conditional mutations together   one RPC where the storage batches them, else one for each
 *     blind mutations together         one RPC for each table
 */
import { type Bigtable, decorate, systemClock } from '#engine';

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

export interface Distance {
  readonly roundTripMs: number;
  /**
   * Whether conditional mutations may share a call. Bigtable's public API has no such call; the
   * paper's had.
   */
  readonly conditionalBatch: boolean;
}

/**
 * A storage that has the latency of a network, but neither a network's limits nor its CPU cost.
 * Calls keep their order on the way, but a network does not promise that, so the manifest does not
 * either.
 */
export function distantStore(
  store: Bigtable,
  { roundTripMs, conditionalBatch }: Distance,
): Bigtable {
  const manifest = { ...store.manifest, ordered: false, conditionalBatch };
  if (roundTripMs === 0) return decorate(store, { manifest });
  const travel = async <T>(call: () => Promise<T>): Promise<T> => {
    await systemClock.sleep(roundTripMs);
    return call();
  };
  return decorate(store, {
    manifest,
    readRow: (table, row, filters) => travel(() => store.readRow(table, row, filters)),
    readRows: (table, rows, filters) => travel(() => store.readRows(table, rows, filters)),
    readRange: (table, range, filters) => travel(() => store.readRange(table, range, filters)),
    checkAndMutateRow: (conditional) => travel(() => store.checkAndMutateRow(conditional)),
    checkAndMutateRows: (conditionals) => travel(() => store.checkAndMutateRows(conditionals)),
    mutateRows: (rows) => travel(() => store.mutateRows(rows)),
  });
}
