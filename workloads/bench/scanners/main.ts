/**
 * `./run.sh bench:scanners`: the value of the cure for platooning. (Section 2.4: "scanning threads
 * would tend to clump together in a few regions of the table, effectively reducing the parallelism
 * of the scan".)
 *
 * 1. A table of dirty rows, in tablets, with oracle and lock service in separate processes.
 * 2. Scanners, each a process, run an observer for every row. It spends most of its time waiting,
 *    so the rows per second depend on the number of different rows in flight, not on the processor.
 * 3. Measure until the last row is clean, without locks, with locks, and with locks and jumps:
 *
 *        none   a scanner knows nothing about the others; two on one row both run it, and one loses
 *        skip   it locks the rows it scans, and continues after the rows of another scanner
 *        jump   the paper's cure: it locks the rows it scans, and jumps when it meets another
 *
 * Every row must have exactly one committed run, or there are no numbers. The modes take turns, so
 * that all meet the same disturbances.
 */
import {
  counted,
  integer,
  measureChecked,
  type Measuring,
  repeatsOption,
  runExperiment,
} from '#harness';
import { DATABASE_OPTIONS, settingsOf } from '../../harness/engine-settings.ts';
import { describeStore } from '../../harness/stores.ts';
import {
  findingsOf,
  MEANINGS,
  measurePoint,
  MODES,
  mostPerSecond,
  type ScannersPlan,
  type ScannersPoint,
} from './measure.ts';

const SIZES = {
  smoke: { scanners: 2, rows: 60, think: 5, repeats: 1 },
  quick: { scanners: 8, rows: 4_000, think: 40, repeats: 3 },
  standard: { scanners: 8, rows: 20_000, think: 40, repeats: 8 },
  full: { scanners: 16, rows: 100_000, think: 40, repeats: 10 },
};

/** Time to start the processes of a point, and to load its table. */
const START_SECONDS = 4;
/** The share of the possible rate that scanners usually reach. */
const EFFICIENCY = 0.5;

await runExperiment(
  {
    script: 'bench:scanners',
    subject: { kicker: 'Percolator paper, section 2.4', title: 'Scanners that meet' },
    description:
      'Measures how many dirty rows per second scanners in separate processes clean, ' +
      'without and with the locks and jumps that keep them apart.',
    isOnOneHost: 'measures scanners on a store that only this machine reaches',
    sizes: SIZES,
    options: {
      scanners: integer({ description: 'scanner processes', min: 1, max: 64 }),
      rows: integer({ description: 'dirty rows at the start', min: 10, max: 10_000_000 }),
      tablets: integer({ description: 'tablets of the table', default: 16, min: 1, max: 1_000 }),
      concurrency: integer({
        description: 'concurrent observer runs per scanner',
        default: 4,
        min: 1,
        max: 10_000,
      }),
      think: integer({
        description: 'time that each observer run waits',
        min: 0,
        max: 60_000,
        unit: 'ms',
      }),
      repeats: repeatsOption('each mode, of which the median counts'),
      ...DATABASE_OPTIONS,
    },
    examples: [
      {
        command: './run.sh bench:scanners --tablets 1',
        does: 'a table of one tablet, which has no splits for scanners to start from',
      },
    ],
    plan: (options) => {
      const { rows, repeats, scanners, think: thinkMs, concurrency } = options;
      const seconds = rows / (EFFICIENCY * mostPerSecond({ scanners, concurrency, thinkMs }));
      return {
        about: `${counted(rows, 'rows')} for ${counted(scanners, 'scanners')} to clean, ${MODES.length} modes, ${repeats} of each`,
        seconds: repeats * MODES.length * (START_SECONDS + seconds),
        store: describeStore('embedded', { fsync: false }),
        limitations: [
          'Scanners, oracle and lock service share the cores of one machine; a run mostly waits, so the processor is not the limit.',
          'The start of a scanner and the targets of its jumps are random in each measurement, without a seed.',
        ],
      };
    },
  },
  async ({ think: thinkMs, repeats, ...options }, measuring) => {
    const plan: ScannersPlan = { ...options, thinkMs, engine: settingsOf(options) };
    return findingsOf(plan, await measureInTurns(plan, repeats, measuring));
  },
);

async function measureInTurns(
  plan: ScannersPlan,
  repeats: number,
  { keep, progress, signal, work }: Measuring,
): Promise<readonly ScannersPoint[]> {
  const points: ScannersPoint[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    for (const mode of MODES) {
      progress.phase(`${MEANINGS[mode]}, ${repeat} of ${repeats}`, plan.rows, 'rows');
      const onRows = (done: number): void => progress.update(done);
      const measure = () => measurePoint(mode, plan, { work, signal, onRows });
      points.push(await measureChecked({ keep, signal }, measure));
      keep(findingsOf(plan, points));
    }
  }
  return points;
}
