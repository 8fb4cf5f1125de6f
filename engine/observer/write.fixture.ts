/**
 * A program for tests: writes an observed cell each time its parent asks,
 * and reports each commit.
 */
import process from 'node:process';
import { openPercolator } from '../percolator.ts';

const percolator = await openPercolator({ folder: process.argv[2] ?? '', fsync: false });

process.on('message', (row: string) => {
  void percolator
    .transact(async (transaction) => transaction.set({ table: 't', row, column: 'seen' }, row))
    .then(() => process.send?.(row));
});
process.on('disconnect', () => void percolator.close());
process.send?.('ready');
