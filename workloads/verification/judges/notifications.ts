/**
 * The judge of notifications (section 2.4), for a history that ended at rest: workers ran until
 * they were idle. It claims, for each observer and each cell of the column it observes:
 *
 *   1. Every committed change was acknowledged by a committed run whose snapshot has seen that
 *      change or a later one. A touch changes nothing.
 *   2. Each committed run saw a change that no run committed before it had seen: for each change at
 *      most one run commits.
 *   3. Every committed weak notification was followed by a committed run whose snapshot has seen
 *      the notifying transaction. There may be any number of such runs, and they do not have to
 *      acknowledge.
 *   4. No notify cell is left.
 *
 * A strong run is committed if the storage has its acknowledgment, whatever its client was told.
 * snapshot-isolation.ts checks that runs saw committed data only: a run is a transaction like any
 * other.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import {
  JudgeFindings,
  type HistoricCell,
  historicTable,
  type HistoricTransaction,
  type History,
  type Violation,
} from './history.ts';
import { acknowledgmentCell, newestAt, type CellVersion, versionsByCell } from './versions.ts';

export interface NotificationRules {
  /** The observers and their columns. */
  readonly observers: readonly ObservedColumn[];
  /**
   * Notifications that were found after all observers had come to rest, in the form for messages.
   */
  readonly left: readonly string[];
}

/** The relevant part of an `Observer`. */
export interface ObservedColumn {
  readonly name: string;
  readonly table: string;
  readonly column: string;
}

export function judgeNotifications(
  history: History,
  { observers, left }: NotificationRules,
): readonly Violation[] {
  const findings = new JudgeFindings('notifications');
  const columns = new Columns(observers);
  const cells = versionsByCell(history.records);
  for (const [cell, { changes }] of cells) {
    for (const observer of columns.observersOf(cell)) {
      const runs = cells.get(acknowledgmentCell(observer, cell))?.all ?? [];
      judgeRuns({ observer, cell }, { changes, runs }, findings);
    }
  }
  for (const [cell, { all: runs }] of cells) {
    const watch = columns.acknowledgedBy(cell);
    if (watch === undefined || cells.has(watch.cell)) continue;
    judgeRuns(watch, { changes: [], runs }, findings);
  }
  if (history.transactions.some(({ weak = [] }) => weak.length > 0)) {
    judgeWeak(history, columns, findings);
  }
  for (const one of left) findings.add('left-over notification', `${one} is left after all runs`);
  return findings.violations;
}

interface WatchedCell {
  readonly observer: string;
  readonly cell: HistoricCell;
}

/** Observed columns, and the columns of their acknowledgments, by `table:column`. */
class Columns {
  readonly #observers = new Map<string, string[]>();
  readonly #acknowledgments = new Map<string, ObservedColumn>();

  constructor(observers: readonly ObservedColumn[]) {
    for (const observed of observers) {
      const { name, column } = observed;
      const place = `${historicTable(observed.table)}:${column}`;
      const names = this.#observers.get(place);
      if (names === undefined) this.#observers.set(place, [name]);
      else names.push(name);
      this.#acknowledgments.set(acknowledgmentCell(name, place), observed);
    }
  }

  observersOf(cell: HistoricCell): readonly string[] {
    return this.#observers.get(withoutRow(cell)) ?? [];
  }

  /** The observer and the cell that `cell` acknowledges; undefined if it is no acknowledgment. */
  acknowledgedBy(cell: HistoricCell): WatchedCell | undefined {
    const observed = this.#acknowledgments.get(withoutRow(cell));
    if (observed === undefined) return undefined;
    const row = cell.slice(0, cell.indexOf(':'));
    return { observer: observed.name, cell: `${row}:${observed.column}` };
  }
}

function withoutRow(cell: HistoricCell): string {
  return cell.slice(0, cell.indexOf('/')) + cell.slice(cell.indexOf(':'));
}

/**
 * @param changes of the cell, in the order of their commit timestamps
 * @param runs the records of the observer's acknowledgments of the cell, in the same order
 */
function judgeRuns(
  { observer, cell }: WatchedCell,
  {
    changes,
    runs,
  }: { readonly changes: readonly CellVersion[]; readonly runs: readonly CellVersion[] },
  findings: JudgeFindings,
): void {
  let seen: Timestamp = 0; // The newest snapshot of the runs so far.
  for (const { record } of runs) {
    const { startTimestamp, commitTimestamp } = record;
    const newest = changes[newestAt(changes, startTimestamp)]?.record.commitTimestamp ?? 0;
    if (newest <= seen) {
      const run = `${observer} ran for ${cell} in [${startTimestamp}, ${commitTimestamp}]`;
      const why =
        newest === 0 ? 'before any change' : `after the change at ${newest} had been seen`;
      findings.add('repeated run', `${run}, ${why}`);
    }
    seen = Math.max(seen, startTimestamp);
  }
  const last = changes.at(-1)?.record.commitTimestamp ?? 0;
  if (last <= seen) return;
  const snapshot = seen === 0 ? 'it never ran' : `the last snapshot of its runs is ${seen}`;
  findings.add('lost notification', `${observer} has not seen ${cell} at ${last}: ${snapshot}`);
}

function judgeWeak(history: History, columns: Columns, findings: JudgeFindings): void {
  const committedAt = new Map<Timestamp, Timestamp>();
  for (const { startTimestamp, commitTimestamp } of history.records) {
    committedAt.set(startTimestamp, commitTimestamp);
  }
  const notified = new Map<HistoricCell, Timestamp>();
  const seen = new Map<string, Timestamp>();
  for (const transaction of history.transactions) {
    const commitTimestamp = committedAt.get(transaction.startTimestamp);
    const { weak = [], run, startTimestamp } = transaction;
    if (commitTimestamp !== undefined) {
      for (const cell of weak) raise(notified, cell, commitTimestamp);
    }
    if (run !== undefined && (commitTimestamp !== undefined || committedNothing(transaction))) {
      raise(seen, nameOf(run), startTimestamp);
    }
  }
  for (const [cell, commitTimestamp] of notified) {
    for (const observer of columns.observersOf(cell)) {
      if ((seen.get(nameOf({ observer, cell })) ?? 0) >= commitTimestamp) continue;
      const what = `the weak notification of ${cell} at ${commitTimestamp}`;
      findings.add('lost weak notification', `${observer} has not run since ${what}`);
    }
  }
}

function raise<Key>(latest: Map<Key, Timestamp>, key: Key, timestamp: Timestamp): void {
  latest.set(key, Math.max(latest.get(key) ?? 0, timestamp));
}

/** A run that wrote nothing leaves no record. */
function committedNothing({ outcome, writes, locks }: HistoricTransaction): boolean {
  return outcome === 'committed' && writes.length + locks.length === 0;
}

function nameOf({ observer, cell }: WatchedCell): string {
  return `${observer} ${cell}`;
}
