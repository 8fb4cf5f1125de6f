/** A process that starts an emulator, prints its address, and waits a minute to be killed. */
import process from 'node:process';
import { systemClock } from '../../base/index.ts';
import { startEmulator } from './index.ts';

const { address } = await startEmulator({ environment: process.env });
process.stdout.write(`${address}\n`);
await systemClock.sleep(60_000);
