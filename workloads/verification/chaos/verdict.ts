/**
 * All judges on one history: compares the records of the processes with what the storage has kept,
 * and what collectors erased from it.
 */
import {
  judgeListAppend,
  judgeNotifications,
  judgeSnapshotIsolation,
  listTransactions,
  type StoredHistory,
  toEdn,
  type Violation,
} from '../judges/index.ts';
import { LISTS, parseList, type Workload } from '../invariants/index.ts';
import type { RecordedHistory } from './history-file.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Cycles that snapshot isolation allows. */
  readonly writeSkews: number;
  /** The history of list-append in the form that Elle reads; absent if the workload was not run. */
  readonly edn?: string | undefined;
}

export function judge(
  workloads: readonly Workload[],
  { transactions, collected }: Pick<RecordedHistory, 'transactions' | 'collected'>,
  stored: StoredHistory,
): Verdict {
  const records = [...stored.records, ...collected.records];
  const markers = [...stored.markers, ...collected.markers];
  const history = { transactions, records, markers };
  const observers = workloads.flatMap((workload) => workload.observers);
  const violations = [
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
