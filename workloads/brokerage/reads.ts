/** Section 2.5 on this workload: what batching and prefetching save of the calls of the store. */
import type { DatabaseValues } from '../tuning/engine-settings.ts';
import type { Ran } from './clients.ts';
import { runOnCopy } from './copied-database.ts';
import { type Around, shuffled } from './around.ts';
import type { ReadsVariant } from './results.ts';

type Switches = Pick<DatabaseValues, 'batching' | 'prefetch'>;

export const EVERYTHING_OFF = 'everything off';
const VARIANTS: readonly (readonly [string, Switches])[] = [
  [EVERYTHING_OFF, { batching: 'off', prefetch: 'off' }],
  ['prefetching', { batching: 'off', prefetch: 'learn' }],
  ['batching', { batching: 'on', prefetch: 'off' }],
  ['both', { batching: 'on', prefetch: 'learn' }],
];

/** In the order above, whatever the order of measuring. */
export async function measureReads(
  around: Around,
  loaded: string,
): Promise<readonly ReadsVariant[]> {
  const measured = new Map<string, Ran>();
  for (const [name, switches] of shuffled(around.random, VARIANTS)) {
    const { brokerUpdate, engine } = around.plan;
    const changes = { brokerUpdate, engine: { ...engine, ...switches }, countsCalls: true };
    measured.set(name, await runOnCopy(around, { loaded, name, changes }));
  }
  return VARIANTS.flatMap(([name]) => {
    const ran = measured.get(name);
    return ran === undefined ? [] : [{ name, ran }];
  });
}
