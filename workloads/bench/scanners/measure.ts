/**
 * One point of bench:scanners: a table full of dirty rows, and scanners of one mode that run until
 * all of them are clean.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { sum } from 'simple-statistics';
import { systemClock } from '#engine';
import {
  column,
  counted,
  dots,
  type FindingsParts,
  higher,
  lower,
  type ResultChart,
  resultTable,
  type ResultTable,
  rowName,
  series,
} from '#results';
import type { EngineSettings } from '../../harness/engine-settings.ts';
import {
  Crew,
  type Member,
  openDatabase,
  type SharedDatabase,
  startEngine,
} from '../../harness/processes/index.ts';
import { rounded } from '../../harness/statistics.ts';

export interface ScannersPlan {
  readonly scanners: number;
  readonly rows: number;
  readonly tablets: number;
  readonly concurrency: number;
  readonly thinkMs: number;
  /** The engine's settings, the same for each scanner. */
  readonly engine: EngineSettings;
}

export interface ScannersPoint {
  readonly mode: ScannerMode;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Observer runs begun per row; the minimum is 1. */
  readonly runsPerRow: number;
  readonly meetings: number;
}

interface ScannersWatched {
  /** Parent of the temporary folder of each point. */
  readonly work: string;
  readonly signal: AbortSignal;
  readonly onRows: (done: number) => void;
}

const PROGRAM = new URL('scanner-process.ts', import.meta.url);
const ROWS_PER_TRANSACTION = 100;
const LOOK_MS = 10;

/** @throws if a row has two committed runs or none, or a process ends early */
export async function measurePoint(
  mode: ScannerMode,
  plan: ScannersPlan,
  watched: ScannersWatched,
): Promise<ScannersPoint> {
  const folder = await mkdtemp(path.join(watched.work, 'point-'));
  try {
    await using crew = new Crew(watched.signal);
    // Durability does not matter here, and waiting for the disk is not measured.
    const store = { kind: 'embedded', folder, fsync: false } as const;
    const { database: place } = await startEngine(crew, { store });
    await crew.during(load(place, plan));
    const point = await crew.during(run(crew, mode, { place, plan, watched }));
    await crew.stop();
    return point;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(
  crew: Crew,
  mode: ScannerMode,
  {
    place,
    plan,
    watched,
  }: {
    readonly place: SharedDatabase;
    readonly plan: ScannersPlan;
    readonly watched: ScannersWatched;
  },
): Promise<ScannersPoint> {
  const { concurrency, thinkMs, engine, rows } = plan;
  const latest = new Map<number, ScannerCounts>();
  const scanners: Member[] = [];
  for (let i = 1; i <= plan.scanners; i++) {
    const options: ScannerOptions = { place, mode, engine, concurrency, thinkMs };
    const onMessage = (message: unknown): void => void latest.set(i, message as ScannerCounts);
    scanners.push(await crew.start({ name: `scanner ${i}`, program: PROGRAM, options, onMessage }));
  }
  const total = (count: 'begun' | 'committed' | 'meetings'): number =>
    sum([...latest.values()].map((counts) => counts[count]));
  const startedMs = performance.now();
  for (const scanner of scanners) scanner.send({ kind: 'begin' } satisfies BeginMessage);
  while (total('committed') < rows && !watched.signal.aborted) {
    watched.onRows(total('committed'));
    await systemClock.sleep(LOOK_MS, watched.signal);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const point: ScannersPoint = {
    mode,
    seconds,
    rowsPerSecond: rows / seconds,
    runsPerRow: total('begun') / rows,
    meetings: total('meetings'),
  };
  watched.signal.throwIfAborted();
  // As many runs as rows could also be two runs of one row and none of another.
  const [runs, clean] = [total('committed'), await cleanRows(place)];
  if (runs === rows && clean === rows) return point;
  throw new Error(`${runs} runs have committed, and ${clean} of ${rows} rows are clean`);
}

/** The number of rows for which an observer's run has committed. */
async function cleanRows(place: SharedDatabase): Promise<number> {
  const { percolator, close } = await openDatabase(place);
  try {
    await using snapshot = await percolator.snapshot();
    const rows = await Array.fromAsync(snapshot.scan({ table: TABLE, columns: [READ_COLUMN] }));
    return rows.length;
  } finally {
    await close();
  }
}

async function load(place: SharedDatabase, { rows, tablets }: ScannersPlan): Promise<void> {
  const { percolator, close } = await openDatabase(place);
  const keys = Array.from({ length: rows }, (_, i) => keyOf(i));
  const splits = Array.from({ length: tablets - 1 }, (_, i) =>
    keyOf(Math.round(((i + 1) * rows) / tablets)),
  );
  await percolator.createTable(TABLE, { observedColumns: [COLUMN], splits });
  for (let from = 0; from < rows; from += ROWS_PER_TRANSACTION) {
    await percolator.transact(async (transaction) => {
      for (const row of keys.slice(from, from + ROWS_PER_TRANSACTION)) {
        transaction.set({ table: TABLE, row, column: COLUMN }, Buffer.from(row));
      }
    });
  }
  await close();
}

function keyOf(index: number): string {
  return `page${String(index).padStart(7, '0')}`;
}

/** How scanners avoid one another's rows. */
export const MODES = ['none', 'skip', 'jump'] as const;

type ScannerMode = (typeof MODES)[number];

export const TABLE = 'pages';
export const COLUMN = 'contents';
/** What the observer writes. */
export const READ_COLUMN = 'read';

export interface ScannerOptions {
  readonly place: SharedDatabase;
  readonly mode: ScannerMode;
  readonly engine: EngineSettings;
  /** Concurrent observer runs of a scanner. */
  readonly concurrency: number;
  /** Time of a run besides its reads and writes, in milliseconds. */
  readonly thinkMs: number;
}

/** The command to begin, so that all begin together. */
export interface BeginMessage {
  readonly kind: 'begin';
}

/** Counts since the start; each message replaces the one before. */
export interface ScannerCounts {
  readonly kind: 'counts';
  /** Observer runs that were begun, and that committed. */
  readonly begun: number;
  readonly committed: number;
  readonly meetings: number;
}

export const MEANINGS: Readonly<Record<ScannerMode, string>> = {
  none: 'no locks',
  skip: 'locks, skipping ahead',
  jump: 'locks, jumping elsewhere',
};

/** The median measurement of each mode that was measured, in the order of `MODES`. */
function mediansOf(points: readonly ScannersPoint[]): readonly ScannersPoint[] {
  return MODES.map((mode) => points.filter((point) => point.mode === mode))
    .filter((ofMode) => ofMode.length > 0)
    .map(medianOf);
}

/** Rows per second relative to the rate without locks. */
function gainOf(point: ScannersPoint, medians: readonly ScannersPoint[]): number {
  const without = medians.find(({ mode }) => mode === 'none');
  return point.rowsPerSecond / (without?.rowsPerSecond ?? Number.NaN);
}

/** The highest possible rate, if no run met another. */
export function mostPerSecond({
  scanners,
  concurrency,
  thinkMs,
}: Pick<ScannersPlan, 'scanners' | 'concurrency' | 'thinkMs'>): number {
  return (scanners * concurrency * 1_000) / Math.max(1, thinkMs);
}

export function findingsOf(plan: ScannersPlan, points: readonly ScannersPoint[]): FindingsParts {
  const medians = mediansOf(points);
  const [, ...locked] = medians;
  const gains = locked.map(
    (point) => `${gainOf(point, medians).toFixed(2)} with ${MEANINGS[point.mode]}`,
  );
  const compared = gains.join('; ') || 'not measured';
  return {
    headline: `Rows per second relative to no locks: ${compared}.`,
    check: { passed: true, detail: 'every row has exactly one committed run' },
    tables: [mediansTable(plan, medians), measurementsTable(points)],
    charts: [chartOf(points, medians)],
    targets: [],
  };
}

/** The lower one of two in the middle. */
function medianOf(points: readonly ScannersPoint[]): ScannersPoint {
  const sorted = points.toSorted((a, b) => a.rowsPerSecond - b.rowsPerSecond);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  if (median === undefined) throw new Error('nothing was measured');
  return median;
}

function mediansTable(plan: ScannersPlan, medians: readonly ScannersPoint[]): ResultTable {
  const { scanners, concurrency, thinkMs } = plan;
  return resultTable(
    {
      name: 'modes',
      title: 'Rows cleaned per second',
      caption:
        `${counted(scanners, 'scanners')}, ${counted(concurrency, 'runs')} of ${thinkMs} ms at a time each: at most ` +
        `${Math.round(mostPerSecond(plan))} rows per second. The median measurement of each mode. Meetings: how often a scanner met a row that another one had locked.`,
    },
    medians,
    [
      column('mode', ({ mode }) => MEANINGS[mode]),
      column('rows per second', ({ rowsPerSecond }) => Math.round(rowsPerSecond)),
      column('of no locks', (point) => rounded(gainOf(point, medians))),
      column('runs begun per row', ({ runsPerRow }) => rounded(runsPerRow)),
      column('meetings', ({ meetings }) => meetings),
    ],
  );
}

function measurementsTable(points: readonly ScannersPoint[]): ResultTable {
  return resultTable(
    {
      name: 'measurements',
      title: 'Each measurement',
      caption: 'In order of measurement.',
    },
    points,
    [
      rowName('mode', ({ mode }) => MEANINGS[mode]),
      column('seconds', ({ seconds }) => rounded(seconds)),
      column('rows per second', (point) => Math.round(point.rowsPerSecond), higher('rows/s')),
      column('runs begun per row', ({ runsPerRow }) => rounded(runsPerRow), lower('runs')),
      column('meetings', ({ meetings }) => meetings),
    ],
  );
}

function chartOf(points: readonly ScannersPoint[], medians: readonly ScannersPoint[]): ResultChart {
  const at = ({ mode }: Pick<ScannersPoint, 'mode'>) => ({ x: MODES.indexOf(mode) + 1 });
  const rate = ({ rowsPerSecond }: ScannersPoint): number => rowsPerSecond;
  return {
    name: 'rows-per-second',
    title: 'Rows cleaned per second, without and with the cure for platooning',
    caption: 'Each measurement, and the median of each mode.',
    x: {
      title: 'Mode of the scanners',
      scale: 'linear',
      ticks: MODES.map((mode) => ({ at: at({ mode }).x, label: MEANINGS[mode] })),
    },
    y: { title: 'Rows per second', scale: 'linear', ticks: [] },
    // The first is drawn on top.
    series: [
      ...series(medians, at, [dots('median', 'percolator', rate)]),
      ...series(points, at, [dots('measurements', 'other', rate)]),
    ],
  };
}
