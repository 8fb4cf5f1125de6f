/**
 * One point of bench:scanners: a table full of dirty rows, and scanners of one mode that run until
 * all of them are clean.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '#engine';
import {
  Crew,
  type Member,
  openDatabase,
  type SharedDatabase,
  startServices,
} from '../../harness/processes/index.ts';
import type { EngineSettings } from '../../harness/engine-settings.ts';
import {
  type BeginMessage,
  COLUMN,
  type Counts,
  type Mode,
  READ_COLUMN,
  type ScannerOptions,
  TABLE,
} from './messages.ts';

export interface Plan {
  readonly scanners: number;
  readonly rows: number;
  readonly tablets: number;
  readonly concurrency: number;
  readonly thinkMs: number;
  /** The engine's settings, the same for each scanner. */
  readonly engine: EngineSettings;
}

export interface Point {
  readonly mode: Mode;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Observer runs begun per row; the minimum is 1. */
  readonly runsPerRow: number;
  readonly meetings: number;
}

interface MeasureOptions {
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
  mode: Mode,
  plan: Plan,
  watched: MeasureOptions,
): Promise<Point> {
  const folder = await mkdtemp(path.join(watched.work, 'point-'));
  try {
    await using crew = new Crew(watched.signal);
    // Durability does not matter here, and waiting for the disk is not measured.
    const place = await startServices(crew, { kind: 'embedded', folder, fsync: false });
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
  mode: Mode,
  {
    place,
    plan,
    watched,
  }: { readonly place: SharedDatabase; readonly plan: Plan; readonly watched: MeasureOptions },
): Promise<Point> {
  const { concurrency, thinkMs, engine, rows } = plan;
  const latest = new Map<number, Counts>();
  const scanners: Member[] = [];
  for (let i = 1; i <= plan.scanners; i++) {
    const options: ScannerOptions = { place, mode, engine, concurrency, thinkMs };
    const onMessage = (message: unknown): void => void latest.set(i, message as Counts);
    scanners.push(await crew.start({ name: `scanner ${i}`, program: PROGRAM, options, onMessage }));
  }
  const total = (count: 'begun' | 'committed' | 'meetings'): number =>
    [...latest.values()].reduce((sum, counts) => sum + counts[count], 0);
  const startedMs = performance.now();
  for (const scanner of scanners) scanner.send({ kind: 'begin' } satisfies BeginMessage);
  while (total('committed') < rows && !watched.signal.aborted) {
    watched.onRows(total('committed'));
    await systemClock.sleep(LOOK_MS, watched.signal);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const point: Point = {
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

async function load(place: SharedDatabase, { rows, tablets }: Plan): Promise<void> {
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
