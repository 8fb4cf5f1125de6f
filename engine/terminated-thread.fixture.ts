/** A thread that commits until it is terminated, and tells which rows were acknowledged. */
import { parentPort, workerData } from 'node:worker_threads';
import { openPercolator } from './percolator.ts';

const { folder, round, shared } = workerData as {
  folder: string;
  round: number;
  shared: readonly string[];
};
const LOOPS = 20;

const database = await openPercolator({ folder, fsync: false, lockTimeToLiveMs: 6e5 });
await database.createTable('t');
await Promise.all(
  Array.from({ length: LOOPS }, async (_, loop) => {
    for (let i = 0; ; i++) {
      const row = `${round}-${loop}-${i}`;
      await database.transact(async (transaction) => {
        transaction.set({ table: 't', row, column: 'c' }, Buffer.alloc(20_000));
        const one = shared[i % shared.length] ?? '';
        transaction.set({ table: 't', row: one, column: 'c' }, row);
      });
      parentPort?.postMessage(row);
    }
  }),
);
