/**
 * The sweeps that the paper does not show: cells per transaction, versions per cell, conflicts,
 * callers, batching, and latency in an open loop.
 */
import { createRandom, openPercolator } from '#engine';
import { percentileMs, statedPercentileMs } from '#results';
import { settingsOf } from '../harness/engine-settings.ts';
import type { BenchStore } from './bench-store.ts';
import { type Case, measureInRounds, type Slices } from './case.ts';
import { APART } from './conditional-batch.ts';
import { caseNamed, rateOf, roundsOf, ratioOf, type MeasureOptions } from './figure-8.ts';
import { comparedCases, NAMES } from './figure-8-cases.ts';
import { openLoop } from './open-loop.ts';
import type { Plan } from './plan.ts';
import { OPEN_LOOP_SLICES } from './profiles.ts';
import type { Estimate } from '../harness/statistics/ratio.ts';
import { type ComparedCases, Counters, readsOfVersions, writesOfCells } from './sweep-cases.ts';

/** The raw store and Percolator at one value of the swept parameter. */
export interface SweepPoint {
  readonly at: number;
  readonly rawPerSecond: Estimate;
  readonly percolatorPerSecond: Estimate;
  readonly ratio: Estimate;
}

export interface ConflictPoint {
  readonly hotRows: number;
  readonly commitsPerSecond: Estimate;
  /** Attempts that lost, per committed transaction. */
  readonly conflictsPerCommit: number;
}

export interface BatchingPoint {
  readonly name: string;
  readonly offPerSecond: Estimate;
  readonly onPerSecond: Estimate;
  readonly ratio: Estimate;
}

export interface LatencyPoint {
  readonly name: string;
  /** Share of the throughput of the closed loop. */
  readonly load: number;
  readonly perSecond: number;
  /** Null if the system did not keep up: then latency has no meaning. */
  readonly medianMs: number | null;
  /** Null if the system did not keep up, or with too few operations. */
  readonly p99Ms: number | null;
  readonly operations: number;
}

export interface Sweeps {
  readonly cells: readonly SweepPoint[];
  readonly versions: readonly SweepPoint[];
  readonly readers: readonly SweepPoint[];
  readonly writers: readonly SweepPoint[];
  readonly conflicts: readonly ConflictPoint[];
  readonly batching: readonly BatchingPoint[];
  readonly latencies: readonly LatencyPoint[];
  /** Errors that the sweeps themselves found. */
  readonly wrong: readonly string[];
}

export async function measureSweeps(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
  slices: Slices,
): Promise<Sweeps> {
  const cells = await sweepCells(bench, plan, watched);
  const versions = await sweepVersions(bench, plan, watched);
  const { readers, writers } = await sweepCallers(bench, plan, watched);
  const batching = await compareBatching(bench, plan, watched);
  const { conflicts, wrong } = await sweepConflicts(bench, plan, watched);
  const latencies = await measureLatencies(bench, plan, watched, slices);
  return { cells, versions, readers, writers, conflicts, batching, latencies, wrong };
}

async function sweepCells(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<readonly SweepPoint[]> {
  const points: SweepPoint[] = [];
  for (const cells of plan.cells) {
    watched.onPhase(`${bench.name}: transactions of ${cells} cells`);
    const compared = writesOfCells(bench.percolator, bench.data, bench.written, cells);
    // Limited so that no two operations in flight write the same row.
    const concurrency = Math.max(1, Math.min(plan.concurrency, Math.floor(plan.rows / cells / 2)));
    points.push(await compare(bench, plan, { ...watched, compared, at: cells, concurrency }));
  }
  return points;
}

async function sweepVersions(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<readonly SweepPoint[]> {
  const points: SweepPoint[] = [];
  for (const versions of plan.versions) {
    watched.onPhase(`${bench.name}: reads of one of ${versions} versions`);
    const compared = await readsOfVersions(bench.percolator, bench.data, versions);
    points.push(await compare(bench, plan, { ...watched, compared, at: versions }));
  }
  return points;
}

async function sweepCallers(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<{ readonly readers: readonly SweepPoint[]; readonly writers: readonly SweepPoint[] }> {
  const readers: SweepPoint[] = [];
  const writers: SweepPoint[] = [];
  for (const concurrency of sweptCallers(plan)) {
    watched.onPhase(`${bench.name}: ${concurrency} callers`);
    const groups = comparedCases(bench.percolator, bench.data, bench.written);
    const sides = (raw: string, percolator: string): ComparedCases => ({
      raw: caseNamed(groups, raw),
      percolator: caseNamed(groups, percolator),
    });
    const common = { ...watched, at: concurrency, concurrency };
    const reads = sides(NAMES.rawRead, NAMES.read);
    readers.push(await compare(bench, plan, { ...common, compared: reads }));
    const writes = sides(NAMES.rawWrite, NAMES.write);
    writers.push(await compare(bench, plan, { ...common, compared: writes }));
  }
  return { readers, writers };
}

/**
 * The numbers of callers that can all be busy: no two operations of a slice use one row. That of
 * figure 8 is among them: both must measure the same there (findings.ts).
 */
export function sweptCallers({
  concurrencies,
  concurrency,
  rows,
}: Pick<Plan, 'concurrencies' | 'concurrency' | 'rows'>): readonly number[] {
  const all = new Set([...concurrencies, concurrency]);
  return [...all].filter((callers) => callers <= rows).toSorted((a, b) => a - b);
}

async function compare(
  bench: BenchStore,
  plan: Plan,
  what: MeasureOptions & {
    readonly compared: ComparedCases;
    readonly at: number;
    readonly concurrency?: number;
  },
): Promise<SweepPoint> {
  const { raw, percolator } = what.compared;
  const slices = await measureInRounds([[raw, percolator]], sweepRounds(bench, plan, what));
  return {
    at: what.at,
    rawPerSecond: rateOf(slices, raw.name),
    percolatorPerSecond: rateOf(slices, percolator.name),
    ratio: ratioOf(slices, percolator.name, raw.name),
  };
}

function sweepRounds(
  bench: BenchStore,
  plan: Plan,
  {
    signal,
    at = 0,
    concurrency = plan.concurrency,
  }: MeasureOptions & { at?: number; concurrency?: number },
): ReturnType<typeof roundsOf> {
  return roundsOf(bench, plan, {
    signal,
    stream: `sweep ${at}`,
    concurrency,
    rounds: plan.sweepRepeats,
    warmupSeconds: plan.warmUp / 3,
  });
}

/** The same operations through a database that batches, and through one that does not, in turns. */
async function compareBatching(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<readonly BatchingPoint[]> {
  watched.onPhase(`${bench.name}: batching on`);
  const { batching } = settingsOf({ ...plan.engineValues, batching: 'on' });
  const { store, oracle } = bench;
  await using plain = await openPercolator({ store, oracle });
  await using batched = await openPercolator({ store, oracle, batching });
  const off = comparedCases(plain, bench.data, bench.written);
  const on = comparedCases(batched, bench.data, bench.written);
  const onName = (name: string): string => `${name}, batched`;
  const names = [NAMES.rawRead, NAMES.read, NAMES.rawWrite, NAMES.write];
  const shift = (one: Case): Case => ({ ...one, operate: (n) => one.operate(n + APART) });
  const groups = names.map((name) => [
    caseNamed(off, name),
    { ...shift(caseNamed(on, name)), name: onName(name) },
  ]);
  const slices = await measureInRounds(groups, sweepRounds(bench, plan, watched));
  return names.map((name) => ({
    name,
    offPerSecond: rateOf(slices, name),
    onPerSecond: rateOf(slices, onName(name)),
    ratio: ratioOf(slices, onName(name), name),
  }));
}

async function sweepConflicts(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
): Promise<{ readonly conflicts: readonly ConflictPoint[]; readonly wrong: readonly string[] }> {
  const conflicts: ConflictPoint[] = [];
  const wrong: string[] = [];
  for (const hotRows of plan.hotRows) {
    watched.onPhase(`${bench.name}: increments of ${hotRows} counters`);
    const random = createRandom(plan.seed).fork(`${bench.name} counters ${hotRows}`);
    const counters = new Counters(bench.percolator, random, hotRows);
    const lostBefore = bench.percolator.counters.conflicts;
    const slices = await measureInRounds(
      [[counters.increments]],
      sweepRounds(bench, plan, { ...watched, at: hotRows }),
    );
    const lost = bench.percolator.counters.conflicts - lostBefore;
    conflicts.push({
      hotRows,
      commitsPerSecond: rateOf(slices, counters.increments.name),
      conflictsPerCommit: lost / counters.committed,
    });
    wrong.push(...(await counters.check()));
  }
  return { conflicts, wrong };
}

/** Latency in an open loop, at a share of the throughput of the closed loop. */
async function measureLatencies(
  bench: BenchStore,
  plan: Plan,
  watched: MeasureOptions,
  ofFigure8: Slices,
): Promise<readonly LatencyPoint[]> {
  const { signal, onPhase } = watched;
  const groups = comparedCases(bench.percolator, bench.data, bench.written);
  // Several client processes together reach a higher rate than this process alone.
  const slices =
    bench.services === null
      ? ofFigure8
      : await measureInRounds(groups, sweepRounds(bench, plan, watched));
  const points: LatencyPoint[] = [];
  for (const load of plan.loads) {
    for (const name of [NAMES.rawRead, NAMES.read, NAMES.rawWrite, NAMES.write]) {
      onPhase(`${bench.name}: latency of a ${name} at a load of ${load}`);
      const perSecond = load * rateOf(slices, name).value;
      const seconds = OPEN_LOOP_SLICES * plan.seconds;
      const { operate } = caseNamed(groups, name);
      const run = { first: bench.nextOperations(), perSecond, seconds, signal };
      const { histogram, keptUp } = await openLoop(operate, run);
      points.push({
        name,
        load,
        perSecond,
        medianMs: keptUp ? percentileMs(histogram, 50) : null,
        p99Ms: keptUp ? statedPercentileMs(histogram, 99) : null,
        operations: histogram.totalCount,
      });
    }
  }
  return points;
}
