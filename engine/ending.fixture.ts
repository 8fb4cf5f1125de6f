/**
 * A program that uses a database in the way its first argument names, in the folder of its second,
 * and then has nothing left to do. All that the engine may wait for takes ten minutes.
 */
import { argv } from 'node:process';
import { systemClock } from './base/index.ts';
import { openPercolator, type Percolator } from './percolator.ts';

const MINUTES_10_MS = 600_000;
const [, , mode = '', folder = ''] = argv;
const cell = { table: 't', row: 'r', column: 'c' };
/** Warnings are expected: the databases of some programs are closed under their work. */
const onWarning = (): void => {};
const patient = { messageLifetimeMs: MINUTES_10_MS, restMs: MINUTES_10_MS, onWarning };

function open(): Promise<Percolator> {
  const times = { lockTimeToLiveMs: MINUTES_10_MS, leaseTimeToLiveMs: MINUTES_10_MS };
  return openPercolator({ folder, fsync: false, ...times });
}

async function use(database: Percolator): Promise<void> {
  await database.createTable('t', { observedColumns: ['seen'] });
  await database.transact(async (transaction) => transaction.set(cell, 'v'));
}

function startWorker(database: Percolator): Promise<void> {
  const observer = { name: 'o', table: 't', column: 'seen', run: async () => {} };
  const options = { idleMs: MINUTES_10_MS, idleMsMax: MINUTES_10_MS, onWarning };
  return database.startWorker([observer], options).ended;
}

/** It may fail, because the database is closed. */
function ignore(work: Promise<unknown>): void {
  work.catch(() => {});
}

const database = await open();
await use(database);
switch (mode) {
  case 'not closed':
    break;
  case 'a client, not closed':
    await use(await open());
    break;
  case 'a snapshot left open':
    await database.snapshot();
    break;
  case 'closed':
    await database.close();
    break;
  case 'closed with a snapshot open':
    await database.snapshot();
    await database.close();
    break;
  case 'closed with a commit in flight':
    ignore(database.transact(async (transaction) => transaction.set(cell, 'w')));
    await database.close();
    break;
  case 'closed with a worker, a collector and a collection waiting':
    ignore(startWorker(database));
    ignore(database.startCollector(patient).ended);
    ignore(database.collectGarbage(patient));
    await systemClock.sleep(100); // So that each of them waits.
    await database.close();
    break;
  default:
    throw new Error(`there is no mode ${mode}`);
}
console.log('all is done');
