/** The thread that checks a point (check.ts): posts what it finds. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkRuns } from './batch/point.ts';
import type { FinishedRuns, FinishedStore } from './check.ts';
import { checkStore } from './percolator/point.ts';

const finished = workerData as FinishedRuns | FinishedStore;
const check = 'store' in finished ? await checkStore(finished) : await checkRuns(finished);
parentPort?.postMessage(check);
