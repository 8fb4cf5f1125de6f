/** One thread of simulations.ts: performs its simulation, and posts the result. */
import { parentPort, workerData } from 'node:worker_threads';
import { createSyntheticDocuments } from '../crawl-rate/documents/index.ts';
import { measureCrawl } from './figure-7/crawl.ts';
import { Repository } from './figure-7/repository.ts';
import type { Simulation } from './simulations.ts';

// Conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

const { documents, plan } = workerData as Simulation;
const repository = new Repository(createSyntheticDocuments(documents));
parentPort?.postMessage(await measureCrawl(plan, repository));
