/**
 * A process that shares a folder, in Node, Deno or Bun. It prints `open` when it has opened the
 * folder; when its input ends, it increments one cell, in transactions, and prints how often.
 */
import process from 'node:process';
import { openPercolator } from '../../../engine/index.ts';

const [folder = '', fsync = '', count = ''] = process.argv.slice(2);
await using percolator = await openPercolator({ folder, fsync: fsync === 'true' });
await percolator.createTable('counters');
const cell = { table: 'counters', row: 'shared', column: 'count' };
console.log('open');
for await (const _ of process.stdin);
for (let i = 0; i < Number(count); i++) {
  await percolator.transact(async (transaction) => {
    transaction.set(cell, String(Number((await transaction.get(cell)) ?? 0) + 1));
  });
}
console.log(count);
