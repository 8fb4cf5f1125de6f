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
  createRandom,
  openLeasedAllocator,
  openPercolator,
  type Percolator,
  type Random,
  systemClock,
} from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { column, lower, resultTable, type ResultTable, rowName } from '#results';
import { shuffled } from '../harness/chance.ts';
import { type EngineSettings, settingsOf } from '../harness/engine-settings.ts';
import type { BenchStore } from './bench-store.ts';
import type { MicroCase } from './case.ts';
import { Data, loadTables } from './data.ts';
import type { Watched } from './figure-8.ts';
import { comparedCases } from './figure-8-cases.ts';
import type { MicroPlan } from './plan.ts';

export interface InProcessCost {
  readonly name: string;
  /** Median time of one operation, in microseconds. */
  readonly medianUs: number;
  readonly samples: number;
}

/** The embedded storage, and one in memory, which shows the cost of the engine alone. */
export async function measureInProcess(
  bench: BenchStore,
  plan: MicroPlan,
  { signal, onPhase }: Watched,
): Promise<readonly InProcessCost[]> {
  onPhase(`${bench.name}: one caller at a time`);
  const random = createRandom(plan.seed).fork('in process');
  const run = { rounds: 3, milliseconds: 1_000 * plan.seconds, random, signal };
  const embedded = comparedCases(bench.percolator, bench.data, bench.written).flat();
  const first = bench.nextOperations();
  const onDisk = await timeInProcess(embedded, { ...run, firstOperation: first });

  await using cleanup = new AsyncDisposableStack();
  const percolator = await openInMemory(createMemoryBigtable(), settingsOf(plan), cleanup);
  const data = new Data({ ...plan, rows: Math.min(plan.rows, 1_000) });
  await loadTables(percolator, data);
  const written = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
  const inMemory = comparedCases(percolator, data, written).flat();
  const memory = await timeInProcess(inMemory, { ...run, firstOperation: 1 });
  return [...onDisk, ...memory.map(inMemoryNamed)];
}

function inMemoryNamed(timed: InProcessCost): InProcessCost {
  return { ...timed, name: `${timed.name}, storage in memory` };
}

async function timeInProcess(
  cases: readonly MicroCase[],
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

export function inProcessTable(timed: readonly InProcessCost[]): ResultTable {
  return resultTable(
    {
      name: 'in-process',
      title: 'One caller at a time, in the client’s process',
      caption:
        'Medians by tinybench. With a storage in memory, the engine is the difference between a Percolator operation and a raw one.',
    },
    timed,
    [
      rowName('operation', ({ name }) => name),
      column('median us', ({ medianUs }) => medianUs, lower('\u00b5s')),
      column('samples', ({ samples }) => samples),
    ],
  );
}
