/**
 * What an audit can find, by stable codes: scripts and tests compare codes, people read sentences.
 *
 * An *error* must never occur: some rule of the protocol was broken, by the engine, by the storage
 * or by hand. A *warning* does not prove that. Either a transaction in progress or a
 * dead process has left something that the engine cleans up later; or something waits for an
 * operator; or the audit cannot tell whether a rule was broken.
 */
import type { Timestamp } from '../bigtable/index.ts';
import type { CellAddress, Lock, ParkedEntry } from '../transaction/index.ts';

/** The meaning of each code, as reports print it. */
export const FINDING_CODES = {
  'lock-undecodable': 'The value of a lock cannot be decoded.',
  'lock-overtaken': 'A locked cell was also locked, or committed to, by another transaction.',
  'lock-after-end': 'A lock is in a cell where its own transaction has already ended.',
  'lock-primary-absent':
    'The primary of a lock has no lock, record or rollback record of its transaction.',
  'lock-primary-mismatch': 'The lock at the primary says that the primary is elsewhere (P15).',
  'lock-left-committed':
    'The transaction of a lock has committed; the lock waits to be rolled forward.',
  'lock-left-rolled-back':
    'The transaction of a lock was rolled back; the lock waits to be erased.',
  'lock-left-by-dead': 'The owner of a lock is dead, or its heartbeat has stopped.',
  'lock-long-held': 'A lock has been held for a long time, and its owner is not known to be dead.',
  'record-undecodable': 'A write record cannot be decoded, or is one that no transaction writes.',
  'record-without-data': 'A write record points to data that does not exist.',
  'record-overlap': 'Two transactions that committed the same cell overlap in time.',
  'record-wrong-touch': 'A touch kept a version other than the current one.',
  'data-without-record': 'Data has neither a lock nor a record that points to it (P33).',
  'committed-and-rolled-back': 'A transaction was both committed and rolled back in one cell.',
  'rollback-below-horizon': 'A rollback record is below the horizon; a collector removes it.',
  'timestamp-ahead': 'A cell has a timestamp that the oracle has not handed out yet.',
  'acknowledgment-ahead':
    'An acknowledgment has a timestamp that the oracle has not handed out yet.',
  'acknowledgment-without-change':
    'An observer has acknowledged a change of a column that has no record.',
  'notification-lost':
    'An observed cell has an unseen change, but neither a notification nor a parked entry.',
  'notification-clean': 'A cell is notified, but no observer is known that needs to run for it.',
  'observer-parked': 'A cell whose observer failed too often is parked, and waits for an operator.',
  'row-damaged':
    'A row cannot be read any more, because the storage has lost some of its bytes (STORE_DAMAGED).',
  'store-damaged': 'Files of the storage have lost bytes, or hold bytes that are no part of it.',
  'table-missing': 'A table is defined but does not exist.',
  'table-unreadable':
    'A table lacks the column families of a Percolator table, or does not keep all versions.',
  'table-undefined': 'A table has the form of a Percolator table, but no legible definition.',
  'table-unfinished': 'A table is being created or dropped, or was when a process died.',
  'table-left-over': 'The storage still has a table of a dropped incarnation.',
  'companion-missing': 'The companion table, which holds the notifications, does not exist.',
  'lease-undecodable': 'The value of a lease cannot be decoded.',
  'lease-left-by-dead':
    'A dead process keeps versions from being collected, until a collector ends its lease.',
  'engine-table-missing': 'A table that the engine itself needs does not exist.',
} as const;

export type FindingCode = keyof typeof FINDING_CODES;

export type Severity = 'error' | 'warning';

export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /**
   * Without the column if the finding is about a whole row; without both if about a table, whose
   * name is empty if it is about the whole store.
   */
  readonly cell: Pick<CellAddress, 'table'> & Partial<CellAddress>;
  /** The timestamps concerned: start timestamps before commit timestamps, or in ascending order. */
  readonly timestamps: readonly Timestamp[];
  readonly sentence: string;
  /** For findings about a lock whose primary was asked (judge-lock.ts). */
  readonly lock?: { readonly owner: string; readonly ageMs: number } | undefined;
  readonly parked?: ParkedEntry | undefined;
  /** What `repair` does; absent if there is nothing to do, or nothing can be done safely. */
  readonly fix?: Fix | undefined;
  /** With `repair`: whether something was done, and what was done, or why it was not. */
  readonly repair?: { readonly done: boolean; readonly note: string } | undefined;
}

/** Makes an error of one cell. */
export type MakeFinding = (code: FindingCode, timestamps: Timestamp[], sentence: string) => Finding;

/** All that a repair may do. Each action is harmless if it runs twice. */
export type Fix =
  | { readonly kind: 'resolve lock'; readonly cell: CellAddress; readonly lock: Lock }
  | {
      /** Only if the cell has no record above `newestRecord`: a later one may point to the data. */
      readonly kind: 'erase data';
      readonly cell: CellAddress;
      readonly startTimestamp: Timestamp;
      readonly newestRecord: Timestamp;
    }
  | { readonly kind: 'notify'; readonly cell: CellAddress }
  | { readonly kind: 'erase notifications'; readonly cell: CellAddress; readonly upTo: Timestamp }
  | { readonly kind: 'create companion'; readonly table: string }
  | {
      readonly kind: 'drop leftover';
      /** The storage's name of the table: that of its incarnation, or of the companion. */
      readonly table: string;
      /** The storage's name of the incarnation. */
      readonly stored: string;
    };

/** Equal for two findings of one code, place and timestamps, as in two looks at one row. */
export function keyOf({ code, cell, timestamps }: Finding): string {
  return JSON.stringify([code, cell.table, cell.row, cell.column, timestamps]);
}
