/**
 * What happened in a run, as far as a judge may know it: what each client saw and was told, and
 * every record that the storage ever held.
 *
 *     transactions   from the clients: reads, writes, and the outcome as it was reported to them
 *     records        from the storage: every write record that it ever held, collected or not
 *     rollbacks      from the storage: every rollback record that it ever held
 *
 * The judges compare the two sides (snapshot-isolation.ts, notifications.ts); list-append.ts uses
 * the clients' side alone. Everything here survives JSON: real processes write their transactions
 * to files, one per line.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';

/**
 * The name of a cell in histories: `table/row:column`. No two cells share a name. The table ends at
 * the first slash of the name, and the row at its first colon; so `%`, `/` and `:` are escaped in
 * tables, and `%` and `:` in rows. Columns stay as they are, those of acknowledgments as the engine
 * names them.
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
  /** The process that ran it: one life of one process. */
  readonly process: string;
  readonly startTimestamp: Timestamp;
  /**
   * What its client was told. committed: the commit returned. failed: the commit was never asked
   * for, or threw an error after which nothing of the transaction is visible. unknown:
   * COMMIT_UNKNOWN, or the client died before it had an answer.
   */
  readonly outcome: 'committed' | 'failed' | 'unknown';
  /**
   * As reported to the client. Absent if the transaction did not commit or wrote nothing, or if it
   * was run by `transact`, which does not report commit timestamps.
   */
  readonly commitTimestamp?: Timestamp | undefined;
  /**
   * When the start timestamp was asked for, on a clock that all processes share; the unit does not
   * matter.
   */
  readonly beganAt: number;
  /** When the client heard the outcome, on the same clock; absent if it never did. */
  readonly endedAt?: number | undefined;
  /**
   * The first read of each cell from the snapshot, without reads of the transaction's own writes.
   * An absent value says that the cell had none.
   */
  readonly reads: readonly HistoricValue[];
  /**
   * Scans of the snapshot. The values they found are in `reads`; the judge works out what they
   * should have found.
   */
  readonly scans?: readonly HistoricScan[] | undefined;
  /**
   * The last write to each cell; an absent value is a delete. The acknowledgment that a strong run
   * of an observer writes does not have to be listed, because `run` implies it.
   */
  readonly writes: readonly HistoricValue[];
  /** Cells locked with `lock(cell)` and not written. */
  readonly locks: readonly HistoricCell[];
  /**
   * Cells whose lock it shared, and that it did not write or lock; absent: none. Of a transaction
   * that writes and locks nothing else, nothing is there.
   */
  readonly shared?: readonly HistoricCell[] | undefined;
  /** Cells that it notified weakly. */
  readonly weak?: readonly HistoricCell[] | undefined;
  /**
   * A snapshot of a moment in the past: its timestamp was not handed out to it, and may belong to
   * another transaction.
   */
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
  /** The first row, and the row before which the range ends; absent: the whole table. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  /** Absent: all columns but acknowledgments. */
  readonly columns?: readonly string[] | undefined;
  /**
   * Cells with a value, and cells that the transaction itself had written before, about which the
   * scan says nothing.
   */
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

export interface HistoricRollback {
  readonly cell: HistoricCell;
  readonly startTimestamp: Timestamp;
}

export interface History {
  readonly transactions: readonly HistoricTransaction[];
  readonly records: readonly HistoricRecord[];
  readonly rollbacks: readonly HistoricRollback[];
}

/** A violation of a rule. */
export interface Violation {
  /** The judge that found it and the broken claim: `snapshot isolation: stale read`. */
  readonly claim: string;
  /** One sentence with the cells and timestamps that contradict each other. */
  readonly message: string;
}

/*
 * The findings of a judge. A broken engine may break a claim thousands of times in one history.
 * Only the first findings are kept, of all claims together; how often each claim is broken is
 * counted.
 */

const FINDINGS_MAX = 20;

/** A violation with its proof, for a caller that explains it in its own words. */
export interface JudgeFinding<Proof> extends Violation {
  readonly proof?: Proof | undefined;
}

export class JudgeFindings<Proof = unknown> {
  /** In the order found. Invariant: at most as many as the constructor was told to keep. */
  readonly kept: JudgeFinding<Proof>[] = [];
  /** How many were found of each claim, kept or not. */
  readonly counts: Map<string, number> = new Map<string, number>();
  readonly #judge: string;
  readonly #keepMax: number;

  constructor(judge: string, keepMax: number = FINDINGS_MAX) {
    this.#judge = judge;
    this.#keepMax = keepMax;
  }

  get violations(): readonly Violation[] {
    return this.kept.map(({ claim, message }) => ({ claim, message }));
  }

  add(claim: string, message: string, proof?: Proof): void {
    const name = `${this.#judge}: ${claim}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    if (this.kept.length < this.#keepMax) this.kept.push({ claim: name, message, proof });
  }
}
