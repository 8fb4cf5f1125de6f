/**
 * The findings of `./run.sh chaos`: what the processes did, which faults hit them, and what was
 * found.
 */
import { median, sum } from 'simple-statistics';
import { counted, verdictOf } from '#harness';
import {
  column,
  type FindingsParts,
  formatCount,
  pair,
  type ResultTable,
  resultTable,
} from '#results';
import { type Workload, WORKLOADS } from '../invariants/index.ts';
import { type CutName, CUTS } from './cuts.ts';
import { folderFaultsIn } from './fleet.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import { optionsOf, type ChaosPlan, PROCESSES } from './plan.ts';
import type { Round } from './round.ts';
import { addTallies, type Tally } from './truth.ts';

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
      `${counted(sum(rounds.map(runsOf)), 'runs')} of observers in ${counted(kills, 'kills')}` +
      `${cutsText(rounds)}.${skipped}`,
    check: checkOf(rounds, planned),
    tables: [
      invariantTable(planned.workloads),
      workloadTable(rounds),
      totalTable(rounds),
      ...cutTables(rounds),
      roundTable(rounds),
      ...violationTable(rounds),
    ],
    charts: [],
    targets: [],
  };
}

/** Rounds that may test less than they were to, as those of a smoke run, are still named. */
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
  return resultTable(
    {
      name: 'invariants',
      title: 'What must hold',
      caption:
        'In addition, snapshot isolation must hold, every change must be observed, and readers of changes must be told of each once, in order.',
    },
    workloads,
    [column('workload', ({ name }) => name), column('invariant', ({ invariant }) => invariant)],
  );
}

function workloadTable(rounds: readonly Round[]): ResultTable {
  const tallies = addTallies(rounds.map(({ tallies: ofRound }) => ofRound));
  const count = (title: string, of: (tally: Tally) => number) =>
    column<{ readonly of: readonly Tally[] }>(title, (row) => sum(row.of.map(of)));
  return resultTable(
    {
      name: 'workloads',
      title: 'What the processes did',
      caption: 'Cut off: runs of observers that lost a conflict, or whose process was killed.',
    },
    [
      ...Array.from(tallies, ([name, tally]) => ({ name, of: [tally] })),
      { name: 'together', of: [...tallies.values()] },
    ],
    [
      column('workload', ({ name }) => name),
      count('transactions', ({ transactions }) => transactions),
      count('committed', ({ committed }) => committed),
      count('failed', ({ failed }) => failed),
      count('unknown', ({ unknown }) => unknown),
      count('observer runs', ({ runs }) => runs),
      count('cut off', ({ runsUnknown }) => runsUnknown),
    ],
  );
}

function totalTable(rounds: readonly Round[]): ResultTable {
  const of = (number: (round: Round) => number): number => sum(rounds.map(number));
  const tallies = rounds.flatMap(({ tallies: ofRound }) => [...ofRound.values()]);
  const takeovers = rounds.flatMap(({ faults: { takeoversMs } }) => takeoversMs);
  return resultTable(
    {
      name: 'totals',
      title: 'Faults, and what followed from them',
      caption: 'Sums over all rounds.',
    },
    [
      ['kills', of(({ faults: { kills } }) => kills)],
      ['kills of services', of(({ faults: { serviceKills } }) => serviceKills)],
      ['kills of the owner of the store', of(({ faults: { ownerKills } }) => ownerKills)],
      // Fewer say little.
      [
        'milliseconds until the next owner served, median',
        takeovers.length < 30 ? null : Math.round(median(takeovers)),
      ],
      [
        'milliseconds until the next owner served, longest',
        takeovers.length === 0 ? null : Math.round(Math.max(...takeovers)),
      ],
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
      ['changes that readers were told of', of(({ told: { changes } }) => changes)],
      ['places that readers lost to collectors', of(({ told: { lost } }) => lost)],
      ['unknown outcomes that had committed', sum(tallies.map((tally) => tally.unknownCommitted))],
      ['write skews, which are allowed', of(({ verdict }) => verdict.writeSkews)],
    ],
    pair('what', 'count'),
  );
}

function cutsText(rounds: readonly Round[]): string {
  if (rounds.every(({ network }) => network === undefined)) return '';
  return ` and ${counted(sum(rounds.map(cutsOf)), 'cuts')} of the network`;
}

/** Cuts that have hit something. */
function cutsOf({ network }: Round): number {
  return sum([...(network?.cuts.values() ?? [])]);
}

/** What was cut, what it hit, and how long it took until all was well again. */
function cutTables(rounds: readonly Round[]): readonly ResultTable[] {
  const networks = rounds.flatMap(({ network }) => network ?? []);
  if (networks.length === 0) return [];
  const of = (number: (network: (typeof networks)[number]) => number): number =>
    sum(networks.map(number));
  const recoveries = networks.flatMap(({ recoveriesMs }) => recoveriesMs);
  const table = resultTable(
    {
      name: 'cuts',
      title: 'Cuts of the network, and what followed from them',
      caption:
        'A cut counts if packets were dropped, or processes hit, while it lasted; one that hit nothing is a violation.',
    },
    [
      ...Object.entries(CUTS).map(([name, what]): [string, number] => [
        what,
        of(({ cuts }) => cuts.get(name as CutName) ?? 0),
      ]),
      ['packets dropped by unplugged hosts', of(({ dropped }) => dropped.unplugged)],
      ['packets without a way', of(({ dropped }) => dropped.blocked)],
      ['processes killed or stopped with their host', of(({ processes }) => processes)],
      ['processes of HBase started again', of(({ restarts }) => restarts)],
      ['calls of clients that failed, and said why', of(({ refusals }) => refusals)],
      ['timestamps taken by witnesses', of(({ witnessed }) => witnessed)],
      [
        'milliseconds from the heal until all had committed, median',
        recoveries.length === 0 ? null : Math.round(median(recoveries)),
      ],
      [
        'milliseconds from the heal until all had committed, longest',
        recoveries.length === 0 ? null : Math.round(Math.max(...recoveries)),
      ],
    ],
    pair('what', 'count'),
  );
  return [table];
}

function roundTable(rounds: readonly Round[]): ResultTable {
  return resultTable(
    {
      name: 'rounds',
      title: 'Rounds',
      caption:
        'Each round has its own store, and ends when it has seen enough. The options repeat the round, as far as the machine lets them.',
    },
    rounds,
    [
      column('round', ({ plan }) => plan.number),
      column('seconds', ({ seconds }) => Math.round(seconds)),
      column('kills', ({ faults }) => faults.kills),
      column('pairs', ({ pairs }) => pairs),
      column('runs', runsOf),
      column('violations', ({ verdict }) => verdict.violations.length),
      column('not reached', (round) => shortfalls(round).join('; ') || null),
      column('options', ({ plan }) => allOptionsOf(plan)),
    ],
  );
}

/** The setting of the round, and what the user has asked of all rounds. */
function allOptionsOf(plan: ChaosPlan): string {
  const options = [
    `--seed ${plan.seed} ${optionsOf(plan)}`,
    plan.store === 'hbase' && `--region-servers ${plan.regionServers}`,
    plan.workloads.length < WORKLOADS.length &&
      `--workloads ${plan.workloads.map(({ name }) => name).join()}`,
    plan.processes !== PROCESSES && `--processes ${plan.processes}`,
    !plan.fsync && '--no-fsync',
    plan.powerCut && '--power-cuts',
    plan.hosts > 0 && `--hosts ${plan.hosts}`,
    plan.cuts && '--cuts',
  ];
  return options.filter((option) => option !== false).join(' ');
}

/** The floors that the round did not reach; a power cut that can destroy nothing tests nothing. */
function shortfalls(round: Round): readonly string[] {
  const { pairs, runs, folderFaults, cuts } = round.plan.floors;
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
    ...short('cuts', cutsOf(round), cuts),
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
  const shown = [...Map.groupBy(violations, ({ claim }) => claim).values()].flatMap((all) =>
    all.slice(0, TOLD_MAX).map((violation, i) => ({ violation, of: i === 0 ? all : null })),
  );
  return [
    resultTable(
      {
        name: 'violations',
        title: 'Violations',
        caption: `The first ${TOLD_MAX} of each claim; violations.json of the round has all that the judges kept.`,
      },
      shown,
      [
        column('claim', ({ violation, of }) => of && violation.claim),
        column('count', ({ of }) => of && of.length),
        column('what was seen', ({ violation }) => violation.message),
      ],
    ),
  ];
}
