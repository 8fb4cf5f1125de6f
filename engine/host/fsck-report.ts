/**
 * The findings of `fsck` as counts and examples, in memory that does not grow with the database;
 * for `percolator fsck`, and for the suite's own `fsck`. `--json` prints the summary; without it,
 * the report is text.
 */
import { type Finding, FINDING_CODES, type FindingCode } from '../audit/index.ts';

export interface FsckSummary {
  readonly store: string;
  readonly repair: boolean;
  /** Whether a part of the database was not audited, because of an interrupt. */
  readonly interrupted: boolean;
  readonly tables: number;
  readonly rows: number;
  readonly cells: number;
  readonly errors: number;
  readonly warnings: number;
  /** Findings that were repaired, errors and warnings. */
  readonly repaired: number;
  /** Errors that were not repaired. */
  readonly errorsLeft: number;
  /** Errors first, then by count. */
  readonly groups: readonly FsckGroup[];
  readonly longHeldLocks: FindingList;
  readonly parkedObservers: FindingList;
  /** Whether the store cannot be opened, so that only what could be read of it was audited. */
  readonly isSalvaged: boolean;
  /** How many rows of each table cannot be read any more. */
  readonly damagedRows: Readonly<Record<string, number>>;
}

interface FsckGroup extends FindingList {
  readonly code: FindingCode;
  readonly severity: Finding['severity'];
}

/** The first findings of a kind, and their total number. */
interface FindingList {
  readonly count: number;
  readonly examples: readonly Finding[];
}

/**
 * From this age on a lock is also listed as long-held, whatever its primary says. Only a misplaced
 * lock (`lock-overtaken`, `lock-after-end`), whose primary is not asked, is never listed.
 */
const LONG_HELD_MS = 60_000;

export class FsckReport {
  readonly #limit: number;
  readonly #groups = new Map<string, GrowingList<FsckGroup>>();
  readonly #longHeld: GrowingList<FindingList> = { count: 0, examples: [] };
  readonly #parked: GrowingList<FindingList> = { count: 0, examples: [] };
  readonly #damaged = new Map<string, number>();
  #isSalvaged = false;
  #repaired = 0;
  #errorsLeft = 0;

  /** @param limit number of examples kept of each kind */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(finding: Finding): void {
    const { code, severity } = finding;
    const name = `${severity} ${code}`; // A few codes may be errors or warnings.
    const group = this.#groups.get(name) ?? { code, severity, count: 0, examples: [] };
    this.#groups.set(name, group);
    this.#list(group, finding);
    if ((finding.lock?.ageMs ?? 0) >= LONG_HELD_MS) this.#list(this.#longHeld, finding);
    const { table, row } = finding.cell;
    if (code === 'row-damaged' && row !== undefined) {
      this.#damaged.set(table, (this.#damaged.get(table) ?? 0) + 1);
    }
    if (code === 'store-damaged' && severity === 'error') this.#isSalvaged = true;
    if (finding.parked !== undefined) this.#list(this.#parked, finding);
    if (finding.repair?.done === true) this.#repaired++;
    else if (severity === 'error') this.#errorsLeft++;
  }

  summary(
    about: Pick<FsckSummary, 'store' | 'repair' | 'interrupted' | 'tables' | 'rows' | 'cells'>,
  ): FsckSummary {
    const groups = [...this.#groups.values()].toSorted(
      (a, b) => a.severity.localeCompare(b.severity) || b.count - a.count,
    );
    return {
      ...about,
      errors: countOf(groups, 'error'),
      warnings: countOf(groups, 'warning'),
      repaired: this.#repaired,
      errorsLeft: this.#errorsLeft,
      groups,
      longHeldLocks: this.#longHeld,
      parkedObservers: this.#parked,
      isSalvaged: this.#isSalvaged,
      damagedRows: Object.fromEntries(this.#damaged),
    };
  }

  #list(listed: GrowingList<FindingList>, finding: Finding): void {
    listed.count++;
    if (listed.examples.length < this.#limit) listed.examples.push(finding);
  }
}

type GrowingList<T extends FindingList> = Omit<T, 'count' | 'examples'> & {
  count: number;
  readonly examples: Finding[];
};

function countOf(groups: readonly FsckGroup[], severity: Finding['severity']): number {
  const ofSeverity = groups.filter((group) => group.severity === severity);
  return ofSeverity.reduce((sum, { count }) => sum + count, 0);
}

/* The report of `fsck` as text: the audited tables, the findings, and the verdict. */

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

/** "1 error", "2,000 errors": the unit is a plural that ends with an s. */
function counted(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? unit.slice(0, -1) : unit}`;
}
