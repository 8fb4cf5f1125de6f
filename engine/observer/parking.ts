/**
 * Parking: what happens to a cell whose observer keeps failing (P45).
 *
 * Without it, workers would run the observer again and again, forever, for a cell that it cannot
 * process. Scanners do not find a parked cell. It is in a list, with the error, until an operator
 * replays it. If the cell changes meanwhile, it is marked again, and the observer runs.
 *
 * Parking is one row mutation: it erases the mark that was seen and sets the entry, so that a crash
 * loses neither, and a mark that came later stays. If the mark that was seen is gone, nothing is
 * parked: another worker has finished or parked the cell, or its table was dropped and created
 * again, and the cell of the new table has never failed.
 */
import { check, COUNT, FLAG, objectWith, TEXT } from '../base/options.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';
import {
  decodeParked,
  encodeParked,
  NOTIFY,
  notifyTable,
  PARKED,
  PARKED_WEAK,
  type ParkedEntry,
  WEAK,
} from '../transaction/index.ts';
import type { DirtyCell } from './observer.ts';
import type { Notified } from './run-observer.ts';

export interface ParkedCell extends DirtyCell, ParkedEntry {
  /** Whether it was marked by a weak notification. */
  readonly weak: boolean;
}

const PARKED_CELL = objectWith('one of those that listParked returns', {
  table: TEXT,
  row: TEXT,
  column: TEXT,
  weak: FLAG,
});

/**
 * Moves the cell from the marks to the list of parked cells. Resolves to whether the mark was still
 * there.
 */
export async function park(store: Bigtable, cell: Notified, failed: ParkedEntry): Promise<boolean> {
  const { table, row, column: qualifier, weak, timestamp } = cell;
  const value = encodeParked(failed);
  const { mark, parked } = familiesOf(weak);
  return store.checkAndMutateRow({
    table: notifyTable(table),
    row,
    anyOf: [{ family: mark, qualifier, from: timestamp, to: timestamp }],
    ifFound: [
      { kind: 'set', family: parked, qualifier, timestamp, value },
      { kind: 'erase', family: mark, qualifier, from: 0, to: timestamp },
    ],
  });
}

/** Whether the cell is marked: weakly if `cell.weak`, otherwise strongly. */
export async function isMarked(
  store: Bigtable,
  cell: DirtyCell & { readonly weak: boolean },
): Promise<boolean> {
  const { mark: family } = familiesOf(cell.weak);
  const filter = { family, qualifier: cell.column, versions: 1 };
  return (await store.readRow(notifyTable(cell.table), cell.row, [filter])) !== undefined;
}

/** The parked cells of a table, at most `limit`, in row order. */
export async function listParked(
  store: Bigtable,
  table: string,
  limit: number,
): Promise<readonly ParkedCell[]> {
  check('the table of listParked', table, TEXT);
  check('the limit of listParked', limit, COUNT);
  const rows = await store.readRange(notifyTable(table), { limit }, [
    { family: PARKED, versions: 1 },
    { family: PARKED_WEAK, versions: 1 },
  ]);
  const parked = rows.flatMap(({ key: row, cells }) =>
    cells.map(({ family, qualifier: column, value }): ParkedCell => {
      return { table, row, column, weak: family === PARKED_WEAK, ...decodeParked(value) };
    }),
  );
  return parked.slice(0, limit); // A row may have several.
}

/** Marks a parked cell dirty again, at a fresh timestamp, and takes it off the list. */
export async function replayParked(
  { store, oracle }: { readonly store: Bigtable; readonly oracle: TimestampOracle },
  cell: ParkedCell,
): Promise<void> {
  check('the cell of replayParked', cell, PARKED_CELL);
  const { table, row, column: qualifier, weak } = cell;
  const timestamp = await oracle.next();
  const { mark, parked } = familiesOf(weak);
  await store.mutateRows([
    {
      table: notifyTable(table),
      row,
      mutations: [
        { kind: 'set', family: mark, qualifier, timestamp, value: new Uint8Array() },
        // Not up to the mark itself, at which the cell may be parked again (P63).
        { kind: 'erase', family: parked, qualifier, from: 0, to: timestamp - 1 },
      ],
    },
  ]);
}

/** A cell can be marked, and parked, in both ways at once; each is cleared and replayed alone. */
function familiesOf(weak: boolean): { readonly mark: string; readonly parked: string } {
  return weak ? { mark: WEAK, parked: PARKED_WEAK } : { mark: NOTIFY, parked: PARKED };
}
