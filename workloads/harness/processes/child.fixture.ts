/** A process for tests: follows its options, and adds bytes to a file while it is alive. */
import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { serve, tellParent } from './serve.ts';

export interface ChildOptions {
  /** The file that grows while the process is alive. */
  readonly alive: string;
  /** The fault to simulate. */
  readonly fault?:
    | 'at start'
    | 'never ready'
    | 'on message'
    | 'does not stop'
    | 'ends on message'
    | undefined;
}

await serve<string>(async ({ alive, fault }: ChildOptions) => {
  console.error('it begins');
  const beat = setInterval(() => appendFileSync(alive, '.'), 10);
  if (fault === 'at start') throw new Error('there is no store here');
  if (fault === 'never ready') await new Promise(() => {});
  return {
    ready: { pid: process.pid },
    onMessage: (message) => {
      if (fault === 'on message') throw new Error(`cannot understand ${message}`);
      if (fault === 'ends on message') process.exit(0);
      tellParent(message.toUpperCase());
    },
    stop: async () => {
      if (fault === 'does not stop') return; // The interval keeps the process alive.
      clearInterval(beat);
    },
  };
});
