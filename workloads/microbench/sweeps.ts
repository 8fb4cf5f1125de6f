/**
 * What the paper does not show: figure 8 again with more cells per transaction, and with fewer or
 * more callers; and transactions that conflict. (`bench:versions` sweeps versions per cell, and
 * `bench:batching` measures batching.)
 */
import { sum } from 'simple-statistics';
import { createRandom, type Percolator, type Random } from '#engine';
import {
  column,
  line,
  lower,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
} from '#results';
import type { Estimate } from '../harness/statistics.ts';
import type { BenchStore } from './bench-store.ts';
import { type MicroCase, measureInRounds, type Rounds } from './case.ts';
import { cellOf, type Data, type LastWrites, noteRawWrite, rawWrite } from './data.ts';
import { caseNamed, rateOf, ratioOf, roundsOf, type Watched } from './figure-8.ts';
import { comparedCases, NAMES } from './figure-8-cases.ts';
import { marked, rateColumn, ratioColumns, RELATIVE } from './figure-8-tables.ts';
import type { MicroPlan } from './plan.ts';

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

export interface Sweeps {
  readonly cells: readonly SweepPoint[];
  readonly readers: readonly SweepPoint[];
  readonly writers: readonly SweepPoint[];
  readonly conflicts: readonly ConflictPoint[];
  /** Errors that the sweeps themselves found. */
  readonly wrong: readonly string[];
}

/** The two sides of a sweep. */
interface RawAndPercolator {
  readonly raw: MicroCase;
  readonly percolator: MicroCase;
}

export async function measureSweeps(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
): Promise<Sweeps> {
  const cells = await sweepCells(bench, plan, watched);
  const callers = await sweepCallers(bench, plan, watched);
  return { cells, ...callers, ...(await sweepConflicts(bench, plan, watched)) };
}

async function sweepCells(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
): Promise<readonly SweepPoint[]> {
  const points: SweepPoint[] = [];
  for (const cells of plan.cells) {
    watched.onPhase(`${bench.name}: transactions of ${cells} cells`);
    const compared = writesOfCells(bench.percolator, bench.data, bench.written, cells);
    const concurrency = callersOf(plan, cells);
    points.push(await compare(bench, plan, { ...watched, compared, at: cells, concurrency }));
  }
  return points;
}

/** Limited so that no two operations in flight write the same row. */
export function callersOf({ concurrency, rows }: MicroPlan, cells: number): number {
  return Math.max(1, Math.min(concurrency, Math.floor(rows / cells / 2)));
}

/**
 * `cells` cells in as many rows: a raw write is one MutateRows, which is not atomic; Percolator's
 * is one transaction, which is.
 */
export function writesOfCells(
  percolator: Percolator,
  data: Data,
  written: LastWrites,
  cells: number,
): RawAndPercolator {
  const rowsOf = (operation: number): number[] =>
    Array.from({ length: cells }, (_, i) => data.rowOf(operation * cells + i));
  const key = (row: number): string => data.writeKeys[row] ?? '';
  return {
    raw: {
      name: `raw write of ${cells}`,
      operate: async (operation) => {
        const rows = rowsOf(operation);
        const write = (row: number): ReturnType<typeof rawWrite> =>
          rawWrite(key(row), data.value({ row, operation }), operation + 2);
        await percolator.store.mutateRows(rows.map(write));
        for (const row of rows) noteRawWrite(written.raw, row, operation);
      },
    },
    percolator: {
      name: `transaction of ${cells}`,
      operate: async (operation) => {
        const rows = rowsOf(operation);
        await percolator.transact(async (transaction) => {
          for (const row of rows) {
            transaction.set(cellOf(key(row)), data.value({ row, operation }));
          }
        });
        for (const row of rows) written.percolator.set(row, operation);
      },
      settle: () => percolator.settled(),
    },
  };
}

async function sweepCallers(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
): Promise<Pick<Sweeps, 'readers' | 'writers'>> {
  const readers: SweepPoint[] = [];
  const writers: SweepPoint[] = [];
  for (const concurrency of sweptCallers(plan)) {
    watched.onPhase(`${bench.name}: ${concurrency} callers`);
    const groups = comparedCases(bench.percolator, bench.data, bench.written);
    const sides = (raw: string, percolator: string): RawAndPercolator => ({
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
}: Pick<MicroPlan, 'concurrencies' | 'concurrency' | 'rows'>): readonly number[] {
  const all = new Set([...concurrencies, concurrency]);
  return [...all].filter((callers) => callers <= rows).toSorted((a, b) => a - b);
}

async function compare(
  bench: BenchStore,
  plan: MicroPlan,
  what: Watched & {
    readonly compared: RawAndPercolator;
    readonly at: number;
    readonly concurrency: number;
  },
): Promise<SweepPoint> {
  const { at, signal, concurrency } = what;
  const { raw, percolator } = what.compared;
  const rounds = sweepRounds(bench, plan, { at, signal, concurrency });
  const slices = await measureInRounds([[raw, percolator]], rounds);
  return {
    at,
    rawPerSecond: rateOf(slices, raw.name),
    percolatorPerSecond: rateOf(slices, percolator.name),
    ratio: ratioOf(slices, percolator.name, raw.name),
  };
}

/** The parameters of the measurement of one point. */
export function sweepRounds(
  bench: BenchStore,
  plan: MicroPlan,
  { at, ...given }: Pick<Rounds, 'signal'> & Partial<Rounds> & { readonly at: number },
): Rounds {
  const shorter = { rounds: plan.sweepRepeats, warmupSeconds: plan.warmUp / 3 };
  return roundsOf(bench, plan, { ...given, ...shorter, stream: `sweep ${at}` });
}

async function sweepConflicts(
  bench: BenchStore,
  plan: MicroPlan,
  watched: Watched,
): Promise<Pick<Sweeps, 'conflicts' | 'wrong'>> {
  const conflicts: ConflictPoint[] = [];
  const wrong: string[] = [];
  for (const hotRows of plan.hotRows) {
    watched.onPhase(`${bench.name}: increments of ${hotRows} counters`);
    const random = createRandom(plan.seed).fork(`${bench.name} counters ${hotRows}`);
    const counters = new Counters(bench.percolator, random, hotRows);
    const lostBefore = bench.percolator.counters.conflicts;
    const rounds = sweepRounds(bench, plan, { at: hotRows, signal: watched.signal });
    const slices = await measureInRounds([[counters.increments]], rounds);
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

/**
 * Transactions that increment one of a few counters: the sum shows whether an increment was lost.
 */
class Counters {
  readonly #percolator: Percolator;
  readonly #keys: readonly string[];
  readonly #random: Random;
  /** Transactions that have committed; it only grows. */
  committed = 0;

  constructor(percolator: Percolator, random: Random, rows: number) {
    this.#percolator = percolator;
    this.#random = random;
    this.#keys = Array.from({ length: rows }, (_, row) => `c${rows}-${row}`);
  }

  get increments(): MicroCase {
    return {
      name: `increments of ${this.#keys.length} counters`,
      operate: () => this.#increment(),
      settle: () => this.#percolator.settled(),
    };
  }

  /** Returns a sentence if the counters do not add up to the number of commits. */
  async check(): Promise<readonly string[]> {
    await using snapshot = await this.#percolator.snapshot();
    const values = await snapshot.getMany(this.#keys.map(cellOf));
    const found = sum(values.map((value) => Number(value ?? 0)));
    if (found === this.committed) return [];
    return [`${this.committed} increments were committed, but the counters add up to ${found}`];
  }

  async #increment(): Promise<void> {
    const cell = cellOf(this.#random.pick(this.#keys));
    await this.#percolator.transact(async (transaction) => {
      const before = Number((await transaction.get(cell)) ?? 0);
      transaction.set(cell, String(before + 1));
    });
    this.committed++;
  }
}

export interface SweptStore {
  readonly name: string;
  readonly sweeps: Sweeps;
}

const CALLERS_CAPTION =
  'A closed loop: each caller begins an operation when its last one has ended.';
/** What is swept, and the texts of its table. */
const SWEEPS = {
  cells: {
    title: 'Writes of several cells',
    at: 'cells',
    caption:
      'Cells in different rows: a raw write is one MutateRows, which is atomic only per row; Percolator’s is one ' +
      'transaction, which is atomic. Rates are of whole operations.',
  },
  readers: { title: 'Reads, by operations in flight', at: 'callers', caption: CALLERS_CAPTION },
  writers: { title: 'Writes, by operations in flight', at: 'callers', caption: CALLERS_CAPTION },
} as const;

type SweepName = keyof typeof SWEEPS;
const SWEEP_NAMES = Object.keys(SWEEPS) as readonly SweepName[];

/** No tables and no charts if nothing was swept. */
export function sweepFindings(swept: readonly SweptStore[]): {
  readonly tables: readonly ResultTable[];
  readonly charts: readonly ResultChart[];
} {
  if (swept.length === 0) return { tables: [], charts: [] };
  return {
    tables: [...SWEEP_NAMES.map((what) => sweepTable(what, swept)), conflictsTable(swept)],
    charts: SWEEP_NAMES.map((what) => sweepChart(what, swept)),
  };
}

function sweepTable(what: SweepName, swept: readonly SweptStore[]): ResultTable {
  const { title, at, caption } = SWEEPS[what];
  const points = swept.flatMap(({ name, sweeps }) =>
    sweeps[what].map((point) => ({ name, ...point })),
  );
  return resultTable({ name: what, title, caption }, points, [
    rowName('store', ({ name }) => name),
    rowName(at, (point) => point.at),
    column('raw/s', ({ rawPerSecond }) => rawPerSecond.value),
    rateColumn('Percolator/s', ({ percolatorPerSecond }) => percolatorPerSecond),
    ...ratioColumns('of raw'),
  ]);
}

function conflictsTable(swept: readonly SweptStore[]): ResultTable {
  const points = swept.flatMap(({ name, sweeps }) =>
    sweeps.conflicts.map((point) => ({ name, ...point })),
  );
  return resultTable(
    {
      name: 'conflicts',
      title: 'Transactions that conflict',
      caption:
        'Each transaction increments a counter; the fewer counters there are, the more attempts lose a conflict and ' +
        'begin again after a pause. The counters add up to the number of commits. A raw store would lose increments.',
    },
    points,
    [
      rowName('store', ({ name }) => name),
      rowName('counters', ({ hotRows }) => hotRows),
      rateColumn('commits/s', ({ commitsPerSecond }) => commitsPerSecond),
      column(
        'lost attempts for each commit',
        ({ conflictsPerCommit }) => conflictsPerCommit,
        lower('attempts'),
      ),
    ],
  );
}

function sweepChart(what: SweepName, swept: readonly SweptStore[]): ResultChart {
  const { title, at, caption } = SWEEPS[what];
  const values = new Set(swept.flatMap(({ sweeps }) => sweeps[what].map((point) => point.at)));
  const ticks = [...values].map((value) => ({ at: value, label: value.toLocaleString('en') }));
  return {
    name: `${what}-relative`,
    title,
    caption,
    x: { title: `Number of ${at}`, scale: 'logarithmic', ticks },
    y: { title: RELATIVE, scale: 'linear', ticks: [] },
    series: swept.flatMap(({ name, sweeps }, i) =>
      series(sweeps[what], (point) => ({ x: point.at }), [
        line(name, i === 0 ? 'percolator' : 'other', ({ ratio }) => marked(ratio)),
      ]),
    ),
  };
}
