/**
 * One point of the Percolator curve: one crawl rate, on a fresh copy of the loaded repository.
 *
 *   1. Start the engine's process on the copy; it loads and clusters what arrives.
 *   2. Announce the documents on schedule: the warm-up, then the measured interval.
 *   3. Let it drain, take its histogram, and stop it.
 *   4. Open the store again, from here, and check the partition against the dumb function.
 */
import { ExecaError, execaNode } from 'execa';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { openPercolator } from '#engine';
import type { Histogram, TimeSeriesRow } from '#results';
import type { EngineValues } from '../../tuning/engine-settings.ts';
import {
  createSyntheticDocuments,
  documentId,
  type KeyedDocument,
  type SyntheticOptions,
} from '../documents/index.ts';
import { type Check, checkPartition } from '../check.ts';
import { generate } from '../generator.ts';
import { monotonicUs } from '../monotonic-clock.ts';
import { judge, type KeptUp } from '../saturation.ts';
import { dueBy, measuredFromUs, type Schedule } from '../schedule.ts';
import { countDirty, readPartition } from './read-partition.ts';
import type { EngineResult, FromEngine, ToEngine } from './messages.ts';

export interface PercolatorPointOptions {
  /** A store with the repository loaded, for this point alone. */
  readonly folder: string;
  readonly documents: SyntheticOptions;
  readonly schedule: Schedule;
  readonly seconds: number;
  readonly concurrency: number;
  readonly engine: EngineValues;
  readonly signal: AbortSignal;
}

export interface PercolatorPoint {
  readonly histogram: Histogram;
  readonly series: readonly TimeSeriesRow[];
  readonly keptUp: KeptUp;
  readonly check: Check;
  readonly generatorLagP99Ms: number;
  readonly cpuSecondsPerDocument: number;
  /** Over the measured interval. */
  readonly completedPerSecond: number;
  readonly engine: EngineResult;
}

const ENGINE_PROGRAM = new URL('engine-process.ts', import.meta.url);
const FORCE_KILL_MS = 5_000;

export async function measurePercolator(options: PercolatorPointOptions): Promise<PercolatorPoint> {
  const { schedule, seconds } = options;
  const { engine, series, generatorLagP99Ms } = await runEngine(options);
  const fromSecond = measuredFromUs(schedule) / 1e6;
  const measured = series.filter((row) => row.seconds >= fromSecond);
  const [first, last] = [measured[0], measured.at(-1)];
  return {
    histogram: decodeFromCompressedBase64(engine.histogram),
    series,
    keptUp: judge({
      series: measured,
      perSecond: schedule.perSecond,
      seconds,
      halfMediansMs: engine.halfMediansMs,
    }),
    check: await checkPoint(options, engine),
    generatorLagP99Ms,
    cpuSecondsPerDocument: engine.cpuSeconds / Math.max(1, engine.commits.length),
    completedPerSecond:
      first && last ? (last.completed - first.completed) / (last.seconds - first.seconds) : 0,
    engine,
  };
}

interface EngineRun {
  readonly engine: EngineResult;
  readonly series: readonly TimeSeriesRow[];
  readonly generatorLagP99Ms: number;
}

async function runEngine(options: PercolatorPointOptions): Promise<EngineRun> {
  const child = execaNode(ENGINE_PROGRAM, {
    ipc: true,
    cancelSignal: options.signal,
    forceKillAfterDelay: FORCE_KILL_MS,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const send = (message: ToEngine): Promise<unknown> => child.sendMessage(message);
  const answers = child.getEachMessage() as AsyncIterableIterator<FromEngine>;
  const driven = drive(options, send, answers);
  driven.catch(() => {}); // Awaited below, unless the process fails first.
  const failed = child.then(
    () => driven, // It has ended well; its result may still be on the way.
    (cause: unknown) => {
      options.signal.throwIfAborted();
      throw new Error(`the engine's process failed: ${lastLine(cause)}`, { cause });
    },
  );
  try {
    return await Promise.race([driven.then(() => failed), failed]);
  } finally {
    child.kill();
  }
}

/** Tells the engine's process what to do, from the start to the result. */
async function drive(
  { folder, documents, schedule, concurrency, engine: values, signal }: PercolatorPointOptions,
  send: (message: ToEngine) => Promise<unknown>,
  answers: AsyncIterableIterator<FromEngine>,
): Promise<EngineRun> {
  const load = { documents, schedule, concurrency };
  await send({ kind: 'start', folder, ...load, engine: values });
  await answers.next(); // ready
  const startUs = monotonicUs();
  await send({ kind: 'begin', startUs });

  const series: TimeSeriesRow[] = [];
  const result = collect(answers, (completed) => {
    const elapsedUs = monotonicUs() - startUs;
    series.push({ seconds: elapsedUs / 1e6, arrived: dueBy(schedule, elapsedUs), completed });
  });
  result.catch(() => {}); // Awaited below; a process that ends before is reported by its end.
  const announce = (end: number): void => {
    send({ kind: 'due', end }).catch(() => {}); // The same.
  };
  const { lagP99Ms } = await generate(schedule, startUs, announce, signal);
  const inTime = series.length; // What comes later is the drain.
  await send({ kind: 'stop' });
  const engine = await result;
  return { engine, series: series.slice(0, inTime), generatorLagP99Ms: lagP99Ms };
}

/** What the process said last, or how it ended. */
function lastLine(error: unknown): string {
  if (!(error instanceof ExecaError)) return String(error);
  const lines = String(error.stderr).trimEnd().split('\n');
  return lines.findLast((line) => /\w*Error\b/.test(line)) ?? error.shortMessage;
}

/** Reads the engine's answers until the result. */
async function collect(
  answers: AsyncIterableIterator<FromEngine>,
  onProgress: (completed: number) => void,
): Promise<EngineResult> {
  for await (const answer of answers) {
    if (answer.kind === 'progress') onProgress(answer.completed);
    if (answer.kind === 'result') return answer;
  }
  throw new Error("the engine's process stopped talking before its result");
}

async function checkPoint(options: PercolatorPointOptions, engine: EngineResult): Promise<Check> {
  if (!engine.drained) {
    return { passed: false, detail: 'documents were left that nobody clustered within a minute' };
  }
  await using percolator = await openPercolator({ folder: options.folder });
  const dirty = await countDirty(percolator);
  if (dirty > 0) return { passed: false, detail: `${dirty} notifications were left uncleared` };
  const partition = await readPartition(percolator);
  return checkPartition(partition, inCommitOrder(options, engine), 'commit order');
}

/**
 * Every miss was validated at commit and no hit ever changes, so the commit order is a serial order
 * of the transactions: the dumb function must find the very partition that stands in the table. The repository's documents, then the new ones by commit timestamp. */
function* inCommitOrder(
  { documents: given, schedule }: PercolatorPointOptions,
  { commits }: EngineResult,
): Generator<KeyedDocument> {
  const documents = createSyntheticDocuments(given);
  const newOnes = commits.toSorted(([, a], [, b]) => a - b).map(([n]) => schedule.first + n);
  for (let number = 0; number < schedule.first; number++) {
    yield { id: documentId(number), keys: documents.keysOf(number) };
  }
  for (const number of newOnes) yield { id: documentId(number), keys: documents.keysOf(number) };
}
