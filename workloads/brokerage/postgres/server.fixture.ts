/**
 * A process that starts a PostgreSQL in the given folder, reports it, and then does nothing until
 * it is killed.
 */
import process from 'node:process';
import { systemClock } from '#engine';
import { providePostgres } from './server.ts';

const [, , folder] = process.argv;
const { pid } = await providePostgres({ environment: {}, folder });
process.stdout.write(`${pid}\n`);
await systemClock.sleep(60_000);
