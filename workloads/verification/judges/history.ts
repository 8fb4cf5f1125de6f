/**
 * What happened in a run, as far as a judge may know it: what each client saw and was told, and what
 * the storage was ever told to keep.
 *
 *     transactions   from the clients: reads, writes, and the outcome as it was reported to them
 *     records        from the storage: every write record that ever stood in it, collected or not
 *     markers        from the storage: every rollback marker that ever stood in it
 *
 * The two sides are compared by the judges (snapshot-isolation.ts, notifications.ts); list-append.ts
 * looks at the clients' side alone. Everything here survives JSON: real processes write their
 * transactions to files, one a line.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';

/**
 * How cells are named in histories: `table/row:column`, so that two cells never have one name: the table ends at the
 * first slash, the row at the first colon, and in tables and rows `%`, and what would end them, are escaped. Columns
 * stand as they are, those of acknowledgments as the engine names them.
 */
export type HistoricCell = string;

export function historicCell({ table, row, column }: CellAddress): HistoricCell {
  return `${historicTable(table)}/${escaped(row)}:${column}`;
}

/** The part of a cell's name before the slash. */
export function historicTable(table: string): string {
  return escaped(table).replaceAll('/', '%2f');
}

/** The opposite of `historicCell`. */
export function addressOf(cell: HistoricCell): CellAddress {
  const slash = cell.indexOf('/');
  const colon = cell.indexOf(':', slash);
  return {
    table: unescaped(cell.slice(0, slash)),
    row: unescaped(cell.slice(slash + 1, colon)),
    column: cell.slice(colon + 1),
  };
}

function escaped(name: string): string {
  if (!/[%:]/.test(name)) return name;
  return name.replaceAll('%', '%25').replaceAll(':', '%3a');
}

function unescaped(name: string): string {
  if (!name.includes('%')) return name;
  return name.replaceAll('%2f', '/').replaceAll('%3a', ':').replaceAll('%25', '%');
}

export interface HistoricTransaction {
  /** Who ran it: one life of one process. */
  readonly process: string;
  readonly startTimestamp: Timestamp;
  /**
   * What its client was told. committed: the commit returned. failed: it returned an error that says
   * nothing of it is visible, or was never asked for. unknown: COMMIT_UNKNOWN, or the client died meanwhile.
   */
  readonly outcome: 'committed' | 'failed' | 'unknown';
  /** As told; absent unless committed, in transactions that wrote nothing, and if nobody told (`transact`). */
  readonly commitTimestamp?: Timestamp | undefined;
  /** When the start timestamp was asked for, on a clock that all processes share; the unit does not matter. */
  readonly beganAt: number;
  /** When the client heard the outcome, on the same clock; absent if it never did. */
  readonly endedAt?: number | undefined;
  /** First reads from the snapshot, not of own writes. An absent value: the cell had none. */
  readonly reads: readonly HistoricValue[];
  /** Scans of the snapshot. What they found stands in `reads`; what they should have found is for the judge to say. */
  readonly scans?: readonly HistoricScan[] | undefined;
  /**
   * The last write to each cell; an absent value is a delete. The acknowledgment that a strong run of an
   * observer writes need not be listed: `run` says it.
   */
  readonly writes: readonly HistoricValue[];
  /** Cells locked with `lock(cell)` and not written. */
  readonly locks: readonly HistoricCell[];
  /** Cells that it notified weakly. */
  readonly weak?: readonly HistoricCell[] | undefined;
  /** A snapshot of a moment in the past: its timestamp was not handed out to it, and may be another's. */
  readonly past?: boolean | undefined;
  /** Present if this was a run of an observer. */
  readonly run?: ObserverRun | undefined;
}

export interface HistoricValue {
  readonly cell: HistoricCell;
  readonly value?: string | undefined;
}

/** A range that was read to its end, and the cells that it returned. */
export interface HistoricScan {
  readonly table: string;
  /** The first row, and the one that ends the range; absent: of the whole table. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly columns: readonly string[];
  /** Cells with a value, and those that the transaction itself had written before: of these it says nothing. */
  readonly returned: readonly HistoricCell[];
}

export interface ObserverRun {
  readonly observer: string;
  readonly cell: HistoricCell;
  /** Whether a weak notification caused it. */
  readonly weak: boolean;
}

export interface HistoricRecord {
  readonly cell: HistoricCell;
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  readonly operation: 'put' | 'delete' | 'touch';
}

export interface HistoricMarker {
  readonly cell: HistoricCell;
  readonly startTimestamp: Timestamp;
}

export interface History {
  readonly transactions: readonly HistoricTransaction[];
  readonly records: readonly HistoricRecord[];
  readonly markers: readonly HistoricMarker[];
}

/** One thing that must not have happened. */
export interface Violation {
  /** Which judge found it, and which of its claims is broken: `snapshot isolation: stale read`. */
  readonly claim: string;
  /** One sentence with the cells and timestamps that contradict each other. */
  readonly message: string;
}
