/**
 * Platooning in virtual time (section 2.4 of the paper): as many scanners as the paper has threads
 * clean a table of dirty rows, without and with the cure.
 *
 *     none   a scanner knows nothing of the others; two on one row both run it, and one loses
 *     skip   it locks the rows that it scans, and goes on after those of another scanner
 *     jump   the paper's cure: when it meets another scanner, it goes on at a random place
 *
 * bench:scanners does the same with a few processes. A run mostly waits, so the rate depends on how
 * many different rows are in flight, and clumps of scanners show as a lower rate.
 */
import { sum } from 'simple-statistics';
import type { Clock, Observer, Percolator, RangeLocks, Worker } from '#engine';
import type { Measuring } from '#harness';
import {
  column,
  counted,
  type FindingsParts,
  formatCount,
  higher,
  noNumbers,
  type ResultTable,
  resultTable,
  rowName,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { VirtualCluster, type Machine } from '../cluster.ts';
import { HistoryRecorder, judgedWords } from '../history.ts';

export interface ScannersPlan {
  readonly loaded: LoadedCalibration;
  readonly seed: number;
  /** Ten on each machine. */
  readonly scanners: number;
  /** Dirty rows at the beginning. */
  readonly rows: number;
}

export const MODES = ['none', 'skip', 'jump'] as const;
type ScannerMode = (typeof MODES)[number];

const MEANINGS: Readonly<Record<ScannerMode, string>> = {
  none: 'no locks',
  skip: 'locks, skipping ahead',
  jump: 'locks, jumping elsewhere',
};

interface ScannersPoint {
  readonly mode: ScannerMode;
  /** Until 90 % of the rows were clean: the last ones are few, whatever scanners do. */
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Share of the rate that scanners would reach if each always waited in a run of its own row. */
  readonly ofMost: number;
  readonly runsPerRow: number;
  readonly meetings: number;
  /** Transactions in the history that was judged. */
  readonly judged: number;
  readonly wrong: readonly string[];
}

const TABLE = 'pages';
const COLUMN = 'contents';
const SCANNERS_PER_MACHINE = 10;
/** A scanner begins in a random tablet, so with few tablets many scanners would begin together. */
const TABLETS_PER_SCANNER = 4;
const ROWS_PER_TRANSACTION = 100;
/** Time of a run besides its reads and writes. */
const THINK_MS = 100;
/** The same for all modes; otherwise one of them would read more at a time. */
const SCAN_ROWS = 32;
const MEASURED_SHARE = 0.9;
const LOOK_MS = 5;
/** So many clean the rest: all scanners would search clean tablets for the last few rows. */
const LAST_SCANNERS = 10;
/** One row of this many is in the history that is judged. */
const HISTORY_SHARE = 100;
/** Virtual time after which a mode is given up. */
const LIMIT_SECONDS = 600;

export async function simulateScanners(
  plan: ScannersPlan,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const points: ScannersPoint[] = [];
  progress.phase('simulating', MODES.length, 'modes');
  for (const mode of MODES) {
    signal.throwIfAborted();
    points.push(await simulateMode(plan, mode));
    progress.update(points.length);
    keep(scannersFindings(plan, points));
  }
  return scannersFindings(plan, points);
}

async function simulateMode(plan: ScannersPlan, mode: ScannerMode): Promise<ScannersPoint> {
  const { loaded, seed, scanners } = plan;
  const count = Math.ceil(scanners / SCANNERS_PER_MACHINE);
  const cluster = new VirtualCluster({
    calibration: loaded.calibration,
    seed,
    tabletServers: count,
  });
  const machines = Array.from({ length: count }, () => cluster.addMachine('worker'));
  const recorder = new HistoryRecorder(cluster, HISTORY_SHARE);
  return cluster.run(async () => {
    const percolators: Percolator[] = [];
    for (const machine of machines) {
      percolators.push(recorder.database(machine.name, await cluster.openDatabase(machine)));
    }
    const locks = machines.map((machine) => cluster.rangeLocks(machine));
    const parts = { cluster, recorder, machines, percolators, locks };
    const point = await new Scanning(plan, mode, parts).measure();
    for (const percolator of percolators) await percolator.close();
    cluster.window().end(); // Asserts Little's law, for which no call may be in flight.
    const found = recorder.judge([observerOn(cluster.clock)]);
    const wrong = [...point.wrong, ...found.map(({ claim, message }) => `${claim}: ${message}`)];
    return { ...point, wrong, judged: recorder.transactions };
  });
}

interface Parts {
  readonly cluster: VirtualCluster;
  readonly recorder: HistoryRecorder;
  readonly machines: readonly Machine[];
  /** One on each machine, as are the locks: they keep the scanners of one process apart, too. */
  readonly percolators: readonly Percolator[];
  readonly locks: readonly RangeLocks[];
}

/** All scanners of one mode, from the first dirty row to the last. */
class Scanning {
  readonly #plan: ScannersPlan;
  readonly #mode: ScannerMode;
  readonly #parts: Parts;
  /** Committed runs of each row. */
  readonly #committed = new Map<string, number>();

  constructor(plan: ScannersPlan, mode: ScannerMode, parts: Parts) {
    this.#plan = plan;
    this.#mode = mode;
    this.#parts = parts;
  }

  async measure(): Promise<Omit<ScannersPoint, 'judged'>> {
    const { scanners, rows } = this.#plan;
    const { clock } = this.#parts.cluster;
    await loadDirty(this.#parts.percolators[0] as Percolator, rows, TABLETS_PER_SCANNER * scanners);
    const beganMs = clock.monotonicMs();
    const endMs = beganMs + 1000 * LIMIT_SECONDS;
    const workers = Array.from({ length: scanners }, (_, i) => this.#start(i));
    const measured = Math.ceil(MEASURED_SHARE * rows);
    await this.#untilClean(measured, endMs);
    const seconds = (clock.monotonicMs() - beganMs) / 1000;
    const meetings = sum(workers.map(({ counters }) => counters.meetings));
    const runsPerRow = this.#runsPerRow();
    await stopAll(workers.splice(LAST_SCANNERS));
    await this.#untilClean(rows, endMs);
    await stopAll(workers);
    const rowsPerSecond = measured / seconds;
    const ofMost = rowsPerSecond / mostOf(scanners);
    const wrong = wrongIn(this.#committed, rows);
    return { mode: this.#mode, seconds, rowsPerSecond, ofMost, runsPerRow, meetings, wrong };
  }

  #start(number: number): Worker {
    const { recorder, machines, percolators, locks } = this.#parts;
    const machine = machines[number % machines.length] as Machine;
    const percolator = percolators[number % machines.length] as Percolator;
    const rangeLocks = locks[number % machines.length];
    const mode = this.#mode;
    const observer = recorder.observer(machine.name, observerOn(machine.clock));
    return percolator.startWorker([observer], {
      concurrency: 1,
      scanRows: SCAN_ROWS,
      onCommitted: (run) => {
        recorder.committed(run);
        const { row } = run.cell;
        this.#committed.set(row, (this.#committed.get(row) ?? 0) + 1);
      },
      ...(mode === 'none' ? {} : { rangeLocks, onMeeting: mode }),
    });
  }

  /** Of the runs that have ended: each has committed, or has lost to another one of its row. */
  #runsPerRow(): number {
    const { percolators } = this.#parts;
    const lost = sum(percolators.map(({ counters }) => counters.conflicts));
    return 1 + lost / this.#committed.size;
  }

  async #untilClean(rows: number, endMs: number): Promise<void> {
    const { clock } = this.#parts.cluster;
    while (this.#committed.size < rows && clock.monotonicMs() < endMs) await clock.sleep(LOOK_MS);
  }
}

async function stopAll(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop()));
}

async function loadDirty(percolator: Percolator, rows: number, tablets: number): Promise<void> {
  const splits = Array.from({ length: tablets - 1 }, (_, i) =>
    keyOf(Math.round(((i + 1) * rows) / tablets)),
  );
  await percolator.createTable(TABLE, { observedColumns: [COLUMN], splits });
  for (let from = 0; from < rows; from += ROWS_PER_TRANSACTION) {
    await percolator.transact(async (transaction) => {
      for (let i = from; i < Math.min(rows, from + ROWS_PER_TRANSACTION); i++) {
        transaction.set({ table: TABLE, row: keyOf(i), column: COLUMN }, Buffer.from(keyOf(i)));
      }
    });
  }
}

function keyOf(index: number): string {
  return `page${String(index).padStart(8, '0')}`;
}

/** Takes the time of a document without its processor time: it reads, waits and writes. */
function observerOn(clock: Clock): Observer {
  return {
    name: 'reader',
    table: TABLE,
    column: COLUMN,
    run: async (transaction, { row }) => {
      const contents = await transaction.get({ table: TABLE, row, column: COLUMN });
      await clock.sleep(THINK_MS);
      transaction.set({ table: TABLE, row, column: 'read' }, contents ?? Buffer.alloc(0));
    },
  };
}

/** Rows per second, if scanners did nothing but wait in runs of different rows. */
function mostOf(scanners: number): number {
  return (1000 * scanners) / THINK_MS;
}

function wrongIn(committed: ReadonlyMap<string, number>, rows: number): readonly string[] {
  const twice = committed
    .values()
    .filter((times) => times > 1)
    .toArray().length;
  return [
    ...(committed.size < rows ? [`${rows - committed.size} rows were never cleaned`] : []),
    ...(twice > 0 ? [`${twice} rows have more than one committed run`] : []),
  ];
}

function scannersFindings(plan: ScannersPlan, points: readonly ScannersPoint[]): FindingsParts {
  const wrong = points.flatMap(({ mode, wrong: all }) =>
    all.map((one) => `${MEANINGS[mode]}: ${one}`),
  );
  const none = points.find(({ mode }) => mode === 'none');
  if (wrong.length > 0 || none === undefined) {
    const detail = wrong.length > 0 ? wrong.join('; ') : 'nothing has been simulated yet';
    return noNumbers(detail);
  }
  const judged = sum(points.map((point) => point.judged));
  const rates = points.map(
    ({ mode, ofMost }, i) =>
      `${(100 * ofMost).toFixed(0)} %${i === 0 ? ' of that' : ''} with ${MEANINGS[mode]}`,
  );
  const most = formatCount(mostOf(plan.scanners));
  return {
    headline: `${counted(plan.scanners, 'scanners')} can clean ${most} rows per second at most, because each run waits ${THINK_MS} ms. They reach ${rates.join('; ')}.`,
    check: {
      passed: true,
      detail:
        'every row has exactly one committed run; calls, utilisation and queues keep their laws; ' +
        judgedWords(judged, { observers: true }),
    },
    tables: [tableOf(plan, points)],
    charts: [],
    targets: [],
  };
}

function tableOf({ scanners, rows }: ScannersPlan, points: readonly ScannersPoint[]): ResultTable {
  const percent = 100 * MEASURED_SHARE;
  return resultTable(
    {
      name: 'scanners',
      title: 'Rows cleaned per second, without and with the cure for platooning',
      caption:
        `${formatCount(scanners)} scanners, each with one run of ${THINK_MS} ms at a time, clean ${formatCount(rows)} rows. ` +
        `The numbers are those until ${percent} % of the rows were clean; runs in flight then do not count. The most would be ${formatCount(mostOf(scanners))} rows per second, if runs did nothing but wait.`,
    },
    points,
    [
      rowName('mode', ({ mode }) => MEANINGS[mode]),
      column('seconds', ({ seconds }) => rounded(seconds, 3)),
      column('rows per second', (point) => rounded(point.rowsPerSecond, 3), higher('rows/s')),
      column('of the most', ({ ofMost }) => rounded(ofMost, 3)),
      column('runs per row', ({ runsPerRow }) => rounded(runsPerRow, 3)),
      column('meetings', ({ meetings }) => meetings),
    ],
  );
}
