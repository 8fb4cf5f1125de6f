/**
 * Measures the time from a write to the run of its observer, with writer and worker in two
 * processes, and the cost of the worker while there are no writes:
 *
 *   1. Start the oracle, the lock service, the worker and the writer, each in a process of its own,
 *      and warm up.
 *   2. For each rate: write on schedule, and collect the times of both sides. Times count from the
 *      moment a write was due, except `fromCommit`, so they include the writer's lateness, the
 *      write and its commit.
 *   3. Leave the worker idle for a moment, then measure its CPU time.
 */
import {
  openPercolator,
  openStore,
  type Percolator,
  type StoreAddress,
  systemClock,
} from '#engine';
import { createLatencyHistogram, type Histogram } from '#results';
import { Answers, Crew, type Member, startServices } from '../../harness/processes/index.ts';
import type { EngineValues } from '../../harness/engine-settings.ts';
import type {
  CpuReport,
  RunsReport,
  ProcessOptions,
  ToWorker,
  Write,
  WritesReport,
} from './messages.ts';
import { COLUMN, TABLE } from './table.ts';

export interface Plan {
  readonly store: StoreAddress;
  /** The rates, in writes per second; they are measured one after the other. */
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly idleSeconds: number;
  readonly engine: EngineValues;
}

export interface RateResult {
  readonly perSecond: number;
  /** From when a write was due until its observer ran. */
  readonly fromDue: Histogram;
  /** From when the writer knew of its commit; if the observer ran before that, the time is 0. */
  readonly fromCommit: Histogram;
  /** From when a write was due until the writer knew of its commit. */
  readonly commit: Histogram;
  readonly lagP99Ms: number;
}

export interface NotifyLatencyResult {
  readonly rates: readonly RateResult[];
  /** CPU time of the idle worker, in percent of one core. */
  readonly idlePercent: number;
  readonly idleSeconds: number;
}

const WARM_UP = { writes: 300, perSecond: 150 } as const;
/**
 * Wait after the last write, until the worker's pauses between scans have grown to their idle
 * length.
 */
const SETTLE_MS = 5_000;

const WRITER = new URL('writer-process.ts', import.meta.url);
const WORKER = new URL('worker-process.ts', import.meta.url);

export async function measureNotifications(
  plan: Plan,
  signal: AbortSignal,
  onProgress: (measured: string) => void,
): Promise<NotifyLatencyResult> {
  await using cleanup = new AsyncDisposableStack();
  // The folder of an embedded store is removed as a whole; in any other store, drop the table.
  if (plan.store.kind !== 'embedded') {
    cleanup.defer(() => onDatabase(plan.store, (percolator) => percolator.dropTable(TABLE)));
  }
  await onDatabase(plan.store, createTable);
  const crew = cleanup.use(new Crew(signal));
  const place = await startServices(crew, plan.store);
  const options = { place, engine: plan.engine } satisfies ProcessOptions;
  const [toldByWorker, toldByWriter] = [new Answers(), new Answers()];
  const worker = await crew.start({
    name: 'the worker',
    program: WORKER,
    options,
    onMessage: toldByWorker.take,
  });
  const writer = await crew.start({
    name: 'the writer',
    program: WRITER,
    options,
    onMessage: toldByWriter.take,
  });
  const both: WorkerAndWriter = { crew, worker, writer, toldByWorker, toldByWriter, written: 0 };

  await measureRate(both, WARM_UP);
  const rates: RateResult[] = [];
  for (const perSecond of plan.rates) {
    const writes = Math.max(1, Math.round(perSecond * plan.seconds));
    rates.push(await measureRate(both, { perSecond, writes }));
    onProgress(`${perSecond} writes a second`);
  }
  await crew.during(systemClock.sleep(SETTLE_MS, signal));
  worker.send({ kind: 'measure cpu', seconds: plan.idleSeconds } satisfies ToWorker);
  const { percent } = (await crew.during(toldByWorker.next())) as CpuReport;
  await crew.stop();
  return { rates, idlePercent: percent, idleSeconds: plan.idleSeconds };
}

async function onDatabase(
  address: StoreAddress,
  work: (percolator: Percolator) => Promise<void>,
): Promise<void> {
  await using store = await openStore(address);
  await using percolator = await openPercolator({ store });
  await work(percolator);
}

/** Drops what a killed run left: its cells would be observed before this run writes them. */
async function createTable(percolator: Percolator): Promise<void> {
  await percolator.dropTable(TABLE);
  await percolator.createTable(TABLE, { observedColumns: [COLUMN] });
}

interface WorkerAndWriter {
  readonly crew: Crew;
  readonly worker: Member;
  readonly writer: Member;
  readonly toldByWorker: Answers;
  readonly toldByWriter: Answers;
  /** Cells written so far; each write takes a new cell. */
  written: number;
}

async function measureRate(
  both: WorkerAndWriter,
  { perSecond, writes }: Pick<Write, 'perSecond' | 'writes'>,
): Promise<RateResult> {
  const { crew, worker, writer, toldByWorker, toldByWriter } = both;
  writer.send({ kind: 'write', first: both.written, writes, perSecond } satisfies Write);
  both.written += writes;
  const { times, lagP99Ms } = (await crew.during(toldByWriter.next())) as WritesReport;
  worker.send({ kind: 'report observed' } satisfies ToWorker);
  const observed = new Map(((await crew.during(toldByWorker.next())) as RunsReport).runs);

  const [fromDue, fromCommit, commit] = [0, 1, 2].map(createLatencyHistogram) as [
    Histogram,
    Histogram,
    Histogram,
  ];
  for (const { n, scheduledUs, committedUs } of times) {
    const runUs = observed.get(n);
    if (runUs === undefined) throw new Error(`the observer has not run for write ${n}`);
    fromDue.recordValue(Math.round(runUs - scheduledUs));
    fromCommit.recordValue(Math.max(0, Math.round(runUs - committedUs)));
    commit.recordValue(Math.round(committedUs - scheduledUs));
  }
  return { perSecond, fromDue, fromCommit, commit, lagP99Ms };
}
