/**
 * A process that starts a PostgreSQL in the given folder, prints the id of the postmaster, and then
 * waits for a minute to be killed.
 */
import process from 'node:process';
import { systemClock } from '#engine';
import { providePostgres } from './server.ts';

const [, , folder] = process.argv;
const { pid } = await providePostgres({ environment: {}, folder });
process.stdout.write(`${pid}\n`);
await systemClock.sleep(60_000);
