/** One thread of `huntAll`: hunts each mutant that it is sent, and posts what has caught it. */
import { parentPort } from 'node:worker_threads';
import { hunt, type Hunt } from './hunt.ts';
import { MUTANTS } from './mutants.ts';

// Conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

parentPort?.on('message', ({ name, seeds }: Hunt) => {
  void huntOne(name, seeds);
});

async function huntOne(name: string, seeds: readonly number[]): Promise<void> {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
  parentPort?.postMessage(await hunt(mutant, seeds));
}
