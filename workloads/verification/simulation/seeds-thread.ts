/** One thread of seeds.ts: runs its share, and posts its tally a few times a second. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../engine/base/index.ts';
import { planOf } from './plan.ts';
import { add, NOTHING, type Share, tallyOf } from './seeds.ts';
import { simulate } from './simulate.ts';

const POST_MS = 250;

// Millions of conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

const { from, to, step, extras } = workerData as Share;
let tally = NOTHING;
let postedMs = systemClock.monotonicMs();
for (let seed = from; seed <= to; seed += step) {
  tally = add(tally, tallyOf(await simulate(planOf(seed, extras))));
  if (systemClock.monotonicMs() - postedMs < POST_MS) continue;
  parentPort?.postMessage(tally);
  tally = NOTHING;
  postedMs = systemClock.monotonicMs();
}
parentPort?.postMessage(tally);
