/**
 * The timestamp oracle as a process: serves timestamps from memory under a lease, until its parent
 * asks it to stop.
 */
import { openLeasedAllocator, openStore, serveOracle, systemClock } from '#engine';
import { tlsOfRun } from '../hosts/run-identity.ts';
import type { ServiceOptions, ServiceReady } from './database.ts';
import { patiently, serve } from './serve.ts';

await serve(async (options: ServiceOptions) => {
  const { address, insecure, leaseTimeToLiveMs, patienceMs = 0 } = options;
  const store = await patiently(patienceMs, () => openStore(options.store));
  const source = await patiently(patienceMs, () =>
    openLeasedAllocator(store, systemClock, { leaseTimeToLiveMs }),
  );
  const server = await serveOracle(source, { address, insecure, tls: tlsOfRun() });
  void failWith(source.ended);
  const stop = async (): Promise<void> => {
    await server.close();
    await source.close(); // Then the next oracle does not wait for the lease to expire.
    await store.close();
  };
  return { ready: { address: server.address } satisfies ServiceReady, stop };
});

/** An oracle that cannot go on ends its process, with the reason: the rejection is not handled. */
async function failWith(ended: Promise<void>): Promise<void> {
  await ended;
}
