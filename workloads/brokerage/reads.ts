/** The paper's section 2.5 on this workload: the calls that batching and prefetching save. */
import type { DatabaseValues } from '../harness/engine-settings.ts';
import type { RunResult } from './clients.ts';
import { runOnCopy } from './copied-database.ts';
import { type Context } from './context.ts';
import { shuffled } from '../harness/shuffled.ts';
import { type ReadsVariant, VARIANT } from './results.ts';

type ReadSettings = Pick<DatabaseValues, 'batching' | 'prefetch'>;

const VARIANTS: readonly (readonly [string, ReadSettings])[] = [
  [VARIANT.off, { batching: 'off', prefetch: 'off' }],
  [VARIANT.prefetching, { batching: 'off', prefetch: 'learn' }],
  [VARIANT.batching, { batching: 'on', prefetch: 'off' }],
  [VARIANT.both, { batching: 'on', prefetch: 'learn' }],
];

/** Results come in the order above, whatever the order of measuring. */
export async function measureReads(
  context: Context,
  loaded: string,
): Promise<readonly ReadsVariant[]> {
  const measured = new Map<string, RunResult>();
  for (const [name, switches] of shuffled(context.random, VARIANTS)) {
    const { brokerUpdate, engine } = context.plan;
    const changes = { brokerUpdate, engine: { ...engine, ...switches }, countsCalls: true };
    measured.set(name, await runOnCopy(context, { loaded, name, changes }));
  }
  return VARIANTS.flatMap(([name]) => {
    const result = measured.get(name);
    return result === undefined ? [] : [{ name, result }];
  });
}
