/**
 * All cells of a table as a snapshot sees them, each with the timestamps of the transaction that
 * wrote it: where a copy of a table begins, which its changes then keep up to date.
 *
 *     cells at T, in the order of their rows ──▶ changes after T, in the order of their commits
 *
 * Rows with a lock below T are read as every snapshot reads them: settled, or waited for. A lock
 * that comes afterwards belongs to a transaction that commits above T.
 */
import { assert, copyOf, PercolatorError } from '../base/index.ts';
import { check, checkOptions, FLAG, type OptionRules, TEXT, WHOLE } from '../base/options.ts';
import { type CellFilter, type Row, rowBatches, type Timestamp } from '../bigtable/index.ts';
import {
  columnOf,
  type Context,
  DATA,
  decodeWriteRecord,
  everywhere,
  isAcknowledgment,
  isOf,
  isSharedLock,
  LOCK,
  refuseBelowHorizon,
  snapshotAt,
  snapshotRead,
  WRITE,
} from '../transaction/index.ts';
import { findTable, locksIn, readData } from './look.ts';

export interface CellsOptions {
  /** A timestamp of the past, at or above the horizon. Default: now. */
  readonly at?: Timestamp | undefined;
  /** Whether acknowledgments of observers are wanted as well, for a backup. Default false. */
  readonly acknowledgments?: boolean | undefined;
}

const RULES: OptionRules<CellsOptions> = { at: WHOLE, acknowledgments: FLAG };

/** A cell with a value. */
export interface TableCell {
  readonly row: string;
  readonly column: string;
  /** Undefined only for an acknowledgment. */
  readonly value: Uint8Array | undefined;
  /** Of the transaction that last changed the cell. */
  readonly commitTimestamp: Timestamp;
  readonly startTimestamp: Timestamp;
}

/**
 * @throws INVALID_ARGUMENT at once for a wrong option. While it is read: TABLE_NOT_FOUND; LOCKED;
 *   STALE_SNAPSHOT if the table is younger, or what the snapshot sees may have been collected
 */
export function cells(
  context: Context,
  table: string,
  options: CellsOptions = {},
): AsyncGenerator<TableCell, void, undefined> {
  check('the table of cells', table, TEXT);
  checkOptions('cells', options, RULES);
  return cellsAt(context, table, options);
}

async function* cellsAt(
  context: Context,
  table: string,
  { at: wanted, acknowledgments = false }: CellsOptions,
): AsyncGenerator<TableCell, void, undefined> {
  await using snapshot = await snapshotAt(context, wanted);
  const { startTimestamp: at } = snapshot;
  const { stored, createdAt } = await findTable(context, table);
  if (createdAt > at) {
    const message = `the snapshot at ${at} is older than table ${table}, created at ${createdAt}`;
    throw new PercolatorError('STALE_SNAPSHOT', message);
  }
  const filters: readonly CellFilter[] = [
    { ...everywhere(LOCK), to: at },
    { ...everywhere(WRITE), to: at, versions: 1 },
    { ...everywhere(DATA), to: at, versions: 2 },
  ];
  for await (const { rows } of rowBatches(context.store, stored, {}, filters)) {
    const found: TableCell[] = [];
    for (const row of rows) {
      const unlocked = await readUnlocked(context, { stored, filters, at }, row);
      found.push(...(await cellsOf(context, { stored, acknowledgments, at }, unlocked)));
    }
    await refuseBelowHorizon(context, at); // Also for rows that are missing: they were collected.
    yield* found;
  }
}

async function readUnlocked(
  context: Context,
  by: {
    readonly stored: string;
    readonly filters: readonly CellFilter[];
    readonly at: Timestamp;
  },
  row: Row,
): Promise<Row> {
  const columns = locksIn(row).map(columnOf);
  if (columns.length === 0) return row;
  const { stored, filters, at } = by;
  await snapshotRead(context, { table: stored, row: row.key, columns }, at);
  return (await context.store.readRow(stored, row.key, filters)) ?? { key: row.key, cells: [] };
}

async function cellsOf(
  context: Context,
  {
    stored,
    acknowledgments,
    at,
  }: { readonly stored: string; readonly acknowledgments: boolean; readonly at: Timestamp },
  { key: row, cells: all }: Row,
): Promise<readonly TableCell[]> {
  const found: TableCell[] = [];
  const data = all.filter((cell) => isOf(DATA, cell));
  for (const cell of all) {
    const column = columnOf(cell);
    const isAck = isAcknowledgment(column);
    if (!isOf(WRITE, cell) || isSharedLock(column) || (isAck && !acknowledgments)) continue;
    const record = decodeWriteRecord(cell);
    const { changedTimestamp: commitTimestamp, dataTimestamp, startTimestamp } = record;
    if (isAck) {
      found.push({ row, column, value: undefined, commitTimestamp, startTimestamp });
      continue;
    }
    if (dataTimestamp === 0) continue;
    const own = data.find((one) => one.timestamp === dataTimestamp && columnOf(one) === column);
    const value = own?.value ?? (await readData(context, stored, { row, column, record }));
    if (value === undefined) await refuseBelowHorizon(context, at);
    assert(value !== undefined, `a record above the horizon has data (${row}/${column})`);
    found.push({
      row,
      column,
      value: copyOf(value),
      commitTimestamp,
      startTimestamp: dataTimestamp,
    });
  }
  return found;
}
