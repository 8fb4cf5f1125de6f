/**
 * The measurement of bench:versions, which reads two cells in turns, each read in a new snapshot,
 * so that no cell is cached; and its findings.
 */
import { median } from 'simple-statistics';
import { type CellAddress, createRandom, type Percolator, type Random, viewOf } from '#engine';
import type { Measuring } from '#harness';
import {
  column,
  dots,
  type FindingsParts,
  formatJudged,
  lower,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics.ts';

export interface VersionsPlan {
  /** Writes of the rewritten cell. */
  readonly versions: number;
  /** Measured reads of each cell. */
  readonly reads: number;
  /** How long the collector waits for requests in flight, in milliseconds. */
  readonly messageLifetime: number;
  readonly valueBytes: number;
  readonly seed: number;
}

export interface VersionsOutcome {
  /** Versions of the rewritten cell in the storage during the reads. */
  readonly versions: number;
  readonly times: ReadTimes;
}

export interface VersionsResult {
  readonly without: VersionsOutcome;
  readonly collected: VersionsOutcome;
}

const TABLE = 'versions';
const ONCE: CellAddress = { table: TABLE, row: 'written-once', column: 'value' };
const OFTEN: CellAddress = { table: TABLE, row: 'rewritten', column: 'value' };

/** @throws if the run is interrupted */
export async function measureVersions(
  percolator: Percolator,
  plan: VersionsPlan,
  { progress, signal }: Measuring,
): Promise<VersionsResult> {
  const random = createRandom(plan.seed);
  const { versions, reads, messageLifetime: messageLifetimeMs } = plan;
  /** Resolves to the value that it wrote last. */
  const rewrite = async (): Promise<Uint8Array> => {
    let last: Uint8Array = Buffer.alloc(0);
    progress.phase('rewriting the cell', versions, 'versions');
    for (let i = 1; i <= versions && !signal.aborted; i++) {
      last = valueOf(random, plan);
      await write(percolator, OFTEN, last);
      if (i % 100 === 0) progress.update(i);
    }
    return last;
  };
  const read = async (once: Uint8Array, often: Uint8Array): Promise<VersionsOutcome> => {
    progress.phase('reading both cells in turns', reads, 'reads');
    const onProgress = (done: number): void => progress.update(done);
    const cells = { once: { cell: ONCE, value: once }, often: { cell: OFTEN, value: often } };
    const times = await readInTurns(percolator, cells, { reads, random, signal, onProgress });
    return { versions: await versionsOf(percolator), times };
  };
  await percolator.createTable(TABLE);
  const once = valueOf(random, plan);
  await write(percolator, ONCE, once);
  const without = await read(once, await rewrite());

  await using collector = percolator.startCollector({ messageLifetimeMs });
  const last = await rewrite();
  const enough = collector.counters.cycles + 2; // The first may have begun before the last write.
  progress.phase('waiting for the collector', 1, 'cycles');
  while (collector.counters.cycles < enough && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const collected = await read(once, last);
  signal.throwIfAborted();
  return { without, collected };
}

async function write(percolator: Percolator, cell: CellAddress, value: Uint8Array): Promise<void> {
  await percolator.transact(async (transaction) => {
    transaction.set(cell, value);
  });
}

function valueOf(random: Random, { valueBytes }: VersionsPlan): Uint8Array {
  return Buffer.from(Array.from({ length: valueBytes }, () => random.integer(0, 255)));
}

async function versionsOf({ store }: Percolator): Promise<number> {
  const row = await store.readRow(TABLE, OFTEN.row, [{ family: 'cells', suffix: ':write' }]);
  return row?.cells.length ?? 0;
}

export interface WrittenCell {
  readonly cell: CellAddress;
  /** The value that was written last. */
  readonly value: Uint8Array;
}

export interface ReadTimes {
  /** Medians in milliseconds: of the cell that was written once, and of the rewritten one. */
  readonly onceMs: number;
  readonly oftenMs: number;
  /** Read time of the rewritten cell relative to the other one. */
  readonly ratio: number;
  /** Reads of each cell. */
  readonly reads: number;
}

/** Unmeasured reads at the start: they compile the code and load the pages into memory. */
const WARM_UP = 1_000;

/** @throws if a read gives another value than the one that was written last */
export async function readInTurns(
  percolator: Pick<Percolator, 'snapshot'>,
  cells: { readonly once: WrittenCell; readonly often: WrittenCell },
  run: {
    readonly reads: number;
    readonly random: Random;
    readonly signal: AbortSignal;
    onProgress(done: number): void;
  },
): Promise<ReadTimes> {
  const once = timerOf(percolator, cells.once);
  const often = timerOf(percolator, cells.often);
  for (let i = 0; i < WARM_UP + run.reads && !run.signal.aborted; i++) {
    const order = run.random.fraction() < 0.5 ? [once, often] : [often, once];
    for (const timer of order) await timer.read(i >= WARM_UP);
    if (i % 100 === 0) run.onProgress(Math.max(0, i - WARM_UP));
  }
  run.onProgress(often.timesMs.length);
  const [onceMs, oftenMs] = [median(once.timesMs), median(often.timesMs)];
  return { onceMs, oftenMs, ratio: oftenMs / onceMs, reads: once.timesMs.length };
}

function timerOf(
  percolator: Pick<Percolator, 'snapshot'>,
  { cell, value: written }: WrittenCell,
): { readonly timesMs: number[]; read(isMeasured: boolean): Promise<void> } {
  const timesMs: number[] = [];
  return {
    timesMs,
    read: async (isMeasured) => {
      await using snapshot = await percolator.snapshot();
      const startedMs = performance.now();
      const value = await snapshot.get(cell);
      if (isMeasured) timesMs.push(performance.now() - startedMs);
      if (value !== undefined && viewOf(value).equals(written)) return;
      throw new Error(`a read of ${cell.row} gave another value than the one written last`);
    },
  };
}

/** Of two read times, with a running collector: the rewritten cell's to the one written once. */
const { ratioMax: RATIO_MAX } = TARGETS.versions;

export function findingsOf(
  found: VersionsResult,
  { versions }: { readonly versions: number },
): FindingsParts {
  const { without, collected } = found;
  const isMet = (value: number): boolean => value <= RATIO_MAX;
  const ratio = ({ times }: VersionsOutcome): string => formatJudged(times.ratio, 2, isMet);
  return {
    headline:
      `A cell that was written ${versions.toLocaleString('en')} times takes ${ratio(without)} times as long to read ` +
      `as one that was written once; with a running collector, ${ratio(collected)} times.`,
    check: { passed: true, detail: 'each value read is the one written last' },
    tables: [tableOf(found)],
    charts: [chartOf(found)],
    targets: [
      {
        name: 'reads of a rewritten cell, with a collector',
        target: `at most ${RATIO_MAX} times as long`,
        measured: `${ratio(collected)} times`,
        met: isMet(collected.times.ratio),
        samples: collected.times.reads,
      },
    ],
  };
}

function tableOf({ without, collected }: VersionsResult): ResultTable {
  return resultTable(
    {
      name: 'reads',
      title: 'Reads of both cells',
      caption: 'Medians of alternating reads; versions are those in the storage during the reads.',
    },
    [
      { label: 'without a collector', ...without },
      { label: 'with a running collector', ...collected },
    ],
    [
      rowName('', ({ label }) => label),
      column('versions', ({ versions }) => versions),
      column('reads of each', ({ times }) => times.reads),
      column('written once, us', ({ times }) => rounded(times.onceMs * 1_000), lower('\u00b5s')),
      column('rewritten, us', ({ times }) => rounded(times.oftenMs * 1_000), lower('\u00b5s')),
      column('ratio', ({ times }) => rounded(times.ratio), lower('times')),
    ],
  );
}

function chartOf({ without, collected }: VersionsResult): ResultChart {
  const at = ({ times }: VersionsOutcome, i: number) => ({ x: i + 1, samples: times.reads });
  return {
    name: 'reads',
    title: 'Reads of a cell written once, and of one written many times',
    caption: 'Medians, in microseconds.',
    x: {
      title: 'Garbage collection',
      scale: 'linear',
      ticks: [
        { at: 1, label: 'without' },
        { at: 2, label: 'running' },
      ],
    },
    y: { title: 'Median of a read, in microseconds', scale: 'logarithmic', ticks: [] },
    series: series([without, collected], at, [
      dots('rewritten', 'percolator', ({ times }) => times.oftenMs * 1_000),
      dots('written once', 'other', ({ times }) => times.onceMs * 1_000),
    ]),
  };
}
