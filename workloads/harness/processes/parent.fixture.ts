/** An experiment for tests: two processes that run until one of them or their parent ends. */
import { runCommand, text } from '#harness';
import type { ChildOptions } from './child.fixture.ts';
import { Crew } from './index.ts';

const CHILD = new URL('child.fixture.ts', import.meta.url);

await runCommand(
  {
    script: 'parent.fixture',
    description: 'For tests.',
    options: { alive: text({ description: 'files that grow as long as a process is alive' }) },
    examples: [],
  },
  async ({ alive = '' }, { signal }) => {
    await using crew = new Crew(signal);
    const pids: unknown[] = [];
    for (const name of ['first', 'second']) {
      const options = { alive: `${alive}-${name}` } satisfies ChildOptions;
      pids.push((await crew.start({ name, program: CHILD, options })).pid);
    }
    console.log(pids.join(' '));
    const untilInterrupted = new Promise<never>(() => {});
    await crew.during(untilInterrupted);
  },
);
