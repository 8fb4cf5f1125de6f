/** The findings of `./run.sh simulate`, for the report. */
import { counted, verdictOf } from '#harness';
import {
  column,
  type FindingsParts,
  formatCount,
  higher,
  noNumbers,
  pair,
  type ResultTable,
  resultTable,
  rowName,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import { notCovered, notStoppedAt, type Tally } from './index.ts';

/** A run that failed, after it was shrunk. */
export interface Shrunk {
  readonly seed: number;
  /** One line for each event. */
  readonly story: readonly string[];
  /** The page on which one steps through it; absent for a run on a simulated HBase. */
  readonly page: string | undefined;
  /** The file that tests replay; absent if none was to be written. */
  readonly file: string | undefined;
}

/** @param planned runs that were to be simulated */
export function findingsOf(tally: Tally, planned: number, shrunk?: Shrunk): FindingsParts {
  const { runs, counts, lastedMs, failed } = tally;
  return {
    headline:
      `${counted(runs, 'runs')} with ${counted(counts.transactions, 'transactions')}, ` +
      `in ${counted(Math.round(lastedMs / 60_000), 'minutes')} of virtual time.${uncovered(tally)}`,
    check: verdictOf({
      unit: 'runs',
      planned,
      done: runs,
      fault: 'broke a rule',
      found: failed.map(({ seed, claim }) => `seed ${seed} (${claim})`),
    }),
    tables: [
      countTable(tally),
      faultTable(tally),
      waitTable(tally),
      ...(shrunk === undefined ? [] : [storyTable(shrunk)]),
    ],
    charts: [],
    targets: [],
  };
}

/** A sentence about the faults that never happened: nothing is known about them. */
function uncovered(tally: Tally): string {
  const faults = notCovered(tally);
  return faults.length === 0
    ? ''
    : ` NOT COVERED, because they never happened: ${faults.join(', ')}.`;
}

function countTable({ counts }: Tally): ResultTable {
  return resultTable(
    {
      name: 'simulated',
      title: 'What was simulated',
      caption: 'Sums over all runs. Locks were rolled forward or back by another transaction.',
    },
    [
      ['transactions', counts.transactions],
      ['commits', counts.commits],
      ['conflicts', counts.conflicts],
      ['unknown outcomes', counts.unknown],
      ['locks rolled forward', counts.rolledForward],
      ['locks rolled back', counts.rolledBack],
      ['observer runs', counts.observerRuns],
      ['observer runs that hung', counts.hung],
      ['cells parked', counts.parked],
      ['cells replayed', counts.replayed],
      ['tables dropped', counts.tablesDropped],
      ['cells collected', counts.cellsCollected],
    ],
    pair('what', 'count'),
  );
}

function faultTable({ faults }: Tally): ResultTable {
  return resultTable(
    { name: 'faults', title: 'Faults met', caption: 'How often each fault happened, in all runs.' },
    byName(faults),
    pair('fault', 'times'),
  );
}

function byName(counts: Readonly<Record<string, number>>): readonly [string, number][] {
  return Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b));
}

/** Places of work outside of transactions, and how often a process stopped there. */
function waitTable(tally: Tally): ResultTable {
  const stopped = byName(tally.stopped);
  const never = notStoppedAt(tally);
  return resultTable(
    {
      name: 'waits',
      title: 'Where work outside of transactions was stopped',
      caption:
        `A process stopped while this function of the engine waited, at ${stopped.length} of ` +
        `${stopped.length + never.length} such functions; the others come last.`,
    },
    [...stopped, ...never.map((place): [string, number] => [place, 0])],
    pair('function', 'times'),
  );
}

function storyTable({ seed, story, page, file }: Shrunk): ResultTable {
  const shown = page === undefined ? [] : [`Step through it in a browser: ${page}`];
  const kept = file === undefined ? '' : ` Its plan is in ${file}, which tests replay.`;
  return resultTable(
    {
      name: 'story',
      title: `What happened in run ${seed}, shrunk`,
      caption: `The last events of the shortest run that still breaks the rule.${kept}`,
    },
    [...story, ...shown],
    [column('event', (line) => line)],
  );
}

/* The findings of `./run.sh bench:simulate`, for the report. */

export interface SimulationMeasurements {
  readonly runs: number;
  readonly transactions: number;
  /** Sent from one process to another; answers are not counted. */
  readonly messages: number;
  readonly wallMs: number;
  /** Processor time of all threads of the process. */
  readonly cpuMs: number;
  /** The part of `wallMs` that the judges took. */
  readonly judgingMs: number;
  /** Seeds of runs that broke a rule. */
  readonly broken: readonly number[];
}

/** Transactions per second that the simulator has to reach on one core. */
const { transactionsPerSecondMin: AIM } = TARGETS.simulate;

/** @param warm the measurements of the warm-up, whose runs were judged, too */
export function speedFindings(
  warm: SimulationMeasurements,
  measured: SimulationMeasurements,
): FindingsParts {
  const { runs, transactions, messages, wallMs, cpuMs, judgingMs } = measured;
  const perCpuSecond = (transactions / cpuMs) * 1_000;
  const check = checkOf(warm, measured);
  const speed = `${formatCount(perCpuSecond)} transactions a second of the processor`;
  if (!check.passed) return noNumbers(check.detail);
  return {
    headline: `One thread simulates and judges ${speed}, in ${counted(runs, 'runs')}.`,
    check,
    tables: [
      speedTable(measured),
      resultTable(
        {
          name: 'shares',
          title: 'What a transaction needs',
          caption: 'Judging is the part of the time after the simulated work.',
        },
        [Math.round((100 * judgingMs) / wallMs)],
        [
          column('messages', () => rounded(messages / transactions)),
          column('% simulating', (judging) => 100 - judging),
          column('% judging', (judging) => judging),
        ],
      ),
    ],
    charts: [],
    targets: [
      {
        name: 'transactions a second of the processor',
        target: `at least ${formatCount(AIM)}`,
        measured: formatCount(perCpuSecond),
        met: perCpuSecond >= AIM,
      },
    ],
  };
}

function checkOf(
  warm: SimulationMeasurements,
  measured: SimulationMeasurements,
): FindingsParts['check'] {
  const runs = warm.runs + measured.runs;
  const found = [...warm.broken, ...measured.broken].map((seed) => `seed ${seed}`);
  return verdictOf({ unit: 'runs', planned: runs, done: runs, fault: 'broke a rule', found });
}

function speedTable({ transactions, wallMs, cpuMs }: SimulationMeasurements): ResultTable {
  return resultTable(
    {
      name: 'speed',
      title: 'Simulated transactions, one thread',
      caption: 'The time of the processor includes the threads that collect garbage and compile.',
    },
    [
      { of: 'the clock', ms: wallMs },
      { of: 'the processor', ms: cpuMs },
    ],
    [
      rowName('time of', ({ of }) => of),
      column(
        'transactions a second',
        ({ ms }) => Math.round((transactions / ms) * 1_000),
        higher('1/s'),
      ),
      column('µs each', ({ ms }) => rounded((ms * 1_000) / transactions)),
    ],
  );
}
