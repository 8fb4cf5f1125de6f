/**
 * Backup: what a snapshot of the whole database sees, in a file, while the database is in use.
 *
 *     snapshot at T ──▶ tables as of T ──▶ of each: its cells, or its changes since the last backup
 *                                     └──▶ which observers had yet to run at T
 *                   ──▶ the file has its name: only then does the backup count
 *
 * All tables are as of one timestamp, so what a transaction has written is there as a whole, or not
 * at all. A backup into a folder goes on from the last one there, if nothing since then has been
 * collected; `keepMs` keeps it for so long. Otherwise it is a full one, and the report says why.
 *
 * With each cell go the timestamps of its transaction, and with these the acknowledgments of the
 * observers: so it is known which of them had seen the cell. An observer whose run is in flight at
 * T has not acknowledged, but by the time at which we look for its notification, it may have run
 * and cleared that. So we look at the notifications first, and then for acknowledgments since T:
 * either the notification is still there, or the acknowledgment is.
 *
 * Not in a backup: old versions, leases, the oracle's timestamps. What is restored gets new ones.
 */
import { rm } from 'node:fs/promises';
import { hasCode, PercolatorError } from '../base/index.ts';
import { checkOptions, FLAG, NAME, type OptionRules, POSITIVE, SIGNAL } from '../base/options.ts';
import { rowBatches, type Timestamp } from '../bigtable/index.ts';
import { jsonValue } from '../changes/index.ts';
import type { Percolator } from '../database.ts';
import { identify } from '../oracle/index.ts';
import { allDefinitions, storedName } from '../tables/index.ts';
import {
  acknowledgedBy,
  isAcknowledgment,
  NOTIFY,
  NOTIFY_FAMILIES,
  notifyTable,
  type Snapshot,
} from '../transaction/index.ts';
import { BackupWriter, onDisk } from './backup-file.ts';
import {
  type BackedUpTable,
  type CellLine,
  chainTo,
  fileIn,
  filesIn,
  type Header,
  headerOf,
  partialsBeside,
} from './chain.ts';

export interface BackupOptions {
  /** A folder, which is made; or a file for one full backup, with a name that ends in `.backup`. */
  readonly to: string;
  /** Whether to make a full backup where one could go on from the last one. Default false. */
  readonly full?: boolean | undefined;
  /**
   * Milliseconds for which nothing is collected that the next backup needs (`Percolator.mark`).
   * Default: nothing is kept. Too small: the next backup is a full one. Too large: if none follows,
   * garbage is kept for so long.
   */
  readonly keepMs?: number | undefined;
  /** Gives the backup up when it aborts, and nothing is left of it. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

const RULES: OptionRules<BackupOptions> = {
  to: NAME,
  full: FLAG,
  keepMs: POSITIVE,
  signal: SIGNAL,
};

export interface BackupReport {
  readonly path: string;
  /** 0 for a full backup. */
  readonly from: Timestamp;
  /** What was committed up to it is in the backup. */
  readonly to: Timestamp;
  /** Cells and changes, without acknowledgments. */
  readonly cells: number;
  readonly bytes: number;
  /** Why it is a full one, although there is one from which it could have gone on. */
  readonly whyFull?: string | undefined;
}

/**
 * @throws INVALID_ARGUMENT if the folder has backups of another database, or there is such a file;
 *   STORE_FULL, STORE_REFUSED for what the disk of the backup says, and nothing is left there;
 *   TABLE_NOT_FOUND, STALE_SNAPSHOT if a table was dropped meanwhile: begin again; the reason of
 *   `signal`
 */
export async function backup(
  percolator: Percolator,
  options: BackupOptions,
): Promise<BackupReport> {
  checkOptions('backup', options, RULES, ['to']);
  const { to: target, full = false, keepMs, signal } = options;
  const isFile = target.endsWith('.backup');
  if (isFile && keepMs !== undefined) {
    const message = `keepMs keeps what the next backup into a folder needs, and ${target} is a single file`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const { name: database } = await identify(percolator.store);
  if (isFile) {
    return new Backup(percolator, { database, fileFor: () => target, signal }).make(undefined);
  }
  const chain = chainTo(await filesIn(target));
  const last = await lastOf(chain.at(-1)?.path, database);
  const series = { database, fileFor: fileIn.bind(undefined, target), keepMs, signal };
  const ofChain = chain[0] === undefined ? undefined : markOf(chain[0].to);
  let whyFull: string | undefined;
  if (last !== undefined && !full) {
    try {
      return await new Backup(percolator, { ...series, mark: ofChain }).make(last);
    } catch (error) {
      if (!hasCode(error, 'STALE_SNAPSHOT')) throw error;
      whyFull = `changes since ${last.to} have been collected`;
    }
  }
  const report = await new Backup(percolator, series).make(undefined);
  if (ofChain !== undefined) await percolator.unmark(ofChain);
  return { ...report, whyFull };
}

async function lastOf(path: string | undefined, database: string): Promise<Header | undefined> {
  if (path === undefined) return undefined;
  const header = await headerOf(path);
  if (header.database === database) return header;
  const message = `${path} is of the database ${header.database}, and this is ${database}: give another folder`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

/** The mark of the backups that go on from a full one. */
function markOf(full: Timestamp): string {
  return `backup/${full}`;
}

/**
 * Removes what killed backups have left. One that runs holds its timestamp, so one that is below
 * the horizon cannot go on; if it was only about to give the file its name, it fails now.
 */
async function removeLeftovers(percolator: Percolator, path: string): Promise<void> {
  const partials = await onDisk(path, async () => partialsBeside(path));
  for (const { path: partial, to } of partials) {
    try {
      await (await percolator.snapshot(to)).close();
    } catch (error) {
      if (hasCode(error, 'INVALID_ARGUMENT')) continue; // In the future: not ours.
      if (!hasCode(error, 'STALE_SNAPSHOT')) throw error;
      await onDisk(partial, () => rm(partial, { force: true }));
    }
  }
}

/** Lines after which the hold is renewed: far fewer than are written in its lifetime. */
const HOLD_LINES = 10_000;

class Backup {
  readonly #percolator: Percolator;
  readonly #database: string;
  readonly #fileFor: (from: Timestamp, to: Timestamp) => string;
  readonly #keepMs: number | undefined;
  readonly #mark: string | undefined;
  readonly #signal: AbortSignal | undefined;
  #snapshot: Snapshot | undefined;
  #lines = 0;
  #cells = 0;

  constructor(
    percolator: Percolator,
    to: {
      readonly database: string;
      readonly fileFor: (from: Timestamp, to: Timestamp) => string;
      readonly keepMs?: number | undefined;
      /** Default: that of a new series. */
      readonly mark?: string | undefined;
      readonly signal: AbortSignal | undefined;
    },
  ) {
    this.#percolator = percolator;
    this.#database = to.database;
    this.#fileFor = to.fileFor;
    this.#keepMs = to.keepMs;
    this.#mark = to.mark;
    this.#signal = to.signal;
  }

  /** @param last the backup to go on from */
  async make(last: Header | undefined): Promise<BackupReport> {
    const snapshot = (this.#snapshot = await this.#percolator.snapshot());
    try {
      const { startTimestamp: to } = snapshot;
      const from = last?.to ?? 0;
      const path = this.#fileFor(from, to);
      const tables = await this.#tablesAt(to);
      await removeLeftovers(this.#percolator, path);
      await using writer = await BackupWriter.open(path, to);
      const header = { percolator: 'backup', version: 1, database: this.#database } as const;
      await writer.write({ ...header, from, to, tables } satisfies Header);
      for (const one of tables) await this.#writeTable(writer, one, { last, to });
      for (const one of tables) await this.#writePending(writer, one, to);
      const bytes = await writer.finish();
      if (this.#keepMs !== undefined) {
        await this.#percolator.mark(this.#mark ?? markOf(to), to, this.#keepMs);
      }
      return { path, from, to, cells: this.#cells, bytes };
    } finally {
      await this.#snapshot?.close();
    }
  }

  /** Without those that were created since: no snapshot at that time sees them. */
  async #tablesAt(to: Timestamp): Promise<readonly BackedUpTable[]> {
    const definitions = await allDefinitions(this.#percolator.store);
    return [...definitions].flatMap(([table, definition]) => {
      if (definition === undefined) {
        const message = `the definition of table ${table} is damaged, so it cannot be backed up; fsck says more`;
        throw new PercolatorError('TABLE_MISMATCH', message);
      }
      const { state, incarnation, createdAt, ...form } = definition;
      const { observedColumns, sharedColumns, splits } = form;
      if (state !== 'there' || createdAt > to) return [];
      const stored = storedName(table, incarnation);
      return [{ table, stored, observedColumns, sharedColumns, splits }];
    });
  }

  async #writeTable(
    writer: BackupWriter,
    { table, stored }: BackedUpTable,
    { last, to }: { readonly last: Header | undefined; readonly to: Timestamp },
  ): Promise<void> {
    const before = last?.tables.find((one) => one.stored === stored);
    const whole = last === undefined || before === undefined;
    await this.#write(writer, { table, whole });
    const acknowledgments = true;
    if (whole) {
      for await (const cell of this.#percolator.cells(table, { at: to, acknowledgments })) {
        await this.#writeCell(writer, cell);
      }
      return;
    }
    const options = { from: last.to, to, acknowledgments };
    for await (const event of this.#percolator.changes(table, options)) {
      if (event.kind === 'change') await this.#writeCell(writer, event);
    }
  }

  #writeCell(writer: BackupWriter, cell: CellToWrite): Promise<void> {
    if (!isAcknowledgment(cell.column)) this.#cells++;
    return this.#write(writer, lineOf(cell));
  }

  /** Cells that observers had yet to see, or may have had: see the opening comment. */
  async #writePending(
    writer: BackupWriter,
    { table, stored, observedColumns }: BackedUpTable,
    to: Timestamp,
  ): Promise<void> {
    if (observedColumns.length === 0) return;
    const { store } = this.#percolator;
    await this.#write(writer, { pendingIn: table });
    const filters = NOTIFY_FAMILIES.map((family) =>
      family === NOTIFY ? { family, to } : { family },
    );
    for await (const { rows } of rowBatches(store, notifyTable(stored), {}, filters)) {
      for (const { key: row, cells } of rows) {
        for (const column of new Set(cells.map(({ qualifier }) => qualifier))) {
          await this.#write(writer, { pending: row, column });
        }
      }
    }
    const since = this.#percolator.changes(table, { from: to, acknowledgments: true });
    for await (const event of since) {
      if (event.kind !== 'change' || !isAcknowledgment(event.column)) continue;
      const { observer, column } = acknowledgedBy(event.column);
      await this.#write(writer, { pending: event.row, column, observer });
    }
  }

  async #write(writer: BackupWriter, line: object): Promise<void> {
    this.#signal?.throwIfAborted();
    await writer.write(line);
    if (++this.#lines % HOLD_LINES > 0) return;
    const before = this.#snapshot;
    this.#snapshot = await this.#percolator.snapshot(before?.startTimestamp);
    await before?.close();
  }
}

interface CellToWrite {
  readonly row: string;
  readonly column: string;
  readonly value: Uint8Array | undefined;
  readonly commitTimestamp: Timestamp;
  readonly startTimestamp: Timestamp;
}

function lineOf(cell: CellToWrite): CellLine {
  const { row, column, value, commitTimestamp: commit, startTimestamp: start } = cell;
  return { row, column, value: value === undefined ? null : jsonValue(value), commit, start };
}
