/**
 * A process that announces its token to a lock service, locks the rows from a to b, prints its
 * token, and stays until it is killed.
 */
import { argv, stdout } from 'node:process';
import { systemClock } from '../base/index.ts';
import { connectLockService } from './client.ts';
import { localProcesses } from './local-processes.ts';

const [, , address = '', timeToLiveMs] = argv;
const local = localProcesses('1');
const service = connectLockService({
  addresses: [address],
  local,
  timeToLiveMs: Number(timeToLiveMs),
});
while (!service.isConnected) await systemClock.sleep(1);
await service.tryLock({ table: 't', from: 'a', to: 'b' });
stdout.write(`${service.self}\n`);
