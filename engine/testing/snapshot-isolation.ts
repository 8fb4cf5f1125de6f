/**
 * An exact check of snapshot isolation, from the timestamps of a history:
 *
 *   1. Timestamps are unique, and every commit timestamp is above its start timestamp.
 *   2. Every read at S returned the newest version with a commit timestamp at or below S; also the reads of
 *      transactions that aborted: they too had a snapshot.
 *   3. Per cell, the intervals [S, C] of those who wrote or locked it are disjoint: of two that
 *      overlap, one must have lost.
 *
 * It believes the timestamps. Whether they are in real-time order is another question.
 */
import assert from 'node:assert/strict';
import type { Timestamp } from '../bigtable/index.ts';

export interface HistoricTransaction {
  readonly startTimestamp: Timestamp;
  /** Absent if it did not commit. */
  readonly commitTimestamp?: Timestamp | undefined;
  readonly reads: readonly { readonly cell: string; readonly value: string | undefined }[];
  /** Values by cell; undefined for a delete. */
  readonly writes: ReadonlyMap<string, string | undefined>;
  readonly locks: readonly string[];
}

interface Version extends HistoricTransaction {
  readonly commitTimestamp: Timestamp;
}

/** @throws an assertion error that names the two transactions, or the read, that contradict each other */
export function assertSnapshotIsolation(history: readonly HistoricTransaction[]): void {
  const committed = history.filter((one): one is Version => one.commitTimestamp !== undefined);
  assertTimestamps(history);
  const byCell = new Map<string, Version[]>();
  for (const version of committed.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp)) {
    for (const cell of new Set([...version.writes.keys(), ...version.locks])) {
      byCell.set(cell, [...(byCell.get(cell) ?? []), version]);
    }
  }
  for (const [cell, versions] of byCell) assertDisjoint(cell, versions);
  for (const transaction of history) {
    for (const { cell, value } of transaction.reads) {
      const visible = byCell
        .get(cell)
        ?.findLast(
          (one) => one.commitTimestamp <= transaction.startTimestamp && one.writes.has(cell),
        );
      assert.equal(value, visible?.writes.get(cell), `${cell} at ${transaction.startTimestamp}`);
    }
  }
}

function assertTimestamps(history: readonly HistoricTransaction[]): void {
  const all = history.flatMap(({ startTimestamp: start, commitTimestamp: commit }) => {
    assert.ok(commit === undefined || commit > start, `${start} committed at ${commit}`);
    return commit === undefined ? [start] : [start, commit];
  });
  assert.equal(new Set(all).size, all.length, 'no timestamp was handed out twice');
}

/** @param versions in the order of their commit timestamps */
function assertDisjoint(cell: string, versions: readonly Version[]): void {
  versions.forEach((version, i) => {
    const before = versions[i - 1];
    assert.ok(
      before === undefined || version.startTimestamp > before.commitTimestamp,
      `${cell}: written by [${before?.startTimestamp}, ${before?.commitTimestamp}] and ` +
        `[${version.startTimestamp}, ${version.commitTimestamp}]`,
    );
  });
}
