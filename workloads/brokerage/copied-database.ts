/**
 * An experiment on a copy of the loaded embedded store, which is opened, run at full speed, checked
 * and deleted.
 */
import path from 'node:path';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { RunResult } from './clients.ts';
import { type Context, unpacedLoad, checkSessions } from './context.ts';
import { tradesPerSecond } from './point.ts';
import { Session } from './session.ts';
import {
  openPercolatorDatabase,
  type PercolatorDatabaseOptions,
} from './systems/percolator-database.ts';

export type Changes = Pick<PercolatorDatabaseOptions, 'brokerUpdate' | 'engine' | 'countsCalls'>;

/** Adds to the results what the check finds wrong afterwards. */
export async function runOnCopy(
  context: Context,
  {
    loaded,
    name,
    changes,
  }: { readonly loaded: string; readonly name: string; readonly changes: Changes },
): Promise<RunResult> {
  const { plan, population, work, progress, signal, results } = context;
  progress.phase(`${name}: opening`, 0);
  await using database = await openPercolatorDatabase(population, {
    ...changes,
    kind: 'embedded',
    store: 'embedded',
    folder: path.join(work, 'copy'),
    copyOf: loaded,
    processes: undefined,
    signal,
  });
  const [system] = database.systems;
  if (system === undefined) throw new Error('a Percolator database has one variant');
  const options = { population, clients: 1, number: 0, originMs: monotonicMs(), signal };
  await using session = await Session.open(system, options);
  progress.phase(`${name}: ${plan.users} users at full speed`, 0);
  const result = await session.run(unpacedLoad(plan));
  await session.stop();
  progress.phase(`${name}: checking`, 0);
  results.wrong.push(...(await checkSessions(name, database, [session])));
  results.checked.push(name);
  progress.note(`${name}: ${tradesPerSecond(result).toFixed(1)} TR/s`);
  return result;
}
