/** A transaction while its history is being collected: input of the judge that may still change. */
import type { HistoricTransaction, HistoricValue } from '../../../verification/judges/index.ts';
import type { Cell } from './cells.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A transaction whose timestamps are not yet positions. */
export interface Draft extends Writable<Omit<HistoricTransaction, 'reads' | 'writes' | 'locks'>> {
  reads: HistoricValue[];
  writes: Writable<HistoricValue>[];
  locks: Cell[];
}

/** A contradiction within a single transaction. */
export interface OwnContradiction {
  readonly claim: 'own write not read' | 'row returned twice';
  /** The index of the transaction. */
  readonly transaction: number;
  readonly cell: Cell;
  /** What the transaction read; `OWN` if the history tells only that it was a write of its own. */
  readonly value: string | undefined;
  /** The transaction's last write to the key before the read; undefined if there was none. */
  readonly before: HistoricValue | undefined;
}

/** The version by which a history says that a transaction read its own write. */
export const OWN = 'vown';

export function isWriter({ writes, locks }: Draft): boolean {
  return writes.length + locks.length > 0;
}

/** The cells that the transaction locked and did not write, each once. */
export function locksOnly({ writes, locks }: Draft): readonly Cell[] {
  if (locks.length === 0) return locks;
  return [...new Set(locks)].filter((cell) => !writes.some((write) => write.cell === cell));
}
