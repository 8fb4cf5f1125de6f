/** The timestamp oracle as a process: out of its memory under a lease, until its parent asks it to stop. */
import { openLeasedAllocator, openStore, serveOracle, systemClock } from '#engine';
import type { ServiceOptions, ServiceReady } from './database.ts';
import { serve } from './serve.ts';

await serve(async ({ store: address, address: listenAt }: ServiceOptions) => {
  const store = await openStore(address);
  const source = await openLeasedAllocator(store, systemClock);
  const server = await serveOracle(source, { address: listenAt });
  const stop = async (): Promise<void> => {
    await server.close();
    await source.close(); // So that the next oracle need not wait for the end of the lease.
    await store.close();
  };
  return { ready: { address: server.address } satisfies ServiceReady, stop };
});
