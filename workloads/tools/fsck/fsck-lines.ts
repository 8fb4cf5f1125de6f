/** The report of `fsck` as text: the audited tables, the findings, and the verdict. */
import { type Finding, FINDING_CODES } from '#engine';
import { counted } from '#harness';
import type { FsckGroup, FsckSummary, FindingList } from './fsck-report.ts';

export function reportLines(summary: FsckSummary): readonly string[] {
  const { tables, rows, cells } = summary;
  const audited = [counted(tables, 'tables'), counted(rows, 'rows'), counted(cells, 'cells')];
  return [
    `Audited ${audited.join(', ')} in ${summary.store}`,
    ...summary.groups.flatMap(groupLines),
    ...listLines('Locks held for more than a minute', summary.longHeldLocks, lockLine),
    ...listLines('Parked observers', summary.parkedObservers, parkedLine),
    ...damagedLines(summary.damagedRows),
    ...(summary.isSalvaged ? SALVAGED : []),
    '',
    summary.interrupted
      ? 'Interrupted: the rest of the database was not audited.'
      : verdict(summary),
  ];
}

function groupLines({ code, severity, count, examples }: FsckGroup): readonly string[] {
  return [
    '',
    `${severity} ${code}: ${count.toLocaleString('en')}. ${FINDING_CODES[code]}`,
    ...examples.flatMap(findingLines),
    ...more(count, examples),
  ];
}

function findingLines(finding: Finding): readonly string[] {
  const { sentence, repair } = finding;
  const line = `  ${placeOf(finding)}  ${oneLine(sentence)}`;
  if (repair === undefined) return [line];
  return [line, `      ${repair.done ? 'repaired' : 'not repaired'}: ${repair.note}`];
}

function listLines(
  title: string,
  { count, examples }: FindingList,
  lineOf: (finding: Finding) => string,
): readonly string[] {
  if (count === 0) return [];
  const heading = `${title}: ${count.toLocaleString('en')}`;
  return ['', heading, ...examples.map(lineOf), ...more(count, examples)];
}

function damagedLines(damagedRows: FsckSummary['damagedRows']): readonly string[] {
  const tables = Object.entries(damagedRows);
  if (tables.length === 0) return [];
  const lines = tables.map(([table, count]) => `  ${table}  ${count.toLocaleString('en')}`);
  return ['', 'Damaged rows', ...lines, ...HOW_TO_GO_ON];
}

const SALVAGED = [
  '',
  'The store cannot be opened as it is. What could be read of it was audited, so other findings may',
  'only say what the damage has cost. Restore the folder from a backup. Nothing here was changed.',
];

const HOW_TO_GO_ON = [
  'All other rows of these tables can be read: scan up to a damaged row, and on from the key after',
  'it (the key and a zero byte). A damaged row can be neither read nor written. Copy the others into',
  'a new database, and restore the damaged ones there from a backup; or go on without them.',
  '--limit shows more of their keys.',
];

function lockLine(finding: Finding): string {
  const { owner = '', ageMs = 0 } = finding.lock ?? {};
  return `  ${placeOf(finding)}  ${Math.round(ageMs / 1000).toLocaleString('en')} s  owner ${owner}`;
}

function parkedLine(finding: Finding): string {
  const { failures = 0, error = '' } = finding.parked ?? {};
  return `  ${placeOf(finding)}  ${counted(failures, 'failures')}  ${oneLine(error)}`;
}

function more(count: number, examples: readonly Finding[]): readonly string[] {
  const rest = count - examples.length;
  return rest === 0 ? [] : [`  and ${rest.toLocaleString('en')} more`];
}

/** An observer's error message may have many lines. */
function oneLine(words: string): string {
  return words.replaceAll(/\s*\p{Cc}+\s*/gu, ' ');
}

/** The names of rows and columns may hold line ends; the output must stay on one line. */
function placeOf({ cell }: Finding): string {
  const parts = [cell.table, cell.row, cell.column].filter((part) => part !== undefined);
  const place = parts.join('/') || 'store';
  return /[\p{Cc}\p{Cs}]/u.test(place) ? JSON.stringify(place) : place;
}

function verdict({ repair, repaired, errors, warnings, errorsLeft }: FsckSummary): string {
  const found = `${counted(errors, 'errors')}, ${counted(warnings, 'warnings')}`;
  if (errors + warnings === 0) return 'Clean.';
  if (repair) return `${found}; ${repaired} repaired, ${counted(errorsLeft, 'errors')} left.`;
  return errors === 0 ? `${found}. No error: the database is consistent.` : `${found}.`;
}
