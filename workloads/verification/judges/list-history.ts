/**
 * Histories of list append, as Jepsen's Elle has them: transactions that append to lists and read
 * them. No element is appended to a list twice, so a list that was read says which appends came
 * before, and in which order; there are no timestamps.
 */
import type { Edge } from './cycles.ts';
import type { HistoricCell, HistoricTransaction, HistoricValue } from './history.ts';

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

/*
 * Histories of list append in the form that Jepsen's Elle reads: EDN, one operation per line (shown
 * here on two lines each). So Elle can be a third judge of a history, next to our two; it needs
 * only Java.
 *
 *     {:index 0, :type :invoke, :process 0, :time 1000000, :f :txn,
 *      :value [[:r "t/1:list" nil] [:append "t/1:list" 7]]}
 *     {:index 1, :type :ok, :process 0, :time 3000000, :f :txn,
 *      :value [[:r "t/1:list" [5 6]] [:append "t/1:list" 7]]}
 *
 * An invocation has nil in place of each list that it will read; failed and unknown transactions
 * keep the nil. In Jepsen a process does one thing at a time, and a process that lost an answer
 * does nothing more. So the processes here are not those of the history but numbers, each free
 * again when its transaction has ended. Elle takes the transactions of one process as ordered; here
 * they are also ordered in real time, and Percolator keeps real-time order.
 *
 * Times are in nanoseconds, for a history whose clock counts milliseconds.
 */

export function toEdn(transactions: readonly ListTransaction[]): string {
  const processes = new Processes();
  const lines = eventsOf(transactions).map(({ type, at, transaction }, index) => {
    const process = type === 'invoke' ? processes.begin(transaction) : processes.end(transaction);
    const value = transaction.operations.flatMap((one) => microOperations(one, type === 'ok'));
    return (
      `{:index ${index}, :type :${type}, :process ${process}, :time ${Math.round(at * 1e6)}, ` +
      `:f :txn, :value [${value.join(' ')}]}\n`
    );
  });
  return lines.join('');
}

interface Event {
  readonly type: 'invoke' | ListTransaction['outcome'];
  readonly at: number;
  readonly transaction: ListTransaction;
}

/**
 * In the order of time. At one moment beginnings come first: transactions are concurrent unless one
 * is certainly earlier. Transactions with an unknown outcome end last: they may have committed
 * after everything else.
 */
function eventsOf(transactions: readonly ListTransaction[]): readonly Event[] {
  let last = 0;
  for (const { beganAt, endedAt = 0 } of transactions) last = Math.max(last, beganAt, endedAt);
  const unknown = transactions.filter(({ outcome }) => outcome === 'info');
  const known = transactions.filter(({ outcome }) => outcome !== 'info');
  const events: readonly Event[] = [
    ...transactions.map((one) => ({ type: 'invoke', at: one.beganAt, transaction: one }) as const),
    ...known.map((one) => ({ type: one.outcome, at: one.endedAt ?? last, transaction: one })),
    ...unknown.map((one) => ({ type: one.outcome, at: last, transaction: one })),
  ];
  return events.toSorted((a, b) => a.at - b.at); // Events of one moment keep their order.
}

class Processes {
  readonly #busy = new Map<ListTransaction, number>();
  /** Processes that may run another transaction. */
  readonly #free: number[] = [];
  #count = 0;

  begin(transaction: ListTransaction): number {
    const process = this.#free.pop() ?? this.#count++;
    this.#busy.set(transaction, process);
    return process;
  }

  end(transaction: ListTransaction): number {
    const process = this.#busy.get(transaction) ?? 0;
    // Also if the outcome is unknown: such an end comes after every beginning.
    this.#free.push(process);
    return process;
  }
}

/** Elle appends one element at a time. */
function microOperations(
  { kind, key, elements }: ListOperation,
  isKnown: boolean,
): readonly string[] {
  if (kind === 'append') return elements.map((one) => `[:append ${edn(key)} ${edn(one)}]`);
  return [`[:r ${edn(key)} ${isKnown ? `[${elements.map(edn).join(' ')}]` : 'nil'}]`];
}

/** Strings and finite numbers are written as in JSON. */
function edn(value: Element): string {
  return JSON.stringify(value);
}
