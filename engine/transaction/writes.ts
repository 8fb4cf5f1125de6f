/**
 * A transaction's writes: "Calls to Set() are buffered ... until commit time" (section 2.2).
 *
 * The buffer holds a cell once, with its last value: two writes to one cell would be two prewrites,
 * and the second would find the first one's lock (P16, one row, many cells). At commit the writes
 * are grouped by row, because all writes of one row go into one row mutation.
 */
import { PercolatorError } from '../base/index.ts';
import {
  type CellAddress,
  cellName,
  isSharedLock,
  sharedLockColumn,
  type Touched,
  type WriteOperation,
} from './columns.ts';

export interface Write extends CellAddress {
  readonly operation: WriteOperation;
  /** The new value; absent for a delete, a touch and an acknowledgment. */
  readonly value?: Uint8Array | undefined;
  /** For a touch: the version that stays current. */
  readonly touched?: Touched | undefined;
  /** Whether shared locks may be in the cell. Known once the table is bound; default: no. */
  readonly takesShared?: boolean | undefined;
}

/** All writes to one row, in the order in which they were first mentioned. */
export interface RowWrites {
  readonly table: string;
  readonly row: string;
  readonly writes: readonly Write[];
}

/**
 * The most cells of one row that a transaction writes or locks, the same for all storages: a row is
 * rolled back by one mutation, of three for each cell, and Bigtable takes 100,000.
 */
const CELLS_PER_ROW_MAX = 20_000;

/** @throws INVALID_ARGUMENT */
export function checkCellsOfRow(
  { table, row }: { readonly table: string; readonly row: string },
  cells: number,
): void {
  if (cells <= CELLS_PER_ROW_MAX) return;
  throw new PercolatorError(
    'INVALID_ARGUMENT',
    `more than ${CELLS_PER_ROW_MAX} cells of row ${table}/${row} in one transaction: ` +
      'divide them among rows, or among transactions',
  );
}

export class WriteBuffer {
  readonly #writes = new Map<string, Write>();
  /** How many cells of each row; made once so many are written that a row may have too many. */
  #cells: RowMap<{ count: number }> | undefined;
  #sharedLocks = 0;

  /** How many cells are written, or locked against others' locks. */
  get size(): number {
    return this.#writes.size - this.#sharedLocks;
  }

  find(cell: CellAddress): Write | undefined {
    return this.#writes.get(cellName(cell));
  }

  /**
   * A later write to a cell replaces the earlier one and takes its place in the order; it also
   * replaces a shared lock, because it conflicts with all that the lock conflicts with.
   * @throws INVALID_ARGUMENT if the row would have too many cells
   */
  put(write: Write): void {
    if (this.#sharedLocks > 0) this.#dropSharedLock(write);
    this.#put(write);
  }

  /** Unless the cell is written or locked already. @throws INVALID_ARGUMENT as `put` does */
  putSharedLock(cell: CellAddress): void {
    const lock = sharedLockOf(cell);
    if (this.find(cell) !== undefined || this.find(lock) !== undefined) return;
    this.#put({ ...lock, operation: 'put' });
    this.#sharedLocks++;
  }

  /** Before the write is counted: the row has room for it where the lock was. */
  #dropSharedLock(write: Write): void {
    if (!this.#writes.delete(cellName(sharedLockOf(write)))) return;
    this.#sharedLocks--;
    if (this.#cells !== undefined) this.#cellsOf(write).count--;
  }

  #put(write: Write): void {
    const name = cellName(write);
    const isCounted = this.#cells !== undefined || this.#writes.size >= CELLS_PER_ROW_MAX;
    if (isCounted && !this.#writes.has(name)) this.#count(write);
    this.#writes.set(name, write);
  }

  #count(write: Write): void {
    if (this.#cells === undefined) {
      this.#cells = new RowMap();
      for (const before of this.#writes.values()) this.#cellsOf(before).count++;
    }
    const cells = this.#cellsOf(write);
    checkCellsOfRow(write, cells.count + 1);
    cells.count++;
  }

  #cellsOf(write: Write): { count: number } {
    return (this.#cells as RowMap<{ count: number }>).getOrMake(write, () => ({ count: 0 }));
  }

  /** The writes to one table, for scans that must see them. */
  ofTable(table: string): readonly Write[] {
    return [...this.#writes.values()].filter((write) => write.table === table);
  }

  /**
   * Grouped by row; the first write's row, which holds the primary, comes first. No shared lock is
   * a primary: a primary's column holds one lock.
   */
  byRow(): readonly RowWrites[] {
    const rows: { table: string; row: string; writes: Write[] }[] = [];
    const byAddress = new RowMap<Write[]>();
    for (const write of this.#inOrder()) {
      const { table, row } = write;
      const writes = byAddress.getOrMake(write, () => []);
      if (writes.length === 0) rows.push({ table, row, writes });
      writes.push(write);
    }
    return rows;
  }

  #inOrder(): Iterable<Write> {
    if (this.#sharedLocks === 0) return this.#writes.values();
    const isShared = ({ column }: Write): boolean => isSharedLock(column);
    const all = [...this.#writes.values()];
    return [...all.filter((write) => !isShared(write)), ...all.filter(isShared)];
  }
}

function sharedLockOf({ table, row, column }: CellAddress): CellAddress {
  return { table, row, column: sharedLockColumn(column) };
}

/**
 * Values by row: first by table, then by row key. Making one string of both for each lookup, and
 * hashing it, would cost more than two lookups.
 */
interface RowAddress {
  readonly table: string;
  readonly row: string;
}

export class RowMap<V> {
  readonly #tables = new Map<string, Map<string, V>>();

  get({ table, row }: RowAddress): V | undefined {
    return this.#tables.get(table)?.get(row);
  }

  /** The row's value; made by `make` if there is none yet. */
  getOrMake({ table, row }: RowAddress, make: () => V): V {
    let rows = this.#tables.get(table);
    if (rows === undefined) this.#tables.set(table, (rows = new Map()));
    let value = rows.get(row);
    if (value === undefined) rows.set(row, (value = make()));
    return value;
  }

  /** All values: table by table, within a table in order of creation. */
  *values(): Generator<V> {
    for (const rows of this.#tables.values()) yield* rows.values();
  }

  clear(): void {
    this.#tables.clear();
  }
}
