/**
 * One transaction (section 2.2, Figure 6): reads from the snapshot at its start timestamp, buffers
 * its writes, and commits all of them at its commit timestamp, or none.
 *
 *     begin ── get / getMany / scan / set / delete / lock ──▶ commit ──▶ committed
 *                                                              │
 *                                                              └─▶ conflict, rolled back, unknown
 *
 * Two transactions that write one cell and overlap in time never both commit. That is snapshot
 * isolation. Its one hole is write skew: two transactions that read the same cells and write
 * different ones. `lock(cell)` closes it where it matters; with `shared`, for several transactions
 * at once.
 *
 * Its snapshot is *held*: while it lasts, a hold on the lease of this process keeps garbage
 * collectors from what it still sees (leases/leases.ts).
 *
 * Most users want `transact`, which also retries; its function receives an object of this class.
 */
import { copyOf, PercolatorError } from '../base/index.ts';
import { check, checkOptions, FLAG, LIST, type OptionRules } from '../base/options.ts';
import { ownValue, type Timestamp } from '../bigtable/index.ts';
import type { TransactionTrace } from '../telemetry/index.ts';
import type { Cause } from './notifications.ts';
import {
  acknowledgmentColumn,
  type CellAddress,
  checkUserCell,
  checkWrittenCell,
  describeCell,
} from './columns.ts';
import { commit } from './commit.ts';
import type { Context } from './context.ts';
import { getRow, type RowColumns, type Snapshot } from './reader.ts';
import { Reads } from './reads.ts';
import { type ScannedRow, scanWithWrites } from './scan.ts';
import { checkedRange, type ScanRange } from './scan-range.ts';
import type { HeldSnapshot, Version } from './snapshot-read.ts';
import { type Write, WriteBuffer } from './writes.ts';

export interface TransactionOptions {
  /**
   * The kind of transaction: transactions of one kind read alike, and prefetching learns from that.
   * Default: the name of the function passed to `transact`; for an observer, `observer <name>`.
   */
  readonly kind?: string | undefined;
}

interface OpenTransactionOptions extends TransactionOptions {
  readonly readOnly: boolean;
  /** Whether an attempt before has failed, of whatever. Default: no. */
  readonly isRetry?: boolean | undefined;
  /** What is measured of it; undefined if nothing is. */
  readonly trace?: TransactionTrace | undefined;
}

export interface LockOptions {
  /**
   * Whether other transactions may lock the cell at the same time, with this option: then it
   * conflicts with those alone that write the cell, or lock it without. The table lists the column
   * under `sharedColumns`. Default false.
   */
  readonly shared?: boolean | undefined;
}

const LOCK_RULES: OptionRules<LockOptions> = { shared: FLAG };

type TransactionState = 'open' | 'committing' | 'committed' | 'failed' | 'closed';

export class Transaction implements Snapshot {
  readonly startTimestamp: Timestamp;
  readonly #context: Context;
  readonly #held: HeldSnapshot;
  readonly #writes = new WriteBuffer();
  readonly #weak: CellAddress[] = [];
  readonly #reads: Reads;
  readonly #readOnly: boolean;
  readonly #isRetry: boolean;
  readonly #trace: TransactionTrace | undefined;
  #cause: Cause | undefined;
  /** Moves forward only; once it is not `open`, nothing is possible. */
  #state: TransactionState = 'open';

  /** Use `begin` or `snapshotAt`. */
  constructor(
    context: Context,
    held: HeldSnapshot,
    { readOnly, kind = '', isRetry = false, trace }: OpenTransactionOptions,
  ) {
    this.#context = context;
    this.#held = held;
    this.#reads = new Reads(context, held, kind);
    this.startTimestamp = held.startTimestamp;
    this.#readOnly = readOnly;
    this.#isRetry = isRetry;
    this.#trace = trace;
  }

  /**
   * @throws LOCKED if a live transaction keeps its lock for too long
   * @throws STALE_SNAPSHOT if what the snapshot sees may have been collected
   */
  async get(cell: CellAddress): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    checkUserCell(cell);
    const write = this.#writes.size === 0 ? undefined : this.#writes.find(cell);
    if (write !== undefined && write.operation !== 'touch') return ownCopy(write.value);
    return (await this.#reads.version(cell))?.value;
  }

  async getMany(cells: readonly CellAddress[]): Promise<readonly (Uint8Array | undefined)[]> {
    this.#assertOpen();
    check('the cells of getMany', cells, LIST);
    cells.forEach(checkUserCell);
    // Before the read, because the caller may use its list and its cells again meanwhile.
    const writes = this.#writes.size === 0 ? [] : cells.map((cell) => this.#writes.find(cell));
    const versions = await this.#reads.versions(cells);
    return versions.map((version, i) => {
      const write = writes[i];
      const own = write !== undefined && write.operation !== 'touch';
      return own ? ownCopy(write.value) : version?.value;
    });
  }

  async getRow(row: RowColumns): Promise<ReadonlyMap<string, Uint8Array>> {
    this.#assertOpen();
    return getRow(this, row);
  }

  /** Sees the transaction's own writes that were made before this call, not later ones. */
  scan(range: ScanRange): AsyncGenerator<ScannedRow> {
    this.#assertOpen();
    return scanWithWrites(this.#context, checkedRange(range), this.#held, this.#writes);
  }

  /** The bytes are copied: the caller may use its buffer again (P76, caller's bytes change). */
  set(cell: CellAddress, value: Uint8Array | string): void {
    this.#buffer(cell, { operation: 'put', value: ownValue('the value of a cell', value) });
  }

  /**
   * Older snapshots still see the value, and later writers the conflict:
   * a delete is a write (P17, deletes that erase).
   */
  delete(cell: CellAddress): void {
    this.#buffer(cell, { operation: 'delete' });
  }

  /**
   * Makes every overlapping transaction that writes the cell conflict with this one, although the
   * value stays as it is. Lock the cells that a decision was based on, and write skew cannot occur.
   * A transaction that writes nothing is as if it had run at its start timestamp; its shared locks
   * have nothing to protect, and are not set.
   * @throws INVALID_ARGUMENT for a shared lock if the table does not list the column
   */
  async lock(cell: CellAddress, options: LockOptions = {}): Promise<void> {
    this.#assertWritable(cell);
    checkOptions('lock', options, LOCK_RULES);
    const { table, row, column } = cell;
    const named = { table, row, column }; // A copy: the caller may use its object again.
    if (options.shared === true) return this.#lockShared(named);
    if (this.#writes.find(named) !== undefined) return; // A write conflicts already.
    const record = (await this.#reads.version(named))?.record;
    const touched = {
      dataTimestamp: record?.dataTimestamp ?? 0,
      changedTimestamp: record?.changedTimestamp ?? 0,
    };
    // A write buffered while we read stays: it conflicts already, and a touch would lose its value.
    if (this.#writes.find(named) !== undefined) return;
    this.#buffer(named, { operation: 'touch', touched });
  }

  async #lockShared(cell: CellAddress): Promise<void> {
    if (!(await this.#held.tables.takesShared(cell))) {
      const message = `${describeCell(cell)} takes no shared locks: create table ${cell.table} with column ${cell.column} among its sharedColumns`;
      throw new PercolatorError('INVALID_ARGUMENT', message);
    }
    this.#assertOpen(); // It may have ended meanwhile.
    this.#writes.putSharedLock(cell);
  }

  /**
   * Notifies the observers of a cell without writing it (section 2.4): transactions do not conflict
   * over it, and the observer runs at least once, perhaps several times, perhaps concurrently.
   */
  notifyWeakly(cell: CellAddress): void {
    this.#assertWritable(cell);
    const { table, row, column } = cell;
    this.#weak.push({ table, row, column }); // A copy: the caller may use its object again.
  }

  /**
   * Commits; resolves with the commit timestamp, or with the start timestamp if nothing was
   * written.
   * @throws WRITE_CONFLICT, ROLLED_BACK, STALE_SNAPSHOT: nothing is or will be visible; run it
   * again from the start
   * @throws COMMIT_UNKNOWN: it may have committed; ask `outcomeOf(error.transaction)`
   * @throws INVALID_ARGUMENT: it has a weak notification and no write
   */
  async commit(): Promise<Timestamp> {
    this.#assertOpen();
    this.#state = 'committing';
    this.#reads.end();
    let committedAt: Timestamp;
    try {
      committedAt = await this.#commitWrites();
    } catch (error) {
      this.#state = 'failed';
      this.#trace?.failed(error);
      throw error;
    }
    this.#state = 'committed';
    this.#trace?.committed(committedAt, this.#writes.size > 0);
    return committedAt;
  }

  /** Forgets the writes. Nothing was sent, so there is nothing to undo. Harmless after `commit`. */
  discard(): void {
    if (this.#state !== 'open') return;
    this.#state = 'closed';
    this.#reads.end();
    this.#held.hold.release();
    this.#trace?.discarded();
  }

  async close(): Promise<void> {
    this.discard();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For observers: the committed versions of cells, acknowledgments included. */
  readVersions(cells: readonly CellAddress[]): Promise<readonly (Version | undefined)[]> {
    return this.#reads.versions(cells);
  }

  /**
   * For observers: records that `observer` has run for `cell` in this snapshot (P42, changes during
   * a run).
   */
  acknowledge(observer: string, cell: CellAddress): void {
    const column = acknowledgmentColumn(observer, cell.column);
    this.#writes.put({ table: cell.table, row: cell.row, column, operation: 'put' });
  }

  /** For observers: what its notifications say caused them (P83, endless loop). */
  causedBy(cause: Cause): void {
    this.#cause = cause;
  }

  async #commitWrites(): Promise<Timestamp> {
    if (this.#writes.size > 0) {
      return commit(this.#context, {
        ...this.#held,
        rows: this.#writes.byRow(),
        weak: this.#weak,
        cause: this.#cause,
        isRetry: this.#isRetry,
        trace: this.#trace,
      });
    }
    this.#held.hold.release();
    if (this.#weak.length > 0) {
      throw new PercolatorError(
        'INVALID_ARGUMENT',
        `weak notification of ${this.#weak.map(describeCell).join(', ')}: the transaction must write, because ` +
          'the notification becomes visible with its commit',
      );
    }
    return this.startTimestamp; // Nothing was written: the snapshot is all there was.
  }

  #buffer(cell: CellAddress, what: Omit<Write, keyof CellAddress>): void {
    this.#assertWritable(cell);
    const { table, row, column } = cell; // A copy: the caller may use its object again.
    this.#writes.put({ table, row, column, ...what });
  }

  #assertWritable(cell: CellAddress): void {
    this.#assertOpen();
    checkWrittenCell(cell);
    if (this.#readOnly) {
      throw new PercolatorError('READ_ONLY', 'a snapshot can be read, not written');
    }
  }

  #assertOpen(): void {
    if (this.#state === 'open') return;
    throw new PercolatorError(
      'TRANSACTION_CLOSED',
      `the transaction of ${this.startTimestamp} is ${this.#state}; begin another one`,
    );
  }
}

function ownCopy(value: Uint8Array | undefined): Uint8Array | undefined {
  return value && copyOf(value);
}
