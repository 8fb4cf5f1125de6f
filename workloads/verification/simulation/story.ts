/** The story of a run: which process did what, in order, in virtual time, one line per event. */
import type { Plan } from './plan.ts';
import { simulate } from './simulate.ts';

/** The run from its beginning to its end, then its violations. */
export async function tellStory(plan: Plan): Promise<readonly string[]> {
  const lines: string[] = [];
  const { violations } = await simulate(plan, {
    tell: (timeMs, who, what) => {
      lines.push(`${String(timeMs).padStart(6)} ms  ${who}: ${what}`);
    },
  });
  return [...lines, ...violations.map(({ claim, message }) => `${claim}: ${message}`)];
}
