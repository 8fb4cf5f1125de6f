/** The lines that every experiment prints at its end, made from its record alone. */
import { printable, type ResultTable, type RunRecord, type Target, targetVerdict } from '#results';

/** Begins each line of a table below its title. */
const INDENT = '  ';

export function resultLines(record: RunRecord): readonly string[] {
  const { state, findings, targets } = record;
  return [
    ...(state === 'interrupted' ? ['Interrupted: this is what was found until then.', ''] : []),
    ...findings.tables.flatMap(tableLines),
    ...(record.doubts ?? []).map((doubt) => `DOUBTFUL: ${doubt}`),
    findings.headline,
    checkLine(record),
    ...(targets.length === 0 ? [] : ['', 'Targets:', ...targets.map(targetLine)]),
  ];
}

function checkLine({ state, findings: { kind, check } }: RunRecord): string {
  const detail = check.detail.replace(/\.$/, '');
  if (check.passed) return `Checked: ${detail}.`;
  const because = state === 'finished' ? ', because the check failed' : '';
  return `${kind === 'proof' ? 'NOT proven' : `No numbers${because}`}: ${detail}.`;
}

function targetLine(target: Target): string {
  const reason = target.met === null ? `; ${target.reason ?? 'the load did not ask for it'}` : '';
  const verdict = targetVerdict(target).padEnd('not judged'.length);
  return `  ${verdict}  ${target.name}: ${target.measured} (target: ${target.target}${reason})`;
}

/** The lines of a table. Its rows become columns if it is too wide, and narrower that way. */
export function tableLines({
  title,
  columns,
  rows,
}: Pick<ResultTable, 'title' | 'columns' | 'rows'>): readonly string[] {
  const table = [columns, ...rows.map((row) => row.map(cellText))];
  const lines = aligned(table);
  const turned = aligned(columns.map((_, i) => table.map((row) => row[i] ?? '')));
  const isTooWide = INDENT.length + widthOf(lines) > widthMax();
  const isTurned = isTooWide && widthOf(turned) < widthOf(lines);
  return [`${title}:`, ...(isTurned ? turned : lines).map((line) => INDENT + line), ''];
}

/** Words to the left, numbers to the right. */
function aligned(table: readonly (readonly string[])[]): readonly string[] {
  const [head = [], ...body] = table;
  const pads = head.map((_, i) => {
    const width = Math.max(...table.map((row) => row[i]?.length ?? 0));
    const isNumber = body.every((row) => /^-?[\d.,e+-]*(?: (?:ms|s|x))?$/.test(row[i] ?? ''));
    return (cell: string) => (isNumber ? cell.padStart(width) : cell.padEnd(width));
  });
  return table.map((row) =>
    row
      .map((cell, i) => pads[i]?.(cell) ?? cell)
      .join('  ')
      .trimEnd(),
  );
}

function widthOf(lines: readonly string[]): number {
  return Math.max(...lines.map((line) => line.length));
}

/** The width of the terminal; for a file, a width that its reader's window probably has. */
function widthMax(): number {
  return process.stdout.columns ?? 120;
}

function cellText(value: string | number | null): string {
  if (value === null) return '-';
  if (typeof value === 'string') return printable(value);
  // Also 999.5 and above, of which toPrecision(3) would make 1.00e+3.
  if (Math.abs(value) >= 999.5) return Math.round(value).toLocaleString('en');
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
