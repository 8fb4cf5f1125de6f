/**
 * Histories of list append, as Jepsen's Elle has them: transactions that append to lists and read
 * them. No element is appended to a list twice, so a list that was read says which appends came
 * before, and in which order; there are no timestamps.
 */
import type { HistoricCell, HistoricTransaction, HistoricValue } from './history.ts';
import type { Edge } from './cycles.ts';

export type Element = string | number;

export interface ListOperation {
  readonly kind: 'append' | 'read';
  readonly key: string;
  /**
   * One or more appended elements; or the whole list that was read, including the transaction's own
   * appends.
   */
  readonly elements: readonly Element[];
}

export interface ListTransaction {
  /** Its name in messages. */
  readonly name: string;
  readonly process: string;
  /** ok: committed. fail: certainly not. info: unknown. */
  readonly outcome: 'ok' | 'fail' | 'info';
  /** On one clock; a beginning and an end at the same moment are concurrent. */
  readonly beganAt: number;
  /** Absent if the client never heard the outcome. */
  readonly endedAt?: number | undefined;
  /** In the order of execution. */
  readonly operations: readonly ListOperation[];
}

/** The proof of a finding, for callers that tell it as a story. */
export interface ListProof {
  /** The indices of its transactions. */
  readonly transactions: readonly number[];
  readonly key?: string | undefined;
  readonly element?: Element | undefined;
  /** A cycle: each edge begins where the previous one ended, the first where the last one ends. */
  readonly edges?: readonly ListEdge[] | undefined;
}

/** Real-time edges from and to moments have no key. */
export interface ListEdge extends Edge {
  readonly key?: string | undefined;
  /** The written element: written by `from` for ww and wr, by `to` for rw. */
  readonly element?: Element | undefined;
}

export interface ListCells {
  isList(cell: HistoricCell): boolean;
  /** The elements of a list's value. */
  elementsOf(value: string): readonly Element[];
}

/**
 * The part of a history that concerns lists: cells whose transactions read the whole value and
 * write it back with more at its end. Transactions without a list are left out, and so are
 * snapshots of the past, because a judge without timestamps would call them stale.
 */
export function listTransactions(
  transactions: readonly HistoricTransaction[],
  cells: ListCells,
): readonly ListTransaction[] {
  return transactions
    .filter(({ past }) => past !== true)
    .map((transaction) => {
      const { process, startTimestamp, beganAt, endedAt } = transaction;
      const operations = operationsOf(transaction, cells);
      const outcome = OUTCOMES[transaction.outcome];
      return { name: `${startTimestamp}`, process, outcome, beganAt, endedAt, operations };
    })
    .filter(({ operations }) => operations.length > 0);
}

const OUTCOMES = { committed: 'ok', failed: 'fail', unknown: 'info' } as const;

/** Reads come first: those of a historic transaction are of its snapshot. */
function operationsOf(
  { reads, writes }: HistoricTransaction,
  cells: ListCells,
): readonly ListOperation[] {
  const listOf = ({ value }: HistoricValue): readonly Element[] =>
    value === undefined ? [] : cells.elementsOf(value);
  const operations: ListOperation[] = [];
  const lengths = new Map<string, number>();
  for (const read of reads) {
    if (!cells.isList(read.cell)) continue;
    const elements = listOf(read);
    operations.push({ kind: 'read', key: read.cell, elements });
    lengths.set(read.cell, elements.length);
  }
  for (const write of writes) {
    if (!cells.isList(write.cell)) continue;
    const elements = listOf(write).slice(lengths.get(write.cell) ?? 0);
    if (elements.length > 0) operations.push({ kind: 'append', key: write.cell, elements });
  }
  return operations;
}
