/** The lock service as a process: in memory, until its parent asks it to stop. */
import { serveLocks } from '#engine';
import { tlsOfRun } from '../hosts/run-identity.ts';
import type { ServiceOptions, ServiceReady } from './database.ts';
import { serve } from './serve.ts';

await serve(async ({ address, insecure }: Pick<ServiceOptions, 'address' | 'insecure'>) => {
  const server = await serveLocks({ address, insecure, tls: tlsOfRun() });
  const stop = (): Promise<void> => server.close();
  return { ready: { address: server.address } satisfies ServiceReady, stop };
});
