/**
 * An experiment for tests: two processes that run until one of them or their parent ends, here or
 * on other hosts.
 */
import { integer, runCommand, text } from '#harness';
import { gatherHosts } from '../hosts/coordinator.ts';
import type { ChildOptions } from './child.fixture.ts';
import { byTurns, Crew } from './index.ts';

const CHILD = new URL('child.fixture.ts', import.meta.url);

await runCommand(
  {
    script: 'parent.fixture',
    description: 'For tests.',
    options: {
      alive: text({ description: 'files that grow as long as a process is alive' }),
      hosts: integer({ description: 'other hosts', min: 0, max: 9, default: 0 }),
    },
    examples: [],
  },
  async ({ alive = '', hosts: count }, { signal }) => {
    const say = (line: string): void => console.error(line);
    await using gathered =
      count === 0 ? undefined : await gatherHosts({ count, listen: '127.0.0.1:0', signal, say });
    await using crew = new Crew(signal, { placeOf: byTurns(gathered?.hosts ?? []) });
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
