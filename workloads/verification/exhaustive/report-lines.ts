/** The lines of the table that `./run.sh exhaust` prints. */
import type { ExhaustOptions, Report } from './index.ts';

const WIDTHS = [18, 10, 7, 10, 9, 10, 12, 9, 9, 10] as const;

export const TABLE_HEAD: string = row([
  'scenario',
  'suspicion',
  'crashes',
  'duplicates',
  'lost',
  'executions',
  'states',
  'seconds',
  'exhausted',
  'violations',
]);

export function reportLine(
  { scenario, executions, states, isExhausted, failure }: Report,
  { suspicion, crashes, copies, lostAnswers }: ExhaustOptions,
  seconds: number,
): string {
  return row([
    scenario,
    suspicion ?? '',
    String(crashes),
    String(copies),
    String(lostAnswers),
    isExhausted ? count(executions) : `> ${count(executions)}`,
    states.toLocaleString('en'),
    seconds.toFixed(1),
    isExhausted ? 'yes' : 'no',
    String(failure?.violations.length ?? 0),
  ]);
}

function count(executions: number): string {
  return executions < 1e6 ? executions.toLocaleString('en') : executions.toPrecision(2);
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, i) => (i < 2 ? cell.padEnd(WIDTHS[i] ?? 0) : cell.padStart(WIDTHS[i] ?? 0)))
    .join('  ');
}
