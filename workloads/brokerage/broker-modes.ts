/**
 * The update of the broker, which the paper left out because it conflicts. It is measured in three
 * modes: left out, inside the transaction, and by way of a side table. All modes run at full speed,
 * far above the customers' nominal load, so that trades of one broker conflict more often.
 */
import type { RunResult } from './clients.ts';
import { runOnCopy } from './copied-database.ts';
import { type Context } from './context.ts';
import { shuffled } from '../harness/shuffled.ts';
import type { BrokerUpdate } from './model/index.ts';
import type { BrokerMode } from './results.ts';

const MODES: readonly BrokerUpdate[] = ['omit', 'inline', 'side-table'];

export async function measureBrokerModes(
  context: Context,
  loaded: string,
): Promise<readonly BrokerMode[]> {
  const measured = new Map<BrokerUpdate, RunResult>();
  for (const mode of shuffled(context.random, MODES)) {
    const { engine } = context.plan;
    const changes = { brokerUpdate: mode, engine, countsCalls: false };
    measured.set(mode, await runOnCopy(context, { loaded, name: `broker ${mode}`, changes }));
  }
  return MODES.flatMap((mode) => {
    const result = measured.get(mode);
    return result === undefined ? [] : [{ mode, result }];
  });
}
