/**
 * The cells that scans missed: every cell with records that lies in the range of a scan, in one of
 * its columns, and was not returned, was read as absent.
 */
import {
  addressOf,
  type HistoricCell,
  type HistoricScan,
  type HistoricTransaction,
} from './history.ts';
import type { CellVersions } from './versions.ts';

interface CellInScan {
  readonly cell: HistoricCell;
  readonly row: Buffer;
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
    const place = { cell, row: Buffer.from(row), column, versions };
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
  start,
  end,
  columns,
}: Omit<HistoricScan, 'table' | 'returned'>): (
  place: Pick<CellInScan, 'row' | 'column'>,
) => boolean {
  const first = Buffer.from(start ?? '');
  const beyond = end === undefined ? undefined : Buffer.from(end);
  return ({ row, column }) =>
    columns.includes(column) &&
    Buffer.compare(row, first) >= 0 &&
    (beyond === undefined || Buffer.compare(row, beyond) < 0);
}
