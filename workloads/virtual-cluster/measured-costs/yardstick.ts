/**
 * The raw read of bench:micro, as the unit of what is measured here: how long it takes is measured
 * again and again in between, so a machine that is busy with something else slows both alike.
 *
 * Its store is that of bench:micro: as many rows of the same size.
 */
import path from 'node:path';
import { openPercolator, openStore, type Percolator } from '#engine';
import { closedLoop } from '../../harness/load/closed-loop.ts';
import type { Case } from '../../microbench/case.ts';
import { Data, loadTables } from '../../microbench/data.ts';
import { comparedCases } from '../../microbench/figure-8-cases.ts';

const ROWS = 20_000;
const VALUE_BYTES = 100;
const IN_FLIGHT = 64;
const WARM_UPS = 20;

/** Resolves to the processor time of a raw read now, in microseconds. */
export type Yardstick = () => Promise<number>;

/** Raw reads of one measurement. */
export const YARDSTICK_READS = 5_000;

/** Whether a stack of these files is a raw read of the yardstick. */
export function isOfYardstick(files: readonly string[]): boolean {
  return files.some((file) => file.endsWith('/microbench/figure-8-cases.ts'));
}

/**
 * @param rowsMax fewer rows than bench:micro has make a wrong yardstick, for tests
 * @param cleanup closes its store
 */
export async function openYardstick(
  folder: string,
  rowsMax: number,
  cleanup: AsyncDisposableStack,
): Promise<Yardstick> {
  const rows = Math.min(ROWS, rowsMax);
  const { percolator, data } = await openLoaded(path.join(folder, 'yardstick'), rows, cleanup);
  const written = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
  const read = comparedCases(percolator, data, written)[0]?.[0];
  if (read === undefined) throw new Error('the first case of figure 8 is a raw read');
  const run = { first: 0, operations: YARDSTICK_READS };
  const measure = async (): Promise<number> => (await processorUs(read, run)).us;
  for (let i = 0; i < WARM_UPS; i++) await measure();
  return measure;
}

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
  run: { readonly first: number; readonly operations: number; readonly concurrency?: number },
): Promise<ProcessorUs> {
  const { signal } = new AbortController();
  await prepare?.(run.first, run.operations);
  const before = process.cpuUsage();
  const mainBefore = process.threadCpuUsage();
  await closedLoop(operate, { concurrency: IN_FLIGHT, signal, ...run });
  await settle?.();
  const main = process.threadCpuUsage(mainBefore);
  const { user, system } = process.cpuUsage(before);
  return {
    us: (user + system) / run.operations,
    mainUs: (main.user + main.system) / run.operations,
  };
}
