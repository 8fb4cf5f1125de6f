/**
 * One point of the MapReduce curve: back-to-back runs over the repository and the arrived documents
 * (section 3.1).
 *
 *     arrivals   ────────────────────────────────────────────────▶
 *     runs       [ repository + a ][ repository + a + b ][ repository + a + b + c ] ...
 *
 * A document waits for the next run to begin, then for that run to end: with runs of length T its
 * latency lies between T and 2T. Every document is measured, from its scheduled arrival to the
 * moment its run's output has been made durable.
 *
 * Two things favour the batch. The documents are in its input file before they are due, so crawling
 * costs it nothing; a run reads the file up to the last arrived document. The local engine keeps
 * its worker processes and their compiled code from run to run.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { sum } from 'simple-statistics';
import { createLatencyHistogram, type Histogram, type ProgressRow } from '#results';
import { live, LiveTimes } from '#harness';
import { CLUSTERING, readRepresentatives } from './index.ts';
import {
  createSyntheticDocuments,
  documentId,
  type KeyedDocument,
  type SyntheticOptions,
} from '../documents/index.ts';
import { type BatchEngine, batchCpuSeconds } from '../../harness/batch-engines.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { type Check, checkInThread, checkPartition, type FinishedRuns } from '../check.ts';
import { judge, type KeptUp } from '../saturation.ts';

export interface MapReducePointOptions {
  readonly engine: BatchEngine;
  /** Servers that this process has started, whose time is not the batch's. */
  readonly serverPids: readonly number[];
  /** For the output of the runs; each run removes that of the run before. */
  readonly folder: string;
  readonly documents: SyntheticOptions;
  /** Files with the repository's records. */
  readonly repositoryFiles: readonly string[];
  /** A file with the records of the documents that arrive, all of the same length. */
  readonly arrivals: { readonly file: string; readonly documents: number };
  readonly perSecond: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** One run of the batch. */
export interface Cycle {
  /** All documents of its input, the repository included. */
  readonly documents: number;
  readonly seconds: number;
  /** Of this process and all workers; null if it is not known. */
  readonly cpuSeconds: number | null;
}

export interface MapReducePoint {
  readonly histogram: Histogram;
  readonly series: readonly ProgressRow[];
  readonly keptUp: KeptUp;
  readonly check: Check;
  /** Runs measured, warm-up not included. */
  readonly cycles: readonly Cycle[];
  readonly documents: number;
  readonly seconds: number;
  readonly cpuSecondsPerDocument: number | null;
}

/**
 * Runs before the measured ones, which compile the code and warm the caches; the first finds no
 * backlog.
 */
const WARMUP_CYCLES = 2;
/**
 * Minimum number of measured runs, however short the interval; a long run is not cut short. If the
 * documents run out before, the point is invalid, unless it is saturated (points.ts).
 */
export const CYCLES_MIN = 5;

export async function measureMapReduce(options: MapReducePointOptions): Promise<MapReducePoint> {
  const { documents: given, folder, perSecond, signal } = options;
  const runs = await runBackToBack(options);
  const cycles = runs.cycles.slice(WARMUP_CYCLES);
  const series = runs.series.slice(WARMUP_CYCLES);
  const [first, last] = [series[0], series.at(-1)];
  // The first measured run belongs to the interval, which begins when the run before it ends.
  const begin = runs.series[WARMUP_CYCLES - 1];
  const seconds = begin && last ? last.seconds - begin.seconds : 0;
  const documents = runs.histogram.totalCount;
  const finished = { outputFolder: outputOf(folder), documents: given, arrived: runs.arrived };
  const cpu = cycles.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
  return {
    histogram: runs.histogram,
    series: runs.series,
    keptUp: judge({
      series,
      perSecond,
      seconds: first && last ? last.seconds - first.seconds : 0,
      runSeconds: cycles.length > 0 ? seconds / cycles.length : 0,
      halfMediansMs: runs.halfMediansMs,
    }),
    check: await checkInThread(finished, signal),
    cycles,
    documents,
    seconds,
    cpuSecondsPerDocument:
      documents === 0 || cpu.length < cycles.length ? null : sum(cpu) / documents,
  };
}

interface Runs {
  readonly histogram: Histogram;
  readonly halfMediansMs: readonly [number | null, number | null];
  readonly series: readonly ProgressRow[];
  readonly cycles: readonly Cycle[];
  /** Arrivals that the last run included. */
  readonly arrived: number;
}

async function runBackToBack(options: MapReducePointOptions): Promise<Runs> {
  const { perSecond, seconds, arrivals, signal } = options;
  const histogram = createLatencyHistogram();
  const medians: number[] = [];
  const series: ProgressRow[] = [];
  const cycles: Cycle[] = [];
  const startUs = monotonicUs();
  const elapsedSeconds = (): number => (monotonicUs() - startUs) / 1e6;
  let included = 0;
  const times = new LiveTimes();
  using _ = live.show([
    { panel: 'throughput', series: 'documents clustered', rate: () => included },
    { panel: 'throughput', series: 'offered', level: () => perSecond, isTarget: true },
    {
      panel: 'waiting',
      series: 'documents not clustered',
      level: () => Math.floor(elapsedSeconds() * perSecond) + 1 - included,
    },
    { panel: 'latency', series: 'until clustered', times },
  ]);
  const isMeasured = (): boolean => {
    const begin = series[WARMUP_CYCLES - 1]?.seconds ?? 0;
    const end = series.at(-1)?.seconds ?? 0;
    return cycles.length >= WARMUP_CYCLES + CYCLES_MIN && end - begin >= seconds;
  };
  while (!isMeasured()) {
    signal.throwIfAborted();
    const arrived = Math.floor(elapsedSeconds() * perSecond) + 1;
    if (arrived > arrivals.documents) break; // No more documents to arrive: the interval ends here.
    cycles.push(await runOnce(options, arrived));
    const endSeconds = elapsedSeconds();
    if (cycles.length > WARMUP_CYCLES) {
      const latenciesUs = latencies(included, arrived, perSecond, endSeconds);
      for (const latencyUs of latenciesUs) histogram.recordValue(latencyUs);
      if (live.isWatched) for (const latencyUs of latenciesUs) times.record(latencyUs);
      const median = latenciesUs[Math.floor(latenciesUs.length / 2)];
      if (median !== undefined) medians.push(median / 1000);
    }
    included = arrived;
    const due = Math.floor(endSeconds * perSecond) + 1;
    series.push({ seconds: endSeconds, arrived: due, completed: included });
  }
  return { histogram, halfMediansMs: halfMedians(medians), series, cycles, arrived: included };
}

async function runOnce(options: MapReducePointOptions, arrived: number): Promise<Cycle> {
  const { engine, serverPids, folder, repositoryFiles, arrivals, documents, signal } = options;
  const outputFolder = outputOf(folder);
  await rm(outputFolder, { recursive: true, force: true });
  const inputs = [
    ...repositoryFiles.map((file) => ({ path: file })),
    { path: arrivals.file, end: arrived * documents.documentBytes },
  ];
  const cpuBefore = batchCpuSeconds(engine, serverPids);
  const startUs = monotonicUs();
  await engine.run({ chain: CLUSTERING, inputs, outputFolder, signal });
  const seconds = (monotonicUs() - startUs) / 1e6;
  const cpuAfter = batchCpuSeconds(engine, serverPids);
  return {
    documents: documents.repository + arrived,
    seconds,
    cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
  };
}

/** Latencies of the arrivals `first` to `end` - 1, all completed at the same moment. */
function latencies(first: number, end: number, perSecond: number, atSeconds: number): number[] {
  return Array.from({ length: end - first }, (_, i) =>
    Math.round((atSeconds - (first + i) / perSecond) * 1e6),
  );
}

function halfMedians(medians: readonly number[]): readonly [number | null, number | null] {
  const middle = Math.floor(medians.length / 2);
  const medianOf = (values: readonly number[]): number | null =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
  return [medianOf(medians.slice(0, middle)), medianOf(medians.slice(middle))];
}

/**
 * The batch takes the smallest id of a group, and ids are arrival numbers, so its order is the
 * order of arrival.
 */
export async function checkRuns(finished: FinishedRuns): Promise<Check> {
  const { outputFolder, documents: given, arrived } = finished;
  const partition = await readRepresentatives(outputFolder);
  const documents = createSyntheticDocuments(given);
  function* inArrivalOrder(): Generator<KeyedDocument> {
    for (let i = 0; i < given.repository + arrived; i++) {
      yield { id: documentId(i), keys: documents.keysOf(i) };
    }
  }
  return checkPartition(partition, inArrivalOrder(), 'order of arrival');
}

function outputOf(folder: string): string {
  return path.join(folder, 'clusters');
}
