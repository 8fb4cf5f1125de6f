/**
 * All judges on one history: what the processes wrote down, against what the storage has kept.
 *
 * If garbage was collected, the storage has not kept everything, and cannot be held against anybody:
 * only the judge of lists, which needs no records, has its say. The invariants and the audits, which are
 * not asked here, need none either.
 */
import {
  judgeListAppend,
  judgeNotifications,
  judgeSnapshotIsolation,
  listTransactions,
  type StoredHistory,
  toEdn,
  type Violation,
} from '#engine/testing';
import type { Plan } from './plan.ts';
import { LISTS, parseList, type RecordedTransaction } from '../invariants/index.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Cycles that snapshot isolation allows. */
  readonly writeSkews: number;
  /** The history of list-append in the form that Elle reads; absent if it was not run. */
  readonly edn?: string | undefined;
}

export function judge(
  { workloads, gc }: Pick<Plan, 'workloads' | 'gc'>,
  transactions: readonly RecordedTransaction[],
  stored: StoredHistory,
): Verdict {
  const history = { transactions, records: stored.records, markers: stored.markers };
  const observers = workloads.flatMap((workload) => workload.observers);
  const violations = gc
    ? []
    : [
        ...judgeSnapshotIsolation(history),
        ...judgeNotifications(history, { observers, left: stored.marks }),
      ];
  const lists = listTransactions(transactions, {
    isList: (cell) => cell.startsWith(`${LISTS}/`),
    elementsOf: parseList,
  });
  if (lists.length === 0) return { violations, writeSkews: 0 };
  const opinion = judgeListAppend(lists, { strict: true });
  return {
    violations: [...violations, ...opinion.violations],
    writeSkews: opinion.allowed.length,
    edn: toEdn(lists),
  };
}
