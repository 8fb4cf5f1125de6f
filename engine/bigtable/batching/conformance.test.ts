/**
 * The storage contract for batched stores: over stores that can and cannot batch conditional
 * mutations.
 */
import { systemClock } from '../../base/index.ts';
import { createMemoryBigtable, FaultyBigtable } from '../../testing/index.ts';
import { batchBigtable } from './batching.ts';
import { conformanceSuite } from '../conformance.ts';

conformanceSuite('a batched store', async () => {
  // Most claims write to the row `r`, some to other rows: both lanes are used.
  const options = { delayMs: 1, isUrgent: ({ row }: { readonly row: string }) => row === 'r' };
  return batchBigtable(createMemoryBigtable(), systemClock, options).store;
});

conformanceSuite('a batched store of the public API', async () => {
  const store = createMemoryBigtable();
  const remote = new FaultyBigtable(store, { conditionalBatch: false, ordered: false });
  // Without faults: only the manifest is another.
  return batchBigtable(remote, systemClock, { delayMs: 0, rowsMax: 3, inFlightMax: 1 }).store;
});
