/**
 * One run: each store is opened, loaded, measured and checked, one after the other, and the results
 * become the findings of the record. If the check of a store fails, neither the store nor the run
 * has numbers.
 */
import { createRandom, PercolatorError } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { type FindingsParts, firstErrorOf, UsageError } from '#results';
import type { Measuring } from '#harness';
import { type BenchStore, openBenchStore } from './bench-store.ts';
import { checkWritten } from './check.ts';
import { measureConditionalBatch } from './conditional-batch.ts';
import { Data, loadTables } from './data.ts';
import { comparedCases } from './figure-8-cases.ts';
import { measureFigure8, type MeasureOptions } from './figure-8.ts';
import { findingsOf } from './findings.ts';
import { type InProcessCost, openInMemory, timeInProcess } from './in-process.ts';
import type { Plan } from './plan.ts';
import { profileCases } from './profiled.ts';
import type { StoreResult } from './store-result.ts';
import { measureSweeps } from './sweeps.ts';

/** Measures each store that is on this machine; limitations of the record name the others. */
export async function measureStores(
  plan: Plan,
  { run, keep, progress, signal }: Measuring,
): Promise<FindingsParts> {
  const watched: MeasureOptions = { signal, onPhase: (what) => progress.phase(what, 0) };
  const results: StoreResult[] = [];
  const missing: string[] = [];
  const { limitations } = run.record;
  const note = (what: string): void => {
    missing.push(`Not measured: ${what}`);
    run.describe({ limitations: [...missing, ...limitations] });
    progress.note(missing.at(-1) ?? '');
  };
  for (const name of plan.stores) {
    const result = await resultOf(name, plan, watched, note);
    if (result !== undefined) results.push(result);
    keep(findingsOf(results));
  }
  if (results.length === 0) throw new UsageError(missing.join(' '));
  return findingsOf(results);
}

/** Resolves to undefined for a store that is not on this machine. */
async function resultOf(
  name: string,
  plan: Plan,
  watched: MeasureOptions,
  note: (missing: string) => void,
): Promise<StoreResult | undefined> {
  watched.onPhase(`${name}: opening and loading`);
  let bench: BenchStore;
  try {
    bench = await openBenchStore(name, plan, watched.signal);
  } catch (error) {
    const why = whyMissing(error);
    if (why === undefined) throw error;
    if (plan.stores.length === 1) {
      throw new UsageError(`Not measured: ${name}. ${why}`, { cause: error });
    }
    note(`${name}. ${why}`);
    return undefined;
  }
  await using opened = bench;
  if (plan.conditionalBatch && !opened.store.manifest.conditionalBatch) {
    note(`conditional mutations that share an RPC, on ${name}, where each has an RPC of its own.`);
  }
  const measured = measureStore(opened, plan, watched);
  return opened.services === null ? await measured : await opened.services.crew.during(measured);
}

/**
 * A sentence, if the store is not on this machine, does not answer, or denies access. The clean-up
 * may have failed as well, so the first of the thrown errors counts.
 */
export function whyMissing(thrown: unknown): string | undefined {
  const error = firstErrorOf(thrown);
  if (error instanceof UsageError) return error.message;
  if (!(error instanceof PercolatorError)) return undefined;
  const isMissing = error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_REFUSED';
  return isMissing ? error.message : undefined;
}

async function measureStore(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<StoreResult> {
  const { name, store } = bench;
  const figure8 = await measureFigure8(bench, plan, watched);
  const { slices } = figure8;
  const sweeps = plan.figureOnly ? null : await measureSweeps(bench, plan, watched, slices);
  const conditionalBatch = plan.conditionalBatch
    ? await measureConditionalBatch(bench, plan, watched)
    : [];
  const profiles = plan.profileCpu ? await profileCases(bench, plan, watched, slices) : null;
  const inProcess =
    plan.figureOnly || name !== 'embedded' ? null : await measureInProcess(bench, plan, watched);
  watched.onPhase(`${name}: checking`);
  const written = await checkWritten(bench.percolator, bench.data, bench.written);
  const wrong = [...written, ...(sweeps?.wrong ?? [])];
  const { durability } = store.manifest;
  return { name, durability, figure8, sweeps, conditionalBatch, profiles, inProcess, wrong };
}

/** The embedded storage, and one in memory, which shows the cost of the engine alone. */
async function measureInProcess(
  bench: BenchStore,
  plan: Plan,
  { signal, onPhase }: MeasureOptions,
): Promise<readonly InProcessCost[]> {
  onPhase(`${bench.name}: one caller at a time`);
  const random = createRandom(plan.seed).fork('in process');
  const run = { rounds: 3, milliseconds: 1_000 * plan.seconds, random, signal };
  const embedded = comparedCases(bench.percolator, bench.data, bench.written).flat();
  const first = bench.nextOperations();
  const onDisk = await timeInProcess(embedded, { ...run, firstOperation: first });

  await using cleanup = new AsyncDisposableStack();
  const percolator = await openInMemory(createMemoryBigtable(), plan.engine, cleanup);
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
