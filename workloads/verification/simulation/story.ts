/** The story of a run: who did what, in order, in virtual time. One line for each thing that happened. */
import type { Plan } from './plan.ts';
import { simulate } from './simulate.ts';

/** The run told from its beginning to its end, then what is wrong with it. */
export async function tellStory(plan: Plan): Promise<readonly string[]> {
  const lines: string[] = [];
  const { violations } = await simulate(plan, {
    tell: (timeMs, who, what) => {
      lines.push(`${String(timeMs).padStart(6)} ms  ${who}: ${what}`);
    },
  });
  return [...lines, ...violations.map(({ claim, message }) => `${claim}: ${message}`)];
}
