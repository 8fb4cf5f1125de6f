/**
 * A thread of point.slow.test.ts: measures a point whose engine finds no clusters, and posts its
 * check.
 */
import { mkdir } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { measureMapReduce } from './point.ts';

const { folder, repository } = workerData as { folder: string; repository: number };
const { check } = await measureMapReduce({
  engine: {
    name: 'idle',
    run: ({ outputFolder }) => mkdir(outputFolder),
    [Symbol.asyncDispose]: async () => {},
  },
  serverPids: [],
  folder,
  documents: { repository, documentBytes: 200, seed: 1 },
  repositoryFiles: [],
  arrivals: { file: 'arrivals', documents: 1_000_000 },
  perSecond: 1_000,
  seconds: 0.1,
  signal: new AbortController().signal,
});
parentPort?.postMessage(check);
