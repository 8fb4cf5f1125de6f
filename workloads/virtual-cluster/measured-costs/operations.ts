/**
 * Measures what operations of the engine and of the embedded store cost, depending on their shape:
 * the rows of a call, the cells and bytes of a row, the mutations that share a group of the log.
 * All run in one process, on tables as large as those of the workloads (except in the profile
 * smoke): reads are cheaper in small tables, and in code that V8 has compiled for reads alone.
 */
import path from 'node:path';
import { quantile } from 'simple-statistics';
import { createRandom, openPercolator } from '#engine';
import { shuffled } from '../../harness/shuffled.ts';
import type { Case } from '../../microbench/case.ts';
import { figure8Cases, MESSAGE_CELL } from '../../microbench/figure-8-cases.ts';
import { recordMessages } from '../../microbench/recorded-messages.ts';
import { type IdleCost, measureIdle, mediansOf } from './idle.ts';
import { batchedReads, loadShapes, readsOfShapes, writesOfShapes } from './shapes.ts';
import { openLoaded, processorUs } from './processor-time.ts';

export interface OperationsPlan {
  /** Rows that are read, and as many others that are written (microbench/data.ts). */
  readonly rows: number;
  readonly rounds: number;
  /** Operations of each case in each round. */
  readonly operations: number;
  /** Operations after each pause in each round; 20 times as many without a pause (idle.ts). */
  readonly afterPauses: number;
}

export interface MeasuredOperations {
  readonly operations: readonly OperationCost[];
  readonly idle: readonly IdleCost[];
}

/** The cost in one slice, or that of all slices: lower quartiles of times, and means of groups. */
export interface OperationCost {
  readonly what: string;
  readonly inFlight: number;
  /** Processor time of all threads. */
  readonly us: number;
  /** Processor time of the main thread alone. */
  readonly mainUs: number;
  /** Groups of the log for each operation. */
  readonly groups: number;
}

/**
 * Operations in flight. Reads: as many as in bench:micro. Writes: few and many, because the more
 * are in flight, the more share a group of the log; the difference is what a group costs.
 */
export const IN_FLIGHT = { usual: 64, few: 16, many: 256 };
/** The quantile of the slices that counts. It is low, because other programs only slow them. */
const QUARTILE = 0.25;
/**
 * From the first operation of a slice to that of the next one: more than a slice has, also modulo
 * the number of rows, so that successive slices visit different rows.
 */
export const SLICE_DISTANCE = 1_370_617;

export async function measureOperations(
  folder: string,
  plan: OperationsPlan,
  given: { readonly signal: AbortSignal; readonly onRound: (round: number) => void },
): Promise<MeasuredOperations> {
  await using cleanup = new AsyncDisposableStack();
  const opened = await openCases(path.join(folder, 'operations'), plan.rows, cleanup);
  const slices: OperationCost[] = [];
  const idle: IdleCost[] = [];
  const random = createRandom(1);
  let first = SLICE_DISTANCE;
  // Round 0 compiles the code.
  for (let round = 0; round <= plan.rounds; round++) {
    given.signal.throwIfAborted();
    for (const { inFlight, one } of shuffled(random, opened.cases)) {
      const run = { first, operations: plan.operations, concurrency: inFlight };
      for (let step: Case | undefined = one; step !== undefined; step = step.followedBy) {
        const before = opened.groups();
        const { us, mainUs } = await processorUs(step, run);
        const groups = (opened.groups() - before) / run.operations;
        if (round > 0) slices.push({ what: step.name, inFlight, us, mainUs, groups });
      }
      first += SLICE_DISTANCE;
    }
    // Each case once: writes are in the list twice.
    const single = opened.cases.filter(({ inFlight }) => inFlight !== IN_FLIGHT.few);
    const run = { first, operations: plan.afterPauses };
    const costs = await measureIdle(
      single.map(({ one }) => one),
      run,
    );
    first += SLICE_DISTANCE;
    if (round > 0) idle.push(...costs);
    given.onRound(round);
  }
  return { operations: costsOf(slices), idle: mediansOf(idle) };
}

interface Opened {
  readonly cases: readonly { readonly inFlight: number; readonly one: Case }[];
  /** Groups of the log since the cases were opened. */
  readonly groups: () => number;
}

async function openCases(
  folder: string,
  rows: number,
  cleanup: AsyncDisposableStack,
): Promise<Opened> {
  const { percolator, data } = await openLoaded(folder, rows, cleanup);
  const { store } = percolator;
  await loadShapes(store, data);
  const batched = cleanup.use(await openPercolator({ store, batching: {} }));
  const value = data.value({ row: 0, operation: 0 });
  const messages = await recordMessages({ store }, MESSAGE_CELL, value);
  const written = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
  const groups8 = figure8Cases(percolator, data, { messages, written });
  const [reads = [], writes = [], readParts = [], writeParts = []] = groups8;
  const shapes = { reads: readsOfShapes(store, data), writes: writesOfShapes(store, data) };
  const allReads = [...reads, ...readParts, ...shapes.reads, batchedReads(batched, data)];
  const allWrites = [...writes, ...writeParts, ...shapes.writes];
  let groups = 0;
  store.onChange?.(() => groups++);
  return {
    cases: [
      ...allReads.map((one) => ({ inFlight: IN_FLIGHT.usual, one })),
      ...[IN_FLIGHT.few, IN_FLIGHT.many].flatMap((inFlight) =>
        allWrites.map((one) => ({ inFlight, one })),
      ),
    ],
    groups: () => groups,
  };
}

function costsOf(slices: readonly OperationCost[]): readonly OperationCost[] {
  const byCase = Map.groupBy(slices, ({ what, inFlight }) => `${what}, ${inFlight}`);
  return [...byCase.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const quartile = (key: 'us' | 'mainUs'): number =>
      quantile(
        some.map((one) => one[key]),
        QUARTILE,
      );
    const groups = some.reduce((sum, one) => sum + one.groups, 0) / some.length;
    return [{ ...first, us: quartile('us'), mainUs: quartile('mainUs'), groups }];
  });
}
