/** A comparison as text and as JSON. */
import { counted } from '#harness';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { type Comparison, countOf } from './compare-runs.ts';
import type { Difference } from './difference.ts';
import type { ComparedRun, Side } from './sides.ts';

export function comparisonLines(comparison: Comparison): readonly string[] {
  const { a, b, inSpiteOf, differences, unmatched, threshold } = comparison;
  const table = {
    title: `${a.runs[0].record.experiment}, B against A (↑ higher is better, ↓ lower is better)`,
    columns: ['metric', 'unit', 'A', 'B', 'difference', '95 % interval', 'verdict', 'from'],
    rows: differences.map((one) => [
      one.name,
      `${one.unit} ${one.better === 'higher' ? '↑' : '↓'}`.trim(),
      valueText(one.a),
      valueText(one.b),
      one.percent === null ? null : percentText(one.percent),
      one.interval === null
        ? null
        : `${percentText(one.interval.low)} to ${percentText(one.interval.high)}`,
      one.verdict,
      one.because,
    ]),
  };
  return [
    ...[a, b].flatMap(sideLines),
    ...(inSpiteOf.length === 0 ? [] : [`They differ in ${inSpiteOf.join('; ')}.`]),
    '',
    ...tableLines(table),
    ...(unmatched.length === 0
      ? []
      : [`Not compared, because not every run has them: ${counted(unmatched.length, 'metrics')}.`]),
    ...conclusion(differences, threshold),
  ];
}

/** What the exit code says; nothing if no metric has a verdict, which is an error. */
function conclusion(differences: readonly Difference[], threshold: number): readonly string[] {
  if (countOf(differences, 'no verdict') === differences.length) return [];
  const counts = (['better', 'same', 'worse', 'no verdict'] as const)
    .map((verdict) => `${countOf(differences, verdict)} ${verdict}`)
    .join(', ');
  const worse = countOf(differences, 'worse');
  const what =
    worse === 0 ? 'No metric is' : worse === 1 ? 'One metric is' : `${worse} metrics are`;
  return [`${what} worse by more than ${threshold} %: ${counts}.`];
}

export function comparisonJson({ a, b, ...rest }: Comparison): string {
  const sideOf = ({ runs }: Side): unknown => runs.map(runOf);
  // JSON has no infinity: a latency without bound becomes a word.
  const words = (_: string, value: unknown): unknown => (value === Infinity ? 'unbounded' : value);
  return JSON.stringify({ a: sideOf(a), b: sideOf(b), ...rest }, words, 2);
}

function runOf({ name, record }: ComparedRun): unknown {
  const { runId, experiment, profile, startedAt, environment } = record;
  return { name, runId, experiment, profile, startedAt, commit: environment.commit };
}

function sideLines({ label, runs }: Side): readonly string[] {
  return runs.map(({ name, record }) => {
    const { commit } = record.environment;
    const changes = commit?.dirty === true ? ' with changes' : '';
    const hash = commit === null ? 'unknown' : `${commit.hash.slice(0, 7)}${changes}`;
    return `${label}  ${name}: commit ${hash}, ${record.startedAt.slice(0, 16).replace('T', ' ')}`;
  });
}

function valueText(value: number | null): number | string | null {
  return value === Infinity ? 'no bound' : value;
}

function percentText(percent: number): string {
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  const text = percent.toFixed(digits);
  return `${Number(text) > 0 ? '+' : ''}${Number(text) === 0 ? '0' : text} %`;
}
