/** The findings of `./run.sh simulate`, for the report. */
import { counted, verdictOf } from '#harness';
import { type FindingsParts, type ResultTable } from '#results';
import { notCovered, notStoppedAt, type Tally } from './index.ts';

/** A run that failed, after it was shrunk. */
export interface Shrunk {
  readonly seed: number;
  /** One line for each event. */
  readonly story: readonly string[];
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
  return {
    name: 'simulated',
    title: 'What was simulated',
    caption: 'Sums over all runs. Locks were rolled forward or back by another transaction.',
    columns: ['what', 'count'],
    rows: [
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
  };
}

function faultTable({ faults }: Tally): ResultTable {
  return {
    name: 'faults',
    title: 'Faults met',
    caption: 'How often each fault happened, in all runs.',
    columns: ['fault', 'times'],
    rows: Object.entries(faults)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([fault, count]) => [fault, count]),
  };
}

/** Places of work outside of transactions, and how often a process stopped there. */
function waitTable(tally: Tally): ResultTable {
  const stopped = Object.entries(tally.stopped).toSorted(([a], [b]) => a.localeCompare(b));
  const never = notStoppedAt(tally);
  return {
    name: 'waits',
    title: 'Where work outside of transactions was stopped',
    caption:
      `A process stopped while this function of the engine waited, at ${stopped.length} of ` +
      `${stopped.length + never.length} such functions; the others come last.`,
    columns: ['function', 'times'],
    rows: [...stopped, ...never.map((place): [string, number] => [place, 0])],
  };
}

function storyTable({ seed, story, file }: Shrunk): ResultTable {
  const kept = file === undefined ? '' : ` Its plan is in ${file}, which tests replay.`;
  return {
    name: 'story',
    title: `What happened in run ${seed}, shrunk`,
    caption: `The last events of the shortest run that still breaks the rule.${kept}`,
    columns: ['event'],
    rows: story.map((line) => [line]),
  };
}
