/**
 * Latency in an open loop, in which a clock starts operations, whether earlier ones have ended or
 * not: it counts from the scheduled moment, so that it includes every wait.
 */
import { setTimeout } from 'node:timers/promises';
import {
  column,
  createLatencyHistogram,
  type Histogram,
  lower,
  percentileMs,
  type ResultTable,
  resultTable,
  rowName,
  statedPercentileMs,
} from '#results';
import { whyNotKeptUp } from '../harness/load/kept-up.ts';
import type { BenchStore } from './bench-store.ts';
import { measureInRounds, type Slices } from './case.ts';
import { caseNamed, rateOf, type Watched } from './figure-8.ts';
import { comparedCases, NAMES } from './figure-8-cases.ts';
import { type MicroPlan, OPEN_LOOP_SLICES } from './plan.ts';
import { sweepRounds } from './sweeps.ts';

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

/** Latency in an open loop, at a share of the throughput of the closed loop. */
export async function measureLatencies(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
  ofFigure8: Slices,
): Promise<readonly LatencyPoint[]> {
  const { signal, onPhase } = watched;
  const groups = comparedCases(bench.percolator, bench.data, bench.written);
  // Several client processes together reach a higher rate than this process alone.
  const slices =
    bench.services === null
      ? ofFigure8
      : await measureInRounds(groups, sweepRounds(bench, plan, { at: 0, signal }));
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

export interface OpenLoop {
  /** Latencies of all operations that were begun, in microseconds. */
  readonly histogram: Histogram;
  readonly scheduled: number;
  /** Judged by what had ended when the last operation was due (harness/load/kept-up.ts). */
  readonly keptUp: boolean;
}

/**
 * With a larger backlog, the system does not keep up; the loop stops rather than fill the memory.
 */
const BACKLOG_MAX = 50_000;

/**
 * Resolves when every operation that was begun has ended.
 * @throws what an operation throws, or the reason of `signal`
 */
export async function openLoop(
  operate: (operation: number) => Promise<void>,
  run: {
    readonly first: number;
    readonly perSecond: number;
    readonly seconds: number;
    readonly signal: AbortSignal;
    /** For tests. */
    readonly backlogMax?: number;
  },
): Promise<OpenLoop> {
  const { backlogMax = BACKLOG_MAX } = run;
  const histogram = createLatencyHistogram();
  const scheduled = Math.max(1, Math.floor(run.perSecond * run.seconds));
  const startedMs = performance.now();
  let begun = 0;
  const progress = { ended: 0 };
  const failure = Promise.withResolvers<never>();
  const begin = (index: number): void => {
    const dueMs = startedMs + (index / run.perSecond) * 1_000;
    operate(run.first + index).then(() => {
      progress.ended++;
      histogram.recordValue(Math.max(0, Math.round((performance.now() - dueMs) * 1_000)));
    }, failure.reject);
  };
  while (begun < scheduled && begun - progress.ended < backlogMax) {
    run.signal.throwIfAborted();
    const elapsedMs = performance.now() - startedMs;
    const due = Math.min(scheduled, Math.floor((elapsedMs / 1_000) * run.perSecond) + 1);
    while (begun < due) begin(begun++);
    await Promise.race([setTimeout(1), failure.promise]);
  }
  const { ended } = progress;
  const reason = whyNotKeptUp({
    offered: scheduled,
    completed: ended,
    unit: 'operations',
    backlog: { growth: scheduled - ended, perSecond: run.perSecond, seconds: run.seconds },
    isGivenUp: begun < scheduled,
  });
  const all = begun;
  while (progress.ended < all) {
    run.signal.throwIfAborted();
    await Promise.race([setTimeout(1), failure.promise]);
  }
  return { histogram, scheduled, keptUp: reason === null };
}

/** The latencies of a store; none with `--figure-only`. */
export interface Latencies {
  readonly name: string;
  readonly latencies: readonly LatencyPoint[];
}

export function latencyTable(measured: readonly Latencies[]): ResultTable {
  const points = measured.flatMap(({ name, latencies }) =>
    latencies.map((point) => ({ store: name, ...point })),
  );
  return resultTable(
    {
      name: 'latency',
      title: 'Latency at a load',
      caption:
        'An open loop, at a share of the throughput of the closed loop; latency counts from ' +
        'the scheduled moment. If the store did not keep up, there is none.',
    },
    points,
    [
      rowName('store', ({ store }) => store),
      rowName('operation', ({ name }) => name),
      rowName('load', ({ load }) => load),
      column('per second', ({ perSecond }) => perSecond),
      column('operations', ({ operations }) => operations),
      column('median ms', ({ medianMs }) => medianMs, lower('ms')),
      column('p99 ms', ({ p99Ms }) => p99Ms, lower('ms')),
    ],
  );
}
