/** Processor time of operations, on a store with the tables of bench:micro. */
import { openPercolator, openStore, type Percolator } from '#engine';
import { closedLoop } from '../../harness/load/closed-loop.ts';
import type { Case } from '../../microbench/case.ts';
import { Data, loadTables } from '../../microbench/data.ts';

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
  const before = process.cpuUsage();
  const mainBefore = process.threadCpuUsage();
  await closedLoop(operate, { signal, ...run });
  await settle?.();
  const main = process.threadCpuUsage(mainBefore);
  const { user, system } = process.cpuUsage(before);
  return {
    us: (user + system) / run.operations,
    mainUs: (main.user + main.system) / run.operations,
  };
}
