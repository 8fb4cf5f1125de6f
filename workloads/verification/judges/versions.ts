/**
 * The versions of each cell: its write records in the order of their commit timestamps, and the
 * transactions that claim to have written them.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { acknowledgmentColumn } from '../../../engine/transaction/index.ts';
import type { HistoricCell, HistoricRecord, HistoricTransaction } from './history.ts';

export interface Version {
  readonly record: HistoricRecord;
  /** Whether the transaction of the record says that it wrote or locked the cell. */
  isClaimed: boolean;
  /**
   * The value that the transaction says it wrote; undefined for a delete, a touch and an
   * acknowledgment.
   */
  value: string | undefined;
}

export class CellVersions {
  /** In the order of their commit timestamps. */
  readonly all: readonly Version[];
  /** Versions that changed the value, without touches. */
  readonly changes: readonly Version[];
  #positions: ReadonlyMap<string | undefined, number> | undefined;

  constructor(records: readonly HistoricRecord[]) {
    const sorted = isSorted(records) ? records : records.toSorted(byCommitTimestamp);
    // If two processes roll a cell forward, its record is written, and may be counted, twice.
    const distinct = sorted.filter((record, i) => !isSame(record, sorted[i - 1]));
    this.all = distinct.map((record) => ({ record, isClaimed: false, value: undefined }));
    // Most cells have no touch, and there may be millions of cells: one array serves both.
    const hasTouch = distinct.some(({ operation }) => operation === 'touch');
    const isChange = ({ record }: Version): boolean => record.operation !== 'touch';
    this.changes = hasTouch ? this.all.filter(isChange) : this.all;
  }

  /**
   * The index in `changes` of the first version with this value. All claims must be made before the
   * first call, because the values are read only once.
   */
  positionOf(value: string): number | undefined {
    this.#positions ??= new Map(
      this.changes.map((version, i) => [version.value, i] as const).toReversed(),
    );
    return this.#positions.get(value);
  }

  /** The version that the transaction of `startTimestamp` committed at `commitTimestamp`. */
  find(startTimestamp: Timestamp, commitTimestamp: Timestamp): Version | undefined {
    for (let i = newestAt(this.all, commitTimestamp); i >= 0; i--) {
      const version = this.all[i];
      if (version?.record.commitTimestamp !== commitTimestamp) return undefined;
      if (version.record.startTimestamp === startTimestamp) return version;
    }
    return undefined;
  }
}

export function versionsByCell(
  records: readonly HistoricRecord[],
): ReadonlyMap<HistoricCell, CellVersions> {
  // One map for both: there may be millions of cells.
  const cells = new Map<HistoricCell, HistoricRecord[] | CellVersions>();
  for (const record of records) {
    const ofCell = cells.get(record.cell) as HistoricRecord[] | undefined;
    if (ofCell === undefined) cells.set(record.cell, [record]);
    else ofCell.push(record);
  }
  for (const [cell, ofCell] of cells) {
    cells.set(cell, new CellVersions(ofCell as HistoricRecord[]));
  }
  return cells as Map<HistoricCell, CellVersions>;
}

/** The index of the newest version committed at or before `timestamp`; -1 if there is none. */
export function newestAt(versions: readonly Version[], timestamp: Timestamp): number {
  let low = 0;
  let high = versions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const version = versions[middle];
    if (version !== undefined && version.record.commitTimestamp <= timestamp) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The acknowledgment that a committed strong run has written; undefined for every other
 * transaction.
 */
export function acknowledgmentOf({
  run,
}: Pick<HistoricTransaction, 'run'>): HistoricCell | undefined {
  return run === undefined || run.weak ? undefined : acknowledgmentCell(run.observer, run.cell);
}

/** The cell in which the engine keeps what `observer` has seen of `cell`. */
export function acknowledgmentCell(observer: string, cell: HistoricCell): HistoricCell {
  const colon = cell.indexOf(':');
  return `${cell.slice(0, colon)}:${acknowledgmentColumn(observer, cell.slice(colon + 1))}`;
}

function byCommitTimestamp(a: HistoricRecord, b: HistoricRecord): number {
  return a.commitTimestamp - b.commitTimestamp || a.startTimestamp - b.startTimestamp;
}

/** Most lists are: the simulator, which watches its storage, sees the records in that order. */
function isSorted(records: readonly HistoricRecord[]): boolean {
  let before: HistoricRecord | undefined;
  for (const record of records) {
    if (before !== undefined && byCommitTimestamp(before, record) > 0) return false;
    before = record;
  }
  return true;
}

function isSame(a: HistoricRecord, b: HistoricRecord | undefined): boolean {
  return (
    a.startTimestamp === b?.startTimestamp &&
    a.commitTimestamp === b.commitTimestamp &&
    a.operation === b.operation
  );
}
