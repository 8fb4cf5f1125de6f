/**
 * A program for tests: writes rows of two cells, and prints each key when its mutation has
 * resolved.
 *
 *     node write.fixture.ts <folder> <key prefix> [number of rows] [without-fsync]
 *
 * Without a number of rows it writes until it is killed. Several writers are in flight at once, so
 * that a kill hits groups of several rows.
 */
import { writeSync } from 'node:fs';
import { argv } from 'node:process';
import { openEmbedded } from './index.ts';

const WRITERS = 8;
const STDOUT = 1;

const [folder = '', prefix = ''] = argv.slice(2);
const count = Number(argv[4] ?? Infinity);
const store = await openEmbedded({ folder, fsync: argv[5] !== 'without-fsync' });
let next = 0;

async function write(): Promise<void> {
  while (next < count) {
    const row = `${prefix}${next++}`;
    const value = Buffer.from(row);
    await store.mutateRows([
      {
        table: 't',
        row,
        mutations: [
          { kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value },
          { kind: 'set', family: 'lock', qualifier: 'q', timestamp: 1, value },
        ],
      },
    ]);
    writeSync(STDOUT, `${row}\n`); // Not console.log, whose buffer would die with the process.
  }
}

await Promise.all(Array.from({ length: WRITERS }, write));
await store.close();
