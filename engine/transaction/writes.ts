/**
 * A transaction's writes: "Calls to Set() are buffered ... until commit time" (section 2.2).
 *
 * The buffer holds a cell once, with its last value: two writes to one cell would be two prewrites,
 * and the second would find the first one's lock (P16). At commit the writes are grouped by row,
 * because all writes of one row go into one row mutation.
 */
import type { CellAddress } from './columns.ts';
import { cellName } from './columns.ts';
import type { Operation, Touched } from './locks/lock.ts';
import { RowMap } from './row-map.ts';

export interface Write extends CellAddress {
  readonly operation: Operation;
  /** The new value; absent for a delete, a touch and an acknowledgment. */
  readonly value?: Uint8Array | undefined;
  /** For a touch: the version that stays current. */
  readonly touched?: Touched | undefined;
}

/** All writes to one row, in the order in which they were first mentioned. */
export interface RowWrites {
  readonly table: string;
  readonly row: string;
  readonly writes: readonly Write[];
}

export class WriteBuffer {
  readonly #writes = new Map<string, Write>();

  get size(): number {
    return this.#writes.size;
  }

  find(cell: CellAddress): Write | undefined {
    return this.#writes.get(cellName(cell));
  }

  /** A later write to a cell replaces the earlier one and takes its place in the order. */
  put(write: Write): void {
    this.#writes.set(cellName(write), write);
  }

  /** The writes to one table, for scans that must see them. */
  ofTable(table: string): readonly Write[] {
    return [...this.#writes.values()].filter((write) => write.table === table);
  }

  /** Grouped by row; the first write's row, which holds the primary, comes first. */
  byRow(): readonly RowWrites[] {
    const rows: { table: string; row: string; writes: Write[] }[] = [];
    const byAddress = new RowMap<Write[]>();
    for (const write of this.#writes.values()) {
      const { table, row } = write;
      const writes = byAddress.getOrMake(write, () => []);
      if (writes.length === 0) rows.push({ table, row, writes });
      writes.push(write);
    }
    return rows;
  }
}
