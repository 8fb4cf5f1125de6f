/**
 * What operations of engine and embedded store cost by their shape: rows of a call, cells and bytes
 * of a row, mutations that share a group of the log. They run on tables as large as those of the
 * workloads, and in one process, whose compiled code has seen all operations: code that has seen
 * only reads would be faster.
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
  /** Rows of each table. */
  readonly rows: number;
  readonly rounds: number;
  /** Of a case in a round. */
  readonly operations: number;
  /** The same after each pause (idle.ts). */
  readonly afterPauses: number;
}

export interface MeasuredOperations {
  readonly operations: readonly OperationCost[];
  readonly idle: readonly IdleCost[];
}

export interface OperationCost {
  readonly what: string;
  readonly inFlight: number;
  /** Processor time of all threads, the lower quartile of the rounds. */
  readonly us: number;
  /** Without the threads that write to the disk. */
  readonly mainUs: number;
  /** Groups of the log for each operation. */
  readonly groups: number;
}

/**
 * In flight: as in bench:micro; and few and many callers, whose groups of the log differ in size.
 */
export const IN_FLIGHT = { usual: 64, few: 16, many: 256 };
/** Of slices: what else the machine does only makes them slower. */
const QUARTILE = 0.25;
/** More than a slice has; no multiple of the rows, so that slices visit different ones. */
const OPERATIONS_MAX = 1_370_003;

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
  let first = OPERATIONS_MAX;
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
      first += OPERATIONS_MAX;
    }
    const alone = opened.cases.filter(({ inFlight }) => inFlight !== IN_FLIGHT.few);
    const run = { first, operations: plan.afterPauses };
    const costs = await measureIdle(
      alone.map(({ one }) => one),
      run,
    );
    first += OPERATIONS_MAX;
    if (round > 0) idle.push(...costs);
    given.onRound(round);
  }
  return { operations: costsOf(slices), idle: mediansOf(idle) };
}

interface Opened {
  readonly cases: readonly { readonly inFlight: number; readonly one: Case }[];
  /** Groups that the log has had so far. */
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
  const [reads = [], writes = []] = figure8Cases(percolator, data, { messages, written });
  const allReads = [...reads, ...readsOfShapes(store, data), batchedReads(batched, data)];
  const allWrites = [...writes, ...writesOfShapes(store, data)];
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
