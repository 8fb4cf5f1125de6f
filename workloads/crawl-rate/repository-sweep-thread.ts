/** The thread of repository-sweep.ts that checks a turn: posts what it finds. */
import { parentPort, workerData } from 'node:worker_threads';
import { openPercolator, openStore } from '#engine';
import { checkCrawl, crawlDocuments } from './clustering-loop.ts';
import type { FinishedTurn } from './repository-sweep.ts';

const { folder, size, seed, order } = workerData as FinishedTurn;
await using store = await openStore({ kind: 'embedded', folder });
await using percolator = await openPercolator({ store });
parentPort?.postMessage(await checkCrawl(percolator, crawlDocuments(size, seed), order));
