/** The summary a run prints at its end: the tables as text, the targets, and the limitations. */
import type { ResultTable, RunRecord } from '#results';

export function summaryLines(record: RunRecord, missing: readonly string[]): string[] {
  const { findings } = record;
  if (findings?.check.passed !== true) {
    return ['No numbers: the check failed.', findings?.check.detail ?? '', ...missing];
  }
  return [
    ...findings.tables.flatMap((table) => [...tableLines(table), '']),
    `Checked: ${findings.check.detail}`,
    '',
    'Targets:',
    ...record.targets.map(
      ({ name, target, measured, met }) =>
        `  ${met ? 'met    ' : 'NOT met'}  ${name}: ${measured} (target: ${target})`,
    ),
    ...missing,
    '',
    findings.headline,
  ];
}

/** Words to the left, numbers to the right. */
function tableLines({ title, columns, rows }: ResultTable): readonly string[] {
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
  return [`${title}:`, `  ${line(columns)}`, ...texts.map((row) => `  ${line(row)}`)];
}

function cellText(value: string | number | null): string {
  if (value === null) return '-';
  if (typeof value === 'string') return value;
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en');
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
