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
  type CellAddress,
  openPercolator,
  openStore,
  type Percolator,
  type StoreAddress,
  systemClock,
} from '#engine';
import {
  type Column,
  column,
  createLatencyHistogram,
  type FindingsParts,
  formatJudged,
  HEADLINE_SAMPLES_MIN,
  type Histogram,
  isStated,
  line,
  lower,
  percentileMs,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  statedPercentileMs,
  type Target,
  TARGETS,
} from '#results';
import type { EngineValues } from '../../harness/engine-settings.ts';
import {
  Answers,
  Crew,
  type Member,
  type SharedDatabase,
  startEngine,
} from '../../harness/processes/index.ts';
import { rounded } from '../../harness/statistics.ts';

export interface NotifyPlan {
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

interface NotifyLatencyResult {
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
  plan: NotifyPlan,
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
  const { database: place } = await startEngine(crew, { store: plan.store });
  const options = { place, engine: plan.engine } satisfies NotifyOptions;
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
  { perSecond, writes }: Pick<WriteMessage, 'perSecond' | 'writes'>,
): Promise<RateResult> {
  const { crew, worker, writer, toldByWorker, toldByWriter } = both;
  writer.send({ kind: 'write', first: both.written, writes, perSecond } satisfies WriteMessage);
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

/* The messages between the processes; times are those of the machine's monotonic clock. */

/** The options of the writer and of the worker. */
export interface NotifyOptions {
  readonly place: SharedDatabase;
  readonly engine: EngineValues;
}

/** To the writer: write these cells, each at its time, independently of the others (open loop). */
export interface WriteMessage {
  readonly kind: 'write';
  /** The number of the first cell, which also names its row. */
  readonly first: number;
  readonly writes: number;
  readonly perSecond: number;
}

/** From the writer, after all commits. */
export interface WritesReport {
  readonly kind: 'written';
  readonly times: readonly WriteTimes[];
  /** Lateness of the writer, 99th percentile; counted as latency. */
  readonly lagP99Ms: number;
}

export interface WriteTimes {
  readonly n: number;
  readonly scheduledUs: number;
  readonly committedUs: number;
}

/** To the worker. */
export type ToWorker =
  | { readonly kind: 'report observed' }
  /** Measure the CPU time of the idle worker for this long. */
  | { readonly kind: 'measure cpu'; readonly seconds: number };

/** When the observer first ran for each cell, since the last report. */
export interface RunsReport {
  readonly kind: 'observed';
  readonly runs: readonly (readonly [n: number, runUs: number])[];
}

export interface CpuReport {
  readonly kind: 'cpu';
  /** Percent of one core. */
  readonly percent: number;
}

/** A user should have no table of this name: a run drops it, even in the user's own store. */
export const TABLE = 'notify-latency';
export const COLUMN = 'written';

export function cellOf(n: number): CellAddress {
  return { table: TABLE, row: String(n), column: COLUMN };
}

/** The median from a write to the run of its observer; an idle worker, in percent of a core. */
const { medianMsMax: TARGET_MS, idlePercentMax: TARGET_IDLE_PERCENT } = TARGETS.notifyLatency;

/** In less time, one collection of garbage decides what an idle worker takes. */
const IDLE_SAMPLE_SECONDS = 0.5;

export function findingsOf(measured: NotifyLatencyResult, store: string): FindingsParts {
  const { rates, idlePercent } = measured;
  return {
    headline:
      `From a write to the run of its observer in another process, median: ${mediansOf(rates)}. ` +
      `An idle worker takes ${idlePercent.toFixed(2)} % of a core.`,
    check: { passed: true, detail: 'the observer has run for every write' },
    tables: [tableOf(rates)],
    charts: [chartOf(rates)],
    targets: targetsOf(measured, store),
  };
}

/** The medians of at least 30 writes. */
function mediansOf(rates: readonly RateResult[]): string {
  const medians = rates
    .filter((rate) => writesOf(rate) >= HEADLINE_SAMPLES_MIN)
    .map(
      (rate) =>
        `${medianMs(rate).toFixed(1)} ms at ${rate.perSecond} per second (${writesOf(rate)} writes)`,
    );
  return medians.length > 0
    ? medians.join(', ')
    : `none, because no rate had ${HEADLINE_SAMPLES_MIN} writes`;
}

function targetsOf(
  { rates, idlePercent, idleSeconds }: NotifyLatencyResult,
  store: string,
): readonly Target[] {
  const targetMs = store === 'embedded' ? TARGET_MS.embedded : TARGET_MS.elsewhere;
  const worst = Math.max(...rates.map(medianMs));
  const isMet = (ms: number): boolean => ms <= targetMs;
  const isIdle = (percent: number): boolean => percent < TARGET_IDLE_PERCENT;
  return [
    {
      name: 'from a write to the run of its observer',
      target: `a median of at most ${targetMs} ms at every rate`,
      measured: `the largest is ${formatJudged(worst, 1, isMet)} ms`,
      met: isMet(worst),
      samples: Math.min(...rates.map(writesOf)),
    },
    {
      name: 'an idle worker',
      target: `less than ${TARGET_IDLE_PERCENT} % of a core while idle`,
      measured: `it takes ${formatJudged(idlePercent, 2, isIdle)} %`,
      met: isIdle(idlePercent),
      samples: Math.floor(idleSeconds / IDLE_SAMPLE_SECONDS),
    },
  ];
}

function tableOf(rates: readonly RateResult[]): ResultTable {
  const ms = (title: string, of: (rate: RateResult) => number | null): Column<RateResult> =>
    column(title, (rate) => rounded(of(rate)), lower('ms'));
  return resultTable(
    {
      name: 'rates',
      title: 'From a write to the run of its observer',
      caption:
        'Milliseconds from when a write was due until its observer ran in another process. The commit ends when the ' +
        'writer knows of it, "run after it" counts from then on, and the lag is the lateness of the writer. Percentiles other than the median need a hundred writes.',
    },
    rates,
    [
      rowName('writes/s', ({ perSecond }) => perSecond),
      column('writes', writesOf),
      ms('median', medianMs),
      ms('p90', ({ fromDue }) => statedPercentileMs(fromDue, 90)),
      ms('p99', p99Ms),
      column('max', ({ fromDue }) => rounded(percentileMs(fromDue, 100))),
      column('commit median', ({ commit }) => rounded(percentileMs(commit, 50))),
      ms('run after it', ({ fromCommit }) => percentileMs(fromCommit, 50)),
      column('lag p99', ({ fromDue, lagP99Ms }) =>
        isStated(99, fromDue.totalCount) ? rounded(lagP99Ms) : null,
      ),
    ],
  );
}

function chartOf(rates: readonly RateResult[]): ResultChart {
  const at = (rate: RateResult) => ({ x: rate.perSecond, samples: writesOf(rate) });
  const drawn = series(rates, at, [
    line('median', 'percolator', medianMs),
    line('99th percentile', 'other', p99Ms),
  ]);
  return {
    name: 'notify-latency',
    title: 'From a write to the run of its observer in another process',
    caption: 'From when a write was due, so the write and its commit are part of it.',
    x: { title: 'Writes per second', scale: 'logarithmic', ticks: [] },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: drawn.filter(({ points }) => points.length > 0),
  };
}

function medianMs({ fromDue }: RateResult): number {
  return percentileMs(fromDue, 50);
}

function p99Ms({ fromDue }: RateResult): number | null {
  return statedPercentileMs(fromDue, 99);
}

function writesOf({ fromDue }: RateResult): number {
  return fromDue.totalCount;
}
