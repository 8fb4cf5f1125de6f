/** Processor time of operations, on a store with the tables of bench:micro. */
import { openPercolator, openStore, type Percolator } from '#engine';
import { closedLoop } from '../../harness/load/closed-loop.ts';
import type { Case } from '../../microbench/case.ts';
import { Data, loadMessages, loadTables } from '../../microbench/data.ts';

const VALUE_BYTES = 100;

/** The tables of bench:micro in a store of their own, which `cleanup` closes. */
export async function openLoaded(
  folder: string,
  rows: number,
  cleanup: AsyncDisposableStack,
): Promise<{ readonly percolator: Percolator; readonly data: Data }> {
  const store = cleanup.use(await openStore({ kind: 'embedded', folder }));
  const percolator = cleanup.use(await openPercolator({ store }));
  const data = new Data({ rows, valueBytes: VALUE_BYTES, seed: 1 });
  await loadTables(percolator, data);
  await loadMessages(percolator, data);
  return { percolator, data };
}

export interface ProcessorUs {
  /** Of all threads, and of the main thread alone. */
  readonly us: number;
  readonly mainUs: number;
}

/** Processor time of each of the operations, in microseconds. */
export async function processorUs(
  { operate, prepare, settle }: Case,
  run: { readonly first: number; readonly operations: number; readonly concurrency: number },
): Promise<ProcessorUs> {
  const { signal } = new AbortController();
  await prepare?.(run.first, run.operations);
  const before = processorTime();
  await closedLoop(operate, { signal, ...run });
  await settle?.();
  const now = processorTime();
  return {
    us: (now.process - before.process) / run.operations,
    mainUs: (now.main - before.main) / run.operations,
  };
}

/**
 * Microseconds. The process comes first: on Linux the time of a thread alone stands still between
 * ticks of the scheduler, 4 ms, unless the time of its process was asked for just before.
 */
function processorTime(): { process: number; main: number } {
  const all = process.cpuUsage();
  const main = process.threadCpuUsage();
  return { process: all.user + all.system, main: main.user + main.system };
}
