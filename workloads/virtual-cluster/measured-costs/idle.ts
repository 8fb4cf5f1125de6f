/**
 * What operations take one by one, and after a pause: other processes use the processor's caches
 * meanwhile, so this one is slower at first (warmth.ts), and so are the disk and the threads that
 * write to it. A timer ends the pause, as timers let documents and customers arrive; its processor
 * time counts.
 */
import { median } from 'simple-statistics';
import { systemClock } from '#engine';
import type { Case } from '../../microbench/case.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { processorUs } from './processor-time.ts';

export interface IdleCost {
  readonly what: string;
  /** 0: the next operation begins at the end of the last. */
  readonly idleMs: number;
  /** Processor time of the main thread, the median of the rounds. */
  readonly mainUs: number;
  /** From its beginning to its end, the median of a round's operations, and of the rounds. */
  readonly tookUs: number;
}

/** The table's name in the record. */
export const IDLE_TABLE = 'idle';
/** A short operation, and one with more than ten times the work. */
export const ALONE: readonly string[] = [NAMES.rawRead, NAMES.write];
/** Little more than a group of the log. */
export const SYNCED: string = NAMES.rawWrite;
/** Pauses before an operation, in milliseconds. */
export const PAUSES_MS: readonly number[] = [2, 10, 50];
/** Operations without a pause take less time, so there are more of them. */
const WITHOUT_PAUSE = 20;

/** One round. @param operations for each pause */
export async function measureIdle(
  cases: readonly Case[],
  { first, operations }: { readonly first: number; readonly operations: number },
): Promise<readonly IdleCost[]> {
  const costs: IdleCost[] = [];
  let next = first;
  for (const one of cases.filter(({ name }) => name === SYNCED || ALONE.includes(name))) {
    for (const idleMs of [0, ...PAUSES_MS]) {
      const count = idleMs === 0 ? WITHOUT_PAUSE * operations : operations;
      const tookUs: number[] = [];
      const run = { first: next, operations: count, concurrency: 1 };
      const { mainUs } = await processorUs(timed(one, idleMs, tookUs), run);
      costs.push({ what: one.name, idleMs, mainUs, tookUs: median(tookUs) });
      next += count;
    }
  }
  return costs;
}

/** The case after pauses; what each operation takes is added to `tookUs`. */
function timed(one: Case, idleMs: number, tookUs: number[]): Case {
  const operate = async (operation: number): Promise<void> => {
    if (idleMs > 0) await systemClock.sleep(idleMs);
    const beganMs = systemClock.monotonicMs();
    await one.operate(operation);
    tookUs.push(1000 * (systemClock.monotonicMs() - beganMs));
  };
  return { ...one, operate };
}

/** Medians, not lower quartiles: what other processes do meanwhile is to be in the cost. */
export function mediansOf(costs: readonly IdleCost[]): readonly IdleCost[] {
  const groups = Map.groupBy(costs, ({ what, idleMs }) => `${what} ${idleMs}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const middle = (key: 'mainUs' | 'tookUs'): number => median(some.map((one) => one[key]));
    return [{ ...first, mainUs: middle('mainUs'), tookUs: middle('tookUs') }];
  });
}
