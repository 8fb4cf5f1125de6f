/**
 * Converts scans to reads. The rows that a scan returned are reads of those keys; every other key
 * of its range that occurs anywhere in the history is a read as absent. So the judge of reads finds
 * rows that a scan has missed (phantoms), without knowing scans.
 */
import type { Cell, Cells, KeyRange } from './cells.ts';
import type { Draft, OwnContradiction } from './draft.ts';

export interface PendingScan {
  /** The index of its transaction. */
  readonly transaction: number;
  readonly range: KeyRange;
  readonly returned: ReadonlySet<Cell>;
  /** Writes of the transaction before the scan. */
  readonly own: ReadonlyMap<Cell, string | undefined>;
}

/**
 * Adds the reads of the keys that the scans did not return.
 * @returns own writes that they should have returned
 */
export function addMissed(
  scans: readonly PendingScan[],
  drafts: readonly Draft[],
  cells: Cells,
): readonly OwnContradiction[] {
  const contradictions: OwnContradiction[] = [];
  for (const { transaction, range, returned, own } of scans) {
    for (const cell of cells.between(range)) {
      if (returned.has(cell)) continue;
      if (!own.has(cell)) {
        drafts[transaction]?.reads.push({ cell, value: undefined });
      } else if (own.get(cell) !== undefined) {
        const claim = 'own write not read';
        const before = { cell, value: own.get(cell) };
        contradictions.push({ claim, transaction, cell, value: undefined, before });
      }
    }
  }
  return contradictions;
}
