/** A transaction while its history is being collected: what the judge takes, and may still change. */
import type { HistoricTransaction, HistoricValue } from '#engine/testing';
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
