/**
 * A storage that is far away: every call takes a round trip longer. Stands in for a network where there is none;
 * it has latency, but neither the network's limits nor its costs on the processor.
 *
 * The manifest says what a network leaves of it: calls overtake one another, so nothing is ordered.
 */
import { type Bigtable, systemClock } from '#engine';
import { overlay } from './store-counts.ts';

export interface Distance {
  readonly roundTripMs: number;
  /** Whether conditional mutations may share a call. Bigtable's public API has no such call; the paper's had. */
  readonly conditionalBatch: boolean;
}

export function distantStore(
  store: Bigtable,
  { roundTripMs, conditionalBatch }: Distance,
): Bigtable {
  const manifest = { ...store.manifest, ordered: false, conditionalBatch };
  if (roundTripMs === 0) return overlay(store, { manifest });
  const travel = async <T>(call: () => Promise<T>): Promise<T> => {
    await systemClock.sleep(roundTripMs);
    return call();
  };
  return overlay(store, {
    manifest,
    readRow: (table, row, filters) => travel(() => store.readRow(table, row, filters)),
    readRows: (table, rows, filters) => travel(() => store.readRows(table, rows, filters)),
    readRange: (table, range, filters) => travel(() => store.readRange(table, range, filters)),
    checkAndMutateRow: (conditional) => travel(() => store.checkAndMutateRow(conditional)),
    checkAndMutateRows: (conditionals) => travel(() => store.checkAndMutateRows(conditionals)),
    mutateRows: (rows) => travel(() => store.mutateRows(rows)),
  });
}
