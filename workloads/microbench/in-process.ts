/**
 * One caller at a time, timed by tinybench: the latency of an operation with no other in flight, on
 * the embedded storage and on one in memory, where the remaining time is the engine's.
 *
 * tinybench runs its tasks one after the other; so each round is a bench of its own, in an order
 * drawn from the seed, and the median of the rounds' medians counts.
 */
import { median } from 'simple-statistics';
import { Bench } from 'tinybench';
import {
  batchTimestamps,
  type Bigtable,
  openLeasedAllocator,
  openPercolator,
  type Percolator,
  type Random,
  systemClock,
} from '#engine';
import type { EngineSettings } from '../harness/engine-settings.ts';
import { shuffled } from '../harness/shuffled.ts';
import type { Case } from './case.ts';

export interface InProcessCost {
  readonly name: string;
  /** Median time of one operation, in microseconds. */
  readonly medianUs: number;
  readonly samples: number;
}

export async function timeInProcess(
  cases: readonly Case[],
  run: {
    readonly rounds: number;
    readonly milliseconds: number;
    readonly firstOperation: number;
    readonly random: Random;
    readonly signal: AbortSignal;
  },
): Promise<readonly InProcessCost[]> {
  const next = new Map(cases.map(({ name }) => [name, run.firstOperation]));
  const medians = new Map<string, number[]>();
  const samples = new Map<string, number>();
  for (let round = 0; round < run.rounds; round++) {
    const bench = new Bench({
      time: run.milliseconds,
      warmupTime: run.milliseconds / 4,
      signal: run.signal,
      throws: true,
    });
    for (const one of shuffled(run.random, cases)) {
      await one.prepare?.(next.get(one.name) ?? 0, Number.MAX_SAFE_INTEGER);
      bench.add(one.name, async () => {
        const operation = next.get(one.name) ?? 0;
        next.set(one.name, operation + 1);
        await one.operate(operation);
      });
    }
    await bench.run();
    run.signal.throwIfAborted();
    for (const { name, result } of bench.tasks) {
      if (result.state !== 'completed') throw new Error(`tinybench did not complete ${name}`);
      medians.set(name, [...(medians.get(name) ?? []), result.latency.p50 * 1_000]);
      samples.set(name, (samples.get(name) ?? 0) + result.latency.samplesCount);
    }
    for (const one of cases) await one.settle?.();
  }
  return cases.map(({ name }) => ({
    name,
    medianUs: median(medians.get(name) ?? []),
    samples: samples.get(name) ?? 0,
  }));
}

/**
 * A database whose oracle hands out of memory, like that of the storage on disk. The engine's own
 * default reads the storage for each timestamp, which would count as time of the engine.
 */
export async function openInMemory(
  store: Bigtable,
  engine: EngineSettings,
  cleanup: AsyncDisposableStack,
): Promise<Percolator> {
  const oracle = batchTimestamps(cleanup.use(await openLeasedAllocator(store, systemClock)));
  return cleanup.use(await openPercolator({ store, oracle, ...engine }));
}
