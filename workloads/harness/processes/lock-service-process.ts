/** The lock service as a process: in memory, until its parent asks it to stop. */
import { serveLocks } from '#engine';
import type { ServiceOptions, ServiceReady } from './database.ts';
import { serve } from './serve.ts';

await serve(async ({ address }: Pick<ServiceOptions, 'address'>) => {
  const server = await serveLocks({ address });
  const stop = (): Promise<void> => server.close();
  return { ready: { address: server.address } satisfies ServiceReady, stop };
});
