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
 * Its value says which runs of observers have caused it (`Cause`, below).
 *
 * The notification is at the commit timestamp, because an observer clears what is not above its
 * start timestamp: it clears exactly what its snapshot has seen (P41, clearing too much). If we die
 * before the commit point, a worker looks at the cell in vain, once; only for a weak notification
 * does an observer run.
 *
 * A notification that keeps failing is parked: then `ParkedEntry` takes its place.
 */
import { bytesOf, textOf } from '../base/index.ts';
import { hashText } from '../base/random.ts';
import type { Mutation, RowMutation, Silent, Timestamp } from '../bigtable/index.ts';
import type { BoundCell, BoundTables } from './bound-tables.ts';
import { type CellAddress, cellName, NOTIFY, notifyTable, WEAK } from './columns.ts';
import { RowMap, type RowWrites } from './writes.ts';

/** Tells which columns are observed, if the tables do not know. */
interface Definitions {
  isObserved(table: string, column: string): Promise<boolean>;
}

/** What a transaction writes and notifies, and the tables that it is bound to. */
interface Notifying {
  readonly rows: readonly RowWrites[];
  readonly weak: readonly CellAddress[];
  readonly tables: BoundTables;
}

/** The observed cells whose value the transaction changes. A touch changes nothing. */
export async function observedCells(
  definitions: Definitions,
  { rows, tables }: Notifying,
): Promise<readonly BoundCell[]> {
  const observed: BoundCell[] = [];
  for (const write of rows.flatMap(({ writes }) => writes)) {
    if (write.operation === 'touch') continue;
    // Asks the bound incarnation, not a newer one that this process may learn of meanwhile.
    const known = tables.isObserved(write);
    const isObserved = known ?? (await definitions.isObserved(write.table, write.column));
    if (isObserved) observed.push(tables.boundCell(write));
  }
  return observed;
}

/**
 * The cells to notify weakly.
 * @throws TABLE_NOT_FOUND before anything is locked: a notification that is refused later would
 *   fail the commit after it has locked its cells
 */
export async function weakCells(
  definitions: Definitions,
  { weak, tables }: Notifying,
): Promise<readonly BoundCell[]> {
  for (const cell of weak) {
    if (tables.isObserved(cell) !== undefined) continue;
    await definitions.isObserved(cell.table, cell.column);
  }
  return weak.map((cell) => tables.boundCell(cell));
}

/**
 * The mutations that set the notify cells of strong and weak notifications: one for each row, as
 * all of them are at the commit timestamp.
 */
export function notificationMutations(
  strong: readonly BoundCell[],
  weak: readonly BoundCell[],
  {
    commitTimestamp,
    cause,
    silent,
  }: {
    readonly commitTimestamp: Timestamp;
    readonly cause?: Cause | undefined;
    readonly silent?: Silent;
  },
): readonly RowMutation[] {
  const value = encodeCause(cause);
  const families = [
    { family: NOTIFY, cells: strong },
    { family: WEAK, cells: weak },
  ];
  const rows = new RowMap<RowMutation & { readonly mutations: Mutation[] }>();
  for (const { family, cells } of families) {
    for (const { stored, row, column: qualifier } of distinct(cells)) {
      const table = notifyTable(stored);
      const mutation = rows.getOrMake({ table, row }, () => {
        return { table, row, mutations: [], provisional: true, silent }; // As is a prewrite.
      });
      mutation.mutations.push({
        kind: 'set',
        family,
        qualifier,
        timestamp: commitTimestamp,
        value,
      });
    }
  }
  return [...rows.values()];
}

/**
 * Whether a mutation sets notify cells. Where mutations are batched, these are urgent: there the
 * commit of a transaction waits for its notifications.
 */
export function isNotification({ mutations }: RowMutation): boolean {
  return mutations.some(
    ({ kind, family }) => kind === 'set' && (family === NOTIFY || family === WEAK),
  );
}

function distinct(cells: readonly BoundCell[]): readonly BoundCell[] {
  return [...new Map(cells.map((cell) => [cellName(cell), cell])).values()];
}

/*
 * What caused a notification: the runs of observers before it, each caused by the one before (P83,
 * endless loop).
 *
 *     a change from outside ─▶ run for x ─▶ run for y ─▶ run for x ─▶ run for y ─▶ ...
 *     cause of what it notifies: none  └ x, 0       └ y, 0       └ y, 0       └ y, 1    passes of y
 *
 * The cause is four numbers, however long the chain is and through whatever processes it goes: the
 * notification in the storage carries them. This is Brent's way to find a cycle. One cell of the
 * chain is remembered, as a hash. If a run is for that cell again, the chain has passed it once
 * more; if it has not come back after `reach` runs, the present cell is remembered instead, for
 * twice as many. So a loop of any length is found within a few turns, and a chain that never comes
 * back has no passes. Nor have changes that come from elsewhere, even from other runs that one
 * change caused: a thousand rows that each write one total are no loop of the total.
 */

export interface Cause {
  /** A hash of the cell that is remembered. */
  readonly cell: number;
  /** How often the chain has come back to it. */
  readonly passes: number;
  /** Runs since it was last there. */
  readonly steps: number;
  /** Runs after which another cell is remembered. */
  readonly reach: number;
}

/**
 * The cause of what a run for the cell notifies; `before` is that of the notification it runs for.
 */
export function causeAfter(before: Cause | undefined, address: CellAddress): Cause {
  const cell = hashText(cellName(address));
  if (before === undefined) return { cell, passes: 0, steps: 0, reach: 1 };
  if (cell === before.cell) return { ...before, passes: before.passes + 1, steps: 0 };
  const steps = before.steps + 1;
  if (steps < before.reach) return { ...before, steps };
  return { cell, passes: 0, steps: 0, reach: 2 * before.reach };
}

/** The value of a notification. */
export function encodeCause(cause: Cause | undefined): Uint8Array {
  if (cause === undefined) return new Uint8Array();
  const { cell, passes, steps, reach } = cause;
  return bytesOf([cell, passes, steps, reach].join(' '));
}

/** Undefined for a notification of a change from outside, or with a value that says nothing. */
export function decodeCause(value: Uint8Array): Cause | undefined {
  if (value.length === 0) return undefined;
  const numbers = textOf(value).split(' ').map(Number);
  const [cell = NaN, passes = NaN, steps = NaN, reach = NaN] = numbers;
  const isLegible = [cell, passes, steps, reach].every((one) => Number.isFinite(one));
  return isLegible ? { cell, passes, steps, reach } : undefined;
}

/**
 * The entry of a parked cell (P45, observer keeps failing), in the notify table: `parked:<column>`
 * or `parked-weak:<column>`.
 */
export interface ParkedEntry {
  /** How often the cell's observers failed before it was parked; 0 if it cannot be decoded. */
  readonly failures: number;
  /** What the observer threw last. */
  readonly error: string;
}

export function encodeParked({ failures, error }: ParkedEntry): Uint8Array {
  return bytesOf(JSON.stringify({ failures, error }));
}

/**
 * If the storage has other bytes than the engine writes, the entry says so in `error`: the cell is
 * still parked, and an operator has to see it to replay it.
 */
export function decodeParked(value: Uint8Array): ParkedEntry {
  const text = textOf(value);
  return decode(text) ?? { failures: 0, error: `an entry that cannot be decoded: ${text}` };
}

function decode(text: string): ParkedEntry | undefined {
  try {
    const { failures, error } = JSON.parse(text) as { failures: unknown; error: unknown };
    return typeof failures === 'number' && typeof error === 'string'
      ? { failures, error }
      : undefined;
  } catch {
    return undefined;
  }
}
