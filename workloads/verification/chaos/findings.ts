/**
 * The findings of `./run.sh chaos`: what the processes did, which faults hit them, and what was
 * found.
 */
import { counted, verdictOf } from '#harness';
import { type FindingsParts, formatCount, type ResultTable } from '#results';
import { type Workload, WORKLOADS } from '../invariants/index.ts';
import { folderFaultsIn } from './fleet.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import { optionsOf } from './matrix.ts';
import { type Plan, PROCESSES } from './plan.ts';
import type { Round } from './round.ts';
import { addTallies, type Tally } from './tally.ts';

/** The maximum number of violations shown for each claim; the file of the round has more. */
const TOLD_MAX = 3;

/** What a run was to do. */
export interface Planned {
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  /** Why rounds were left out. */
  readonly skipped: readonly string[];
}

export function findingsOf(rounds: readonly Round[], planned: Planned): FindingsParts {
  const pairs = sum(rounds.map((round) => round.pairs));
  const kills = sum(rounds.map(({ faults }) => faults.kills));
  const skipped = planned.skipped.map((why) => ` Skipped: ${why}`).join('');
  return {
    headline:
      `${counted(pairs, 'pairs')} of overlapping writers and ` +
      `${counted(sum(rounds.map(runsOf)), 'runs')} of observers in ${counted(kills, 'kills')}.${skipped}`,
    check: checkOf(rounds, planned),
    tables: [
      invariantTable(planned.workloads),
      workloadTable(rounds),
      totalTable(rounds),
      roundTable(rounds),
      ...violationTable(rounds),
    ],
    charts: [],
    targets: [],
  };
}

/** Rounds that may test less than they were to, as those of a smoke run, are named all the same. */
function checkOf(rounds: readonly Round[], planned: Planned): FindingsParts['check'] {
  const isStrict = rounds.every(({ plan }) => plan.isStrict);
  const { passed, detail } = verdictOf({
    unit: 'rounds',
    // If all were skipped, nothing was looked at.
    planned: planned.rounds - (rounds.length > 0 ? planned.skipped.length : 0),
    done: rounds.length,
    fault: isStrict ? 'broke a rule or tested too little' : 'broke a rule',
    found: rounds.flatMap(faultsOf),
  });
  const short = rounds
    .filter(({ plan }) => !plan.isStrict)
    .flatMap((round) => {
      const missed = shortfalls(round);
      return missed.length === 0 ? [] : [`round ${round.plan.number} only ${missed.join(' and ')}`];
    });
  if (short.length === 0) return { passed, detail };
  return {
    passed,
    detail: `${detail}, but they tested less than was asked for: ${short.join('; ')}`,
  };
}

/** At most one sentence for a round, because the verdict counts rounds. */
function faultsOf(round: Round): readonly string[] {
  const { length } = round.verdict.violations;
  const found = length > 0 ? [counted(length, 'violations')] : [];
  const faults = round.plan.isStrict ? [...found, ...shortfalls(round)] : found;
  return faults.length === 0 ? [] : [`round ${round.plan.number} (${faults.join('; ')})`];
}

function invariantTable(workloads: readonly Workload[]): ResultTable {
  return {
    name: 'invariants',
    title: 'What must hold',
    caption: 'In addition, snapshot isolation must hold, and every change must be observed.',
    columns: ['workload', 'invariant'],
    rows: workloads.map(({ name, invariant }) => [name, invariant]),
  };
}

function workloadTable(rounds: readonly Round[]): ResultTable {
  const tallies = addTallies(rounds.map(({ tallies: ofRound }) => ofRound));
  const rows = [...tallies].map(([name, tally]) =>
    [name as string | number].concat(numbersOf(tally)),
  );
  const columns = ['transactions', 'committed', 'failed', 'unknown', 'observer runs', 'cut off'];
  const all = [...tallies.values()].map(numbersOf);
  const sums = columns.map((_, i) => sum(all.map((numbers) => numbers[i] ?? 0)));
  return {
    name: 'workloads',
    title: 'What the processes did',
    caption: 'Cut off: runs of observers that lost a conflict, or whose process was killed.',
    columns: ['workload', ...columns],
    rows: [...rows, ['together', ...sums]],
  };
}

function numbersOf(tally: Tally): readonly number[] {
  const { transactions, committed, failed, unknown, runs, runsUnknown } = tally;
  return [transactions, committed, failed, unknown, runs, runsUnknown];
}

function totalTable(rounds: readonly Round[]): ResultTable {
  const of = (number: (round: Round) => number): number => sum(rounds.map(number));
  const tallies = rounds.flatMap(({ tallies: ofRound }) => [...ofRound.values()]);
  return {
    name: 'totals',
    title: 'Faults, and what followed from them',
    caption: 'Sums over all rounds.',
    columns: ['what', 'count'],
    rows: [
      ['kills', of(({ faults: { kills } }) => kills)],
      ['kills of services', of(({ faults: { serviceKills } }) => serviceKills)],
      ['kills of the owner of the store', of(({ faults: { ownerKills } }) => ownerKills)],
      ['milliseconds until the next owner served, median', medianOf(takeovers(rounds))],
      ['milliseconds until the next owner served, longest', takeovers(rounds).at(-1) ?? null],
      ['pauses', of(({ faults: { pauses } }) => pauses)],
      ['long pauses', of(({ faults: { longPauses } }) => longPauses)],
      ...Object.entries(FOLDER_FAULTS).map(([name, what]): [string, number] => [
        `the folder of the store ${what}`,
        of(({ faults: { folder } }) => folder.get(name as FolderFaultName) ?? 0),
      ]),
      [
        'owners that lost the store with its folder, and said so',
        of(({ faults }) => faults.displaced),
      ],
      ['bytes not synced at a power cut', of(({ cut }) => cut?.bytesAtRisk ?? 0)],
      [
        'bytes lost at a power cut, also synced bytes of files whose name was not synced',
        of(({ cut }) => cut?.bytesLost ?? 0),
      ],
      ['restarts', of(({ faults: { restarts } }) => restarts)],
      [
        'processes that refused the oracle of another database',
        of(({ faults: { misled } }) => misled),
      ],
      [
        'oracles of another database at the port of a dead one',
        of(({ faults: { occupied } }) => occupied),
      ],
      ['locks of others rolled forward', of(({ engine }) => engine.rolledForward)],
      ['locks of others rolled back', of(({ engine }) => engine.rolledBack)],
      ['waits for locks', of(({ engine }) => engine.lockWaits)],
      ['records collected', of(({ collected }) => collected)],
      ['unknown outcomes that had committed', sum(tallies.map((tally) => tally.unknownCommitted))],
      ['write skews, which are allowed', of(({ verdict }) => verdict.writeSkews)],
    ],
  };
}

/** In whole milliseconds, the shortest first. */
function takeovers(rounds: readonly Round[]): readonly number[] {
  const all = rounds.flatMap(({ faults: { takeoversMs } }) => takeoversMs.map(Math.round));
  return all.toSorted((a, b) => a - b);
}

/** Null if there are fewer than 30, which say little. */
function medianOf(sorted: readonly number[]): number | null {
  return sorted.length < 30 ? null : (sorted[Math.floor(sorted.length / 2)] ?? null);
}

function roundTable(rounds: readonly Round[]): ResultTable {
  return {
    name: 'rounds',
    title: 'Rounds',
    caption:
      'Each round has its own store, and ends when it has seen enough. The options repeat the round, as far as the machine lets them.',
    columns: ['round', 'seconds', 'kills', 'pairs', 'runs', 'violations', 'not reached', 'options'],
    rows: rounds.map((round) => [
      round.plan.number,
      Math.round(round.seconds),
      round.faults.kills,
      round.pairs,
      runsOf(round),
      round.verdict.violations.length,
      shortfalls(round).join('; ') || null,
      allOptionsOf(round.plan),
    ]),
  };
}

/** The setting of the round, and what the user has asked of all rounds. */
function allOptionsOf(plan: Plan): string {
  const options = [
    `--seed ${plan.seed} ${optionsOf(plan)}`,
    plan.store === 'hbase' && `--region-servers ${plan.regionServers}`,
    plan.workloads.length < WORKLOADS.length &&
      `--workloads ${plan.workloads.map(({ name }) => name).join()}`,
    plan.processes !== PROCESSES && `--processes ${plan.processes}`,
    !plan.fsync && '--no-fsync',
    plan.powerCut && '--power-cuts',
  ];
  return options.filter((option) => option !== false).join(' ');
}

/** The floors that the round did not reach; a power cut that can destroy nothing tests nothing. */
function shortfalls(round: Round): readonly string[] {
  const { pairs, runs, folderFaults } = round.plan.floors;
  const short = (name: string, reached: number, floor: number): readonly string[] =>
    reached >= floor || floor === Infinity
      ? []
      : [`${formatCount(reached)} of ${formatCount(floor)} ${name}`];
  const { cut } = round;
  const isIdle = cut?.bytesAtRisk === 0 && cut.namesAtRisk === 0;
  return [
    ...short('pairs', round.pairs, pairs),
    ...short('runs', runsOf(round), runs),
    ...short('faults of the folder', folderFaultsIn(round.faults), folderFaults),
    ...(isIdle ? ['a power cut with nothing at risk'] : []),
  ];
}

/** The committed runs. */
function runsOf({ tallies }: Round): number {
  return sum([...tallies.values()].map(({ runs }) => runs));
}

/** Grouped by claim: the watcher repeats itself, and must not hide other claims. */
function violationTable(rounds: readonly Round[]): readonly ResultTable[] {
  const violations = rounds.flatMap(({ verdict }) => verdict.violations);
  if (violations.length === 0) return [];
  const claims = [...Map.groupBy(violations, ({ claim }) => claim)];
  return [
    {
      name: 'violations',
      title: 'Violations',
      caption: `The first ${TOLD_MAX} of each claim; violations.json of the round has all that the judges kept.`,
      columns: ['claim', 'count', 'what was seen'],
      rows: claims.flatMap(([claim, all]) =>
        all
          .slice(0, TOLD_MAX)
          .map(({ message }, i) =>
            i === 0 ? [claim, all.length, message] : [null, null, message],
          ),
      ),
    },
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
