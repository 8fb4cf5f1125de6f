/** The tables at the end: what the processes did, which faults hit them, and what was found. */
import { formatCount } from '#results';
import { optionsOf } from './matrix.ts';
import type { Round } from './round.ts';
import { addTallies, type Tally } from './tally.ts';

const COLUMNS = [
  'workload',
  'transactions',
  'committed',
  'failed',
  'unknown',
  'observer runs',
  'lost or cut off',
] as const;
/** The number of violations printed for each claim; the file has all. */
const PRINTED_MAX = 3;

export function summaryLines(rounds: readonly Round[]): string[] {
  const tallies = addTallies(rounds.map(({ tallies: ofRound }) => ofRound));
  const rows = [...tallies].map(([name, tally]) =>
    [name].concat(numbersOf(tally).map(formatCount)),
  );
  const all = [...tallies.values()].map(numbersOf);
  const sums = COLUMNS.slice(1).map((_, i) => sum(all.map((numbers) => numbers[i] ?? 0)));
  return [
    ...table(COLUMNS, [...rows, ['together', ...sums.map(formatCount)]]),
    '',
    ...rounds.map(roundLine),
    '',
    ...faults(rounds),
    ...rounds.flatMap(shortfalls),
    '',
    ...findings(rounds),
  ];
}

function numbersOf(tally: Tally): readonly number[] {
  const { transactions, committed, failed, unknown, runs, runsUnknown: runsUntold } = tally;
  return [transactions, committed, failed, unknown, runs, runsUntold];
}

function faults(rounds: readonly Round[]): readonly string[] {
  const of = (number: (round: Round) => number): string => formatCount(sum(rounds.map(number)));
  const tallies = rounds.flatMap(({ tallies: ofRound }) => [...ofRound.values()]);
  const after = sum(tallies.map(({ unknownCommitted }) => unknownCommitted));
  return [
    `kills: ${of(({ faults: { kills } }) => kills)}; ` +
      `of services: ${of(({ faults: { serviceKills } }) => serviceKills)}; ` +
      `pauses: ${of(({ faults: { pauses } }) => pauses)}; ` +
      `long ones: ${of(({ faults: { longPauses } }) => longPauses)}; ` +
      `restarts: ${of(({ faults: { restarts } }) => restarts)}; ` +
      `seconds: ${of(({ seconds }) => Math.round(seconds))}`,
    `locks of other transactions rolled forward: ${of(({ engine }) => engine.rolledForward)}, ` +
      `back: ${of(({ engine }) => engine.rolledBack)}; waits for locks: ${of(({ engine }) => engine.lockWaits)}; ` +
      `records collected: ${of(({ collected }) => collected)}`,
    `pairs of overlapping writers: ${of(({ pairs }) => pairs)}; runs of observers: ${of(runsOf)}`,
    `unknown outcomes that had committed: ${formatCount(after)}`,
  ];
}

/** The line of a round, with the options that repeat it. */
function roundLine(round: Round, i: number): string {
  const { plan, faults: hits, seconds, pairs, verdict } = round;
  const numbers = [
    `${formatCount(Math.round(seconds))} s`,
    `${formatCount(hits.kills)} kills`,
    `${formatCount(hits.pauses)} pauses`,
    `${formatCount(pairs)} pairs`,
    `${formatCount(runsOf(round))} runs`,
    `${formatCount(verdict.violations.length)} violations`,
  ];
  return `round ${i + 1}: ${numbers.join(', ')} (--seed ${plan.seed} ${optionsOf(plan)})`;
}

/** Whether the round ended before it reached its floors. */
export function isShort(round: Round): boolean {
  return shortfalls(round).length > 0;
}

function shortfalls(round: Round): readonly string[] {
  const { pairs, runs } = round.plan.floors;
  const seconds = formatCount(Math.round(round.seconds));
  const short = (name: string, reached: number, floor: number): readonly string[] =>
    reached >= floor || floor === Infinity
      ? []
      : [`NOT reached in ${seconds} s: ${formatCount(reached)} of ${formatCount(floor)} ${name}`];
  return [
    ...short('pairs of overlapping writers', round.pairs, pairs),
    ...short('runs of observers', runsOf(round), runs),
  ];
}

/** The committed runs. */
function runsOf({ tallies }: Round): number {
  return sum([...tallies.values()].map(({ runs }) => runs));
}

/** Grouped by claim: the watcher repeats itself, and must not hide other claims. */
function findings(rounds: readonly Round[]): readonly string[] {
  const violations = rounds.flatMap(({ verdict }) => verdict.violations);
  const allowed = sum(rounds.map(({ verdict }) => verdict.writeSkews));
  const claims = [...Map.groupBy(violations, ({ claim }) => claim)];
  return [
    ...(allowed > 0
      ? [`write skews, which snapshot isolation allows: ${formatCount(allowed)}`]
      : []),
    `violations: ${formatCount(violations.length)}`,
    ...claims.flatMap(([claim, ofClaim]) => {
      const messages = ofClaim.slice(0, PRINTED_MAX).map(({ message }) => `    ${message}`);
      return [`  ${claim} (${formatCount(ofClaim.length)})`].concat(messages);
    }),
  ];
}

function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = columns.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('   ');
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
