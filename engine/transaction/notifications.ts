/**
 * Notifications (section 2.4): "When a transaction writes an observed cell, it also sets the
 * corresponding notify cell."
 *
 *     notify:c @ commit timestamp      in the companion table, same row
 *
 * When, exactly? After all locks are held and before the primary is committed (P40, P43).
 *
 * - Later would lose it: if we die between the commit point and the notification, the change is
 *   committed and no observer will ever look at it.
 * - Earlier would waste it: an observer could run before our locks are there, see nothing, and
 *   clear a notification for a change that is yet to come.
 *
 * Its value says which runs of observers have caused it (cause.ts).
 *
 * The notification is at the commit timestamp, because an observer clears what is not above its
 * start timestamp: it clears exactly what its snapshot has seen (P41). If we die before the commit
 * point, a worker looks at the cell in vain, once; only for a weak mark does an observer run.
 */
import type { RowMutation, Timestamp } from '../bigtable/index.ts';
import type { BoundCell, BoundTables } from './bound-tables.ts';
import { type Cause, encodeCause } from './cause.ts';
import { type CellAddress, cellName, NOTIFY, notifyTable, WEAK } from './columns.ts';
import type { Context } from './context.ts';
import type { RowWrites } from './writes.ts';

/** What a transaction writes and marks, and the tables that it is bound to. */
interface Marking {
  readonly rows: readonly RowWrites[];
  readonly weak: readonly CellAddress[];
  readonly tables: BoundTables;
}

/** The observed cells whose value the transaction changes. A touch changes nothing. */
export async function observedCells(
  context: Context,
  { rows, tables }: Marking,
): Promise<readonly BoundCell[]> {
  const observed: BoundCell[] = [];
  for (const write of rows.flatMap(({ writes }) => writes)) {
    if (write.operation === 'touch') continue;
    // Asks the bound incarnation, not a newer one that this process may learn of meanwhile.
    const known = tables.isObserved(write);
    const isObserved = known ?? (await context.isObserved(write.table, write.column));
    if (isObserved) observed.push(tables.boundCell(write));
  }
  return observed;
}

/**
 * The cells to mark weakly.
 * @throws TABLE_NOT_FOUND before anything is locked: a mark that is refused later would fail the
 *   commit after it has locked its cells
 */
export async function weakCells(
  context: Context,
  { weak, tables }: Marking,
): Promise<readonly BoundCell[]> {
  for (const cell of weak) {
    if (tables.isObserved(cell) === undefined) await context.isObserved(cell.table, cell.column);
  }
  return weak.map((cell) => tables.boundCell(cell));
}

/** The mutations that set the notify cells of strong and weak notifications. */
export function notificationMutations(
  strong: readonly BoundCell[],
  weak: readonly BoundCell[],
  {
    commitTimestamp,
    cause,
  }: { readonly commitTimestamp: Timestamp; readonly cause?: Cause | undefined },
): readonly RowMutation[] {
  const value = encodeCause(cause);
  const families = [
    { family: NOTIFY, cells: strong },
    { family: WEAK, cells: weak },
  ];
  return families.flatMap(({ family, cells }) =>
    distinct(cells).map(({ stored, row, column: qualifier }): RowMutation => {
      const cell = { family, qualifier, timestamp: commitTimestamp, value };
      const mutations = [{ kind: 'set', ...cell } as const];
      return { table: notifyTable(stored), row, mutations, provisional: true }; // As is a prewrite.
    }),
  );
}

/**
 * Whether a mutation sets notify cells. Where mutations are batched, these are urgent: there the
 * commit of a transaction waits for its marks.
 */
export function isMark({ mutations }: RowMutation): boolean {
  return mutations.some(
    ({ kind, family }) => kind === 'set' && (family === NOTIFY || family === WEAK),
  );
}

function distinct(cells: readonly BoundCell[]): readonly BoundCell[] {
  return [...new Map(cells.map((cell) => [cellName(cell), cell])).values()];
}
