/**
 * What caused a mark: the runs of observers before it, each caused by the one before (P83).
 *
 *     a change from outside ─▶ run for x ─▶ run for y ─▶ run for x ─▶ run for y ─▶ ...
 *     cause of its mark: none      └ x, 0       └ y, 0       └ y, 0       └ y, 1      passes of y
 *
 * The cause is four numbers, however long the chain is and through whatever processes it goes: the
 * mark in the storage carries them. This is Brent's way to find a cycle. One cell of the chain is
 * remembered, as a hash. If a run is for that cell again, the chain has passed it once more; if it
 * has not come back after `reach` runs, the present cell is remembered instead, for twice as many.
 * So a loop of any length is found within a few turns, and a chain that never comes back has no
 * passes. Nor have changes that come from elsewhere, even from other runs that one change caused:
 * a thousand rows that each write one total are no loop of the total.
 */
import { hashText } from '../base/random.ts';
import { type CellAddress, cellName } from './columns.ts';

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

/** The cause of what a run for the cell marks; `before` is that of the mark that it runs for. */
export function causeAfter(before: Cause | undefined, address: CellAddress): Cause {
  const cell = hashText(cellName(address));
  if (before === undefined) return { cell, passes: 0, steps: 0, reach: 1 };
  if (cell === before.cell) return { ...before, passes: before.passes + 1, steps: 0 };
  const steps = before.steps + 1;
  if (steps < before.reach) return { ...before, steps };
  return { cell, passes: 0, steps: 0, reach: 2 * before.reach };
}

/** The value of a mark. */
export function encodeCause(cause: Cause | undefined): Uint8Array {
  if (cause === undefined) return new Uint8Array();
  const { cell, passes, steps, reach } = cause;
  return Buffer.from([cell, passes, steps, reach].join(' '));
}

/** Undefined for a mark of a change from outside, or with a value that says nothing. */
export function decodeCause(value: Uint8Array): Cause | undefined {
  if (value.length === 0) return undefined;
  const numbers = Buffer.from(value).toString().split(' ').map(Number);
  const [cell = NaN, passes = NaN, steps = NaN, reach = NaN] = numbers;
  const isLegible = [cell, passes, steps, reach].every((one) => Number.isFinite(one));
  return isLegible ? { cell, passes, steps, reach } : undefined;
}
