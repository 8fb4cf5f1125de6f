/**
 * A transaction while its history is being collected: what the judge takes, and may still change.
 */
import type { HistoricTransaction, HistoricValue } from '../../../verification/judges/index.ts';
import type { Cell } from './cells.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A transaction whose timestamps are still to become positions. */
export interface Draft extends Writable<Omit<HistoricTransaction, 'reads' | 'writes' | 'locks'>> {
  reads: HistoricValue[];
  writes: Writable<HistoricValue>[];
  locks: Cell[];
}

/** What a transaction contradicts all alone. */
export interface OwnContradiction {
  readonly claim: 'own write not read' | 'row returned twice';
  /** The index of the transaction. */
  readonly transaction: number;
  readonly cell: Cell;
  readonly value: string | undefined;
}

export function isWriter({ writes, locks }: Draft): boolean {
  return writes.length + locks.length > 0;
}

/** The cells that it locked and did not write, each once. */
export function locksOnly({ writes, locks }: Draft): readonly Cell[] {
  if (locks.length === 0) return locks;
  return [...new Set(locks)].filter((cell) => !writes.some((write) => write.cell === cell));
}
