/**
 * The versions of each cell: its write records in the order of their commit timestamps, and the
 * transactions that claim to have written them.
 */
import { compareTexts } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import {
  acknowledgmentColumn,
  isSharedLock,
  sharedLockColumn,
} from '../../../engine/transaction/index.ts';
import {
  addressOf,
  type HistoricCell,
  type HistoricRecord,
  type HistoricScan,
  type HistoricTransaction,
} from './history.ts';

export interface CellVersion {
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
  readonly all: readonly CellVersion[];
  /** Versions that changed the value, without touches. */
  readonly changes: readonly CellVersion[];
  #positions: ReadonlyMap<string | undefined, number> | undefined;

  constructor(records: readonly HistoricRecord[]) {
    const sorted = isSorted(records) ? records : records.toSorted(byCommitTimestamp);
    // If two processes roll a cell forward, its record is written, and may be counted, twice.
    const distinct = sorted.filter((record, i) => !isSame(record, sorted[i - 1]));
    this.all = distinct.map((record) => ({ record, isClaimed: false, value: undefined }));
    // Most cells have no touch, and there may be millions of cells: one array serves both.
    const hasTouch = distinct.some(({ operation }) => operation === 'touch');
    const isChange = ({ record }: CellVersion): boolean => record.operation !== 'touch';
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
  find(startTimestamp: Timestamp, commitTimestamp: Timestamp): CellVersion | undefined {
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

export function interval({ record }: CellVersion): string {
  return `[${record.startTimestamp}, ${record.commitTimestamp}]`;
}

/** The index of the newest version committed at or before `timestamp`; -1 if there is none. */
export function newestAt(versions: readonly CellVersion[], timestamp: Timestamp): number {
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
  return withColumn(cell, (column) => acknowledgmentColumn(observer, column));
}

/** The cell in which the engine keeps what has shared a lock of `cell`. */
export function sharedLockCell(cell: HistoricCell): HistoricCell {
  return withColumn(cell, sharedLockColumn);
}

export function isSharedLockCell(cell: HistoricCell): boolean {
  return isSharedLock(cell.slice(cell.indexOf(':') + 1));
}

/** The table and the row are written without colons. */
export function withColumn(cell: HistoricCell, other: (column: string) => string): HistoricCell {
  const colon = cell.indexOf(':');
  return `${cell.slice(0, colon)}:${other(cell.slice(colon + 1))}`;
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

/*
 * The cells that scans missed: every cell with records that lies in the range of a scan, in one of
 * its columns, and was not returned, was read as absent.
 */

interface CellInScan {
  readonly cell: HistoricCell;
  readonly row: string;
  readonly column: string;
  readonly versions: CellVersions;
}

/** The cells that scans have read as absent. */
export class Scans {
  readonly #cells: ReadonlyMap<HistoricCell, CellVersions>;
  /**
   * By table; undefined before the first scan: a history without scans may have millions of cells.
   */
  #places: ReadonlyMap<string, readonly CellInScan[]> | undefined;

  constructor(cells: ReadonlyMap<HistoricCell, CellVersions>) {
    this.#cells = cells;
  }

  *missedBy({ scans = [] }: HistoricTransaction): Generator<CellInScan> {
    for (const scan of scans) {
      const returned = new Set(scan.returned);
      const isInside = insideOf(scan);
      this.#places ??= placesByTable(this.#cells);
      for (const place of this.#places.get(scan.table) ?? []) {
        if (!returned.has(place.cell) && isInside(place)) yield place;
      }
    }
  }
}

function placesByTable(
  cells: ReadonlyMap<HistoricCell, CellVersions>,
): ReadonlyMap<string, readonly CellInScan[]> {
  const places = new Map<string, CellInScan[]>();
  for (const [cell, versions] of cells) {
    const { table, row, column } = addressOf(cell);
    const place = { cell, row, column, versions };
    const ofTable = places.get(table);
    if (ofTable === undefined) places.set(table, [place]);
    else ofTable.push(place);
  }
  return places;
}

/**
 * Whether a cell of the scan's table is in the scan's range and columns. Rows are in the order of
 * their UTF-8 bytes.
 */
export function insideOf({
  start = '',
  end,
  columns,
}: Omit<HistoricScan, 'table' | 'returned'>): (
  place: Pick<CellInScan, 'row' | 'column'>,
) => boolean {
  return ({ row, column }) =>
    (columns?.includes(column) ?? !column.startsWith('ack_')) &&
    compareTexts(row, start) >= 0 &&
    (end === undefined || compareTexts(row, end) < 0);
}
