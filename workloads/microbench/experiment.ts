/**
 * One run: each store is opened, loaded, measured and checked, one after the other, and the results
 * become the findings of the record. If the check of a store fails, neither the store nor the run
 * has numbers.
 */
import { PercolatorError } from '#engine';
import { databaseProbes, live, type Measuring } from '#harness';
import { type FindingsParts, firstErrorOf, UsageError } from '#results';
import { type BenchStore, openBenchStore } from './bench-store.ts';
import { measureConditionalBatch } from './conditional-batch.ts';
import { profileCases } from './cpu-profile.ts';
import { checkWritten } from './data.ts';
import { measureFigure8, type Watched } from './figure-8.ts';
import { findingsOf, type StoreResult } from './findings.ts';
import { measureInProcess } from './in-process.ts';
import { measureLatencies } from './latency.ts';
import type { MicroPlan } from './plan.ts';
import { measureSweeps } from './sweeps.ts';

/** Measures each store that is on this machine; limitations of the record name the others. */
export async function measureStores(
  plan: MicroPlan,
  { run, keep, progress, signal }: Measuring,
): Promise<FindingsParts> {
  const watched: Watched = { signal, onPhase: (what) => progress.phase(what, 0) };
  const results: StoreResult[] = [];
  const missing: string[] = [];
  const { limitations } = run.record;
  const note = (what: string): void => {
    missing.push(`Not measured: ${what}`);
    run.describe({ limitations: [...missing, ...limitations] });
    progress.note(missing.at(-1) ?? '');
  };
  for (const name of plan.store) {
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
  plan: MicroPlan,
  watched: Watched,
  note: (missing: string) => void,
): Promise<StoreResult | undefined> {
  watched.onPhase(`${name}: opening and loading`);
  let bench: BenchStore;
  try {
    bench = await openBenchStore(name, plan, watched.signal);
  } catch (error) {
    const why = whyMissing(error);
    if (why === undefined) throw error;
    if (plan.store.length === 1) {
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
  plan: MicroPlan,
  watched: Watched,
): Promise<StoreResult> {
  const { name, store } = bench;
  using _ = live.show(databaseProbes(bench.percolator));
  const { durability } = store.manifest;
  const figure8 = await measureFigure8(bench, plan, watched);
  const { slices } = figure8;
  const isWhole = !plan.figureOnly;
  const sweeps = isWhole ? await measureSweeps(bench, plan, watched) : undefined;
  const latencies = isWhole ? await measureLatencies(bench, plan, watched, slices) : [];
  const conditionalBatch = plan.conditionalBatch
    ? await measureConditionalBatch(bench, plan, watched)
    : [];
  const profiles = plan.profileCpu
    ? await profileCases(bench, plan, watched, slices)
    : new Map<string, never>();
  const inProcess =
    isWhole && name === 'embedded' ? await measureInProcess(bench, plan, watched) : [];
  watched.onPhase(`${name}: checking`);
  const written = await checkWritten(bench.percolator, bench.data, bench.written);
  const wrong = [...written, ...(sweeps?.wrong ?? [])];
  const measured = { name, durability, figure8, sweeps, latencies };
  return { ...measured, conditionalBatch, profiles, inProcess, wrong };
}
