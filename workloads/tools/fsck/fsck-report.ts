/**
 * The findings of `fsck` as counts and examples, in memory that does not grow with the database.
 * `--json` prints the summary.
 */
import type { Finding, FindingCode } from '#engine';

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

export interface FsckGroup extends FindingList {
  readonly code: FindingCode;
  readonly severity: Finding['severity'];
}

/** The first findings of a kind, and their total number. */
export interface FindingList {
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
