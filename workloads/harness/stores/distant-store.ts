/**
 * A distant storage: every read and every mutation takes one round trip longer. It has the latency
 * of a network, but neither a network's limits nor its CPU cost.
 *
 * Calls keep their order on the way, but a network does not promise that, so the manifest does not
 * either.
 */
import { type Bigtable, decorate, systemClock } from '#engine';

export interface Distance {
  readonly roundTripMs: number;
  /**
   * Whether conditional mutations may share a call. Bigtable's public API has no such call; the
   * paper's had.
   */
  readonly conditionalBatch: boolean;
}

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
