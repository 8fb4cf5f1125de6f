/**
 * A program for tests: commits endlessly, and exits in the middle of it.
 *
 *     node exit.fixture.ts <folder> exit | throw | twice <milliseconds until then>
 *
 * `exit` calls `process.exit(3)`, `throw` meets an uncaught exception, and `twice` has a listener
 * that exits with another code when the process exits. Another listener says goodbye.
 */
import { writeSync } from 'node:fs';
import process from 'node:process';
import { systemClock } from '../../base/index.ts';
import { openEmbedded } from './index.ts';

const WRITERS = 8;
const STDOUT = 1;

const [folder = '', how = '', delayMs = ''] = process.argv.slice(2);
const store = await openEmbedded({ folder });

async function writeForever(row: string): Promise<never> {
  for (let timestamp = 1; ; timestamp++) {
    const set = { kind: 'set', family: 'data', qualifier: 'q', value: Buffer.from(row) } as const;
    await store.mutateRows([{ table: 't', row, mutations: [{ ...set, timestamp }] }]);
  }
}

for (let i = 0; i < WRITERS; i++) void writeForever(`${process.pid}-${i}`);
process.on('exit', () => writeSync(STDOUT, 'goodbye'));
if (how === 'twice') process.on('exit', () => process.exit(4));

await systemClock.sleep(Number(delayMs));
if (how === 'throw') throw new Error('uncaught on purpose');
process.exit(3);
