/** The lines that every script prints at its end, made from its record alone. */
import { type ResultTable, type RunRecord, type Target, targetVerdict } from '#results';

/** @param summary the table of a record that has points instead of findings */
export function resultLines(record: RunRecord, summary?: ResultTable): readonly string[] {
  const { state, findings, targets } = record;
  return [
    ...(state === 'interrupted' ? ['Interrupted: this is what was found until then.', ''] : []),
    ...(summary === undefined ? [] : tableLines(summary)),
    ...(findings?.tables ?? []).flatMap(tableLines),
    ...(findings === null ? [] : [findings.headline, checkLine(record, findings)]),
    ...failedPoints(record),
    ...(targets.length === 0 ? [] : ['', 'Targets:', ...targets.map(targetLine)]),
  ];
}

function checkLine(
  { state }: RunRecord,
  { kind, check }: NonNullable<RunRecord['findings']>,
): string {
  if (check.passed) return `Checked: ${check.detail}.`;
  const because = state === 'finished' ? ', because the check failed' : '';
  return `${kind === 'proof' ? 'NOT proven' : `No numbers${because}`}: ${check.detail}.`;
}

function targetLine(target: Target): string {
  const reason = target.met === null ? `; ${target.reason ?? 'the load did not ask for it'}` : '';
  const verdict = targetVerdict(target).padEnd('not judged'.length);
  return `  ${verdict}  ${target.name}: ${target.measured} (target: ${target.target}${reason})`;
}

function failedPoints({ points }: RunRecord): readonly string[] {
  return points
    .filter(({ check, verdict }) => !check.passed || verdict === 'invalid')
    .map(
      ({ system, ratePercentPerHour, check, verdictReason }) =>
        `No number for ${system} at ${ratePercentPerHour} %/hour: ${check.passed ? verdictReason : check.detail}`,
    );
}

/** Words to the left, numbers to the right; an empty line at the end. */
export function tableLines({
  title,
  columns,
  rows,
}: Pick<ResultTable, 'title' | 'columns' | 'rows'>): readonly string[] {
  const texts = rows.map((row) => row.map(cellText));
  const widths = columns.map((column, i) =>
    Math.max(column.length, ...texts.map((row) => row[i]?.length ?? 0)),
  );
  const isNumber = columns.map((_, i) => rows.every((row) => typeof row[i] !== 'string'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [`${title}:`, `  ${line(columns)}`, ...texts.map((row) => `  ${line(row)}`), ''];
}

function cellText(value: string | number | null): string {
  if (value === null) return '-';
  if (typeof value === 'string') return value;
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en');
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
