/**
 * An exact judge of snapshot isolation, from the timestamps of a history. It claims:
 *
 *   1. No timestamp was handed out twice, and every commit timestamp is above its start timestamp.
 *   2. All or nothing: a committed transaction has a write record in every cell it wrote or locked,
 *      all at one commit timestamp, and in no other cell; it has no rollback record. Every record
 *      belongs to a transaction that some client began.
 *   3. A transaction reported as committed is committed, at the timestamp reported; one reported as
 *      failed is not.
 *   4. Per cell, the intervals [S, C] of the transactions that wrote or locked it are disjoint: of
 *      two that overlap, one must fail. Those that share a lock of it are disjoint from these, and
 *      may overlap one another (P90, P91).
 *   5. Every read at S returned the newest version with a commit timestamp at or below S. This
 *      includes reads of transactions that failed, because they too had a snapshot. Cells that a
 *      scan did not return were read as absent (versions.ts).
 *   6. Timestamps are in real-time order.
 *
 * The storage's records say which transactions committed, and when; only 3 and 6 use the
 * outcomes reported to clients. Records count once they are there, so locks must have been resolved
 * before the history is judged. Values are compared, not versions: a run whose values are all
 * different leaves no wrong read unseen. The judge believes the timestamps; list-append.ts does
 * not.
 *
 * O(n log n) for n reads and writes; some 3 microseconds for a transaction of four reads and three
 * writes. Each scan looks at all cells of its table in addition.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { protectedBy } from '../../../engine/transaction/index.ts';
import {
  JudgeFindings,
  type HistoricCell,
  type HistoricRecord,
  type HistoricRollback,
  type HistoricTransaction,
  type HistoricValue,
  type History,
  type Violation,
} from './history.ts';
import {
  acknowledgmentOf,
  type CellVersions,
  interval,
  isSharedLockCell,
  newestAt,
  sharedLockCell,
  withColumn,
  Scans,
  type CellVersion,
  versionsByCell,
} from './versions.ts';

type RecordOperation = HistoricRecord['operation'];
type VersionsByCell = ReadonlyMap<HistoricCell, CellVersions>;

/** The proof of a contradiction, for callers that tell it as a story. */
export interface TimestampProof {
  /**
   * By start timestamp: the reader; or the writers, the one that committed first before the other;
   * or, for real time, the transaction that had ended, and the one that began after that.
   */
  readonly transactions: readonly Timestamp[];
  readonly cell?: HistoricCell | undefined;
  /** The value that was read; absent if there was none, or if no read is part of the proof. */
  readonly value?: string | undefined;
}

/** @param findings collects the findings, with their proofs; by default the first few are kept */
export function judgeSnapshotIsolation(
  history: History,
  findings: JudgeFindings<TimestampProof> = new JudgeFindings('snapshot isolation'),
): readonly Violation[] {
  const fates = fatesOf(history, findings);
  const cells = versionsByCell(history.records);
  for (const fate of fates.values()) {
    judgeReport(fate, findings);
    if (fate.commitTimestamp !== undefined) {
      judgeCommitted(fate.transaction, fate.commitTimestamp, cells, findings);
      judgeRollback(fate, findings);
    }
  }
  for (const [cell, { all }] of cells) judgeVersions(cell, all, { fates, findings });
  judgeSharedLocks(cells, findings);
  const scans = new Scans(cells);
  for (const transaction of history.transactions) {
    const { startTimestamp, reads } = transaction;
    for (const read of reads) judgeRead(read, startTimestamp, cells.get(read.cell), findings);
    for (const { cell, versions } of scans.missedBy(transaction)) {
      judgeRead({ cell }, startTimestamp, versions, findings);
    }
  }
  judgeRealTime(history.transactions, fates, findings);
  return findings.violations;
}

/** Compares the report to the client with the storage. */
function judgeReport({ transaction, commitTimestamp }: Fate, findings: JudgeFindings): void {
  const { startTimestamp, outcome, commitTimestamp: reported } = transaction;
  const told = `the transaction of ${startTimestamp} was reported ${outcome}`;
  if (outcome === 'failed' && commitTimestamp !== undefined) {
    findings.add('failed yet visible', `${told}; it is there, committed at ${commitTimestamp}`);
  }
  if (outcome !== 'committed') return;
  const wroteNothing = transaction.writes.length + transaction.locks.length === 0;
  // `transact` does not report the commit timestamp.
  const isThere = commitTimestamp !== undefined || wroteNothing;
  if (reported === undefined ? isThere : reported === commitTimestamp) return;
  if (commitTimestamp !== undefined) {
    const when = `at ${reported}; it is there, committed at ${commitTimestamp}`;
    findings.add('wrong commit timestamp', `${told} ${when}`);
  } else {
    const when = reported === undefined ? '' : ` at ${reported}`;
    findings.add('lost commit', `${told}${when}; nothing of it is there`);
  }
}

/**
 * Finds the record of each cell that the transaction wrote or locked, and notes the written value
 * there.
 */
function judgeCommitted(
  transaction: HistoricTransaction,
  commitTimestamp: Timestamp,
  cells: VersionsByCell,
  findings: JudgeFindings,
): void {
  const { startTimestamp, writes, locks, shared = [] } = transaction;
  const claim = (cell: HistoricCell, operation: RecordOperation, value?: string): void => {
    const version = cells.get(cell)?.find(startTimestamp, commitTimestamp);
    if (version === undefined) {
      const who = `the transaction of ${startTimestamp} is committed at ${commitTimestamp}`;
      findings.add('half committed', `${who}, and has no write record in ${cell}`);
      return;
    }
    if (version.isClaimed) return; // Locked and then written, or an acknowledgment that is listed.
    version.isClaimed = true;
    version.value = value;
    if (version.record.operation === operation) return;
    const what = `${interval(version)} says ${version.record.operation}; it was a ${operation}`;
    findings.add('record of another write', `the write record in ${cell} of ${what}`);
  };
  const acknowledgment = acknowledgmentOf(transaction);
  if (acknowledgment !== undefined) claim(acknowledgment, 'put');
  for (const { cell, value } of writes) {
    claim(cell, value === undefined ? 'delete' : 'put', value);
  }
  for (const cell of locks) claim(cell, 'touch');
  for (const cell of shared) claim(sharedLockCell(cell), 'put');
}

function judgeRollback(
  { transaction, commitTimestamp, rollback }: Fate,
  findings: JudgeFindings,
): void {
  if (rollback === undefined) return;
  const who = `the transaction of ${transaction.startTimestamp}`;
  const message = `${who} is committed at ${commitTimestamp} and has a rollback record in ${rollback.cell}`;
  findings.add('committed and rolled back', message);
}

/** @param versions of one cell, in the order of their commit timestamps */
function judgeVersions(
  cell: HistoricCell,
  versions: readonly CellVersion[],
  {
    fates,
    findings,
  }: {
    readonly fates: ReadonlyMap<Timestamp, Fate>;
    readonly findings: JudgeFindings<TimestampProof>;
  },
): void {
  const isShared = isSharedLockCell(cell);
  let before: CellVersion | undefined;
  for (const version of versions) {
    const { startTimestamp, commitTimestamp } = version.record;
    if (commitTimestamp <= startTimestamp) {
      const transactions = [startTimestamp];
      const message = `${cell} was written by ${interval(version)}`;
      findings.add('commit before its start', message, { transactions, cell });
    }
    const overlaps = before !== undefined && startTimestamp <= before.record.commitTimestamp;
    if (before !== undefined && overlaps && !isShared) {
      const writers = `${interval(before)} and by ${interval(version)}`;
      const transactions = [before.record.startTimestamp, startTimestamp];
      const message = `${cell} was written or locked by ${writers}`;
      findings.add('overlapping writers', message, { transactions, cell });
    }
    // Records with a second commit timestamp, or without a transaction, have been reported as such.
    if (!version.isClaimed && fates.get(startTimestamp)?.commitTimestamp === commitTimestamp) {
      const what = `${cell} has a write record of ${interval(version)}, which did not write it`;
      findings.add('record of another write', what);
    }
    before = version;
  }
}

/** No transaction that shared a lock overlaps one that wrote the cell, or locked it alone. */
function judgeSharedLocks(cells: VersionsByCell, findings: JudgeFindings<TimestampProof>): void {
  for (const [shared, { all }] of cells) {
    if (!isSharedLockCell(shared)) continue;
    const cell = withColumn(shared, protectedBy);
    const writers = cells.get(cell)?.all ?? [];
    for (const lock of all) {
      const writer = overlapping(writers, lock);
      if (writer === undefined) continue;
      const transactions = [lock.record.startTimestamp, writer.record.startTimestamp];
      const message = `${cell} was written or locked by ${interval(writer)}, while ${interval(lock)} shared its lock`;
      findings.add('overlapping writers', message, { transactions, cell });
    }
  }
}

/** @param writers in the order of their commit timestamps, and disjoint, or that was reported */
function overlapping(
  writers: readonly CellVersion[],
  { record: { startTimestamp, commitTimestamp } }: CellVersion,
): CellVersion | undefined {
  const before = newestAt(writers, commitTimestamp);
  return [writers[before], writers[before + 1]].find(
    (writer) =>
      writer !== undefined &&
      writer.record.startTimestamp !== startTimestamp &&
      writer.record.startTimestamp <= commitTimestamp &&
      writer.record.commitTimestamp >= startTimestamp,
  );
}

function judgeRead(
  { cell, value }: HistoricValue,
  startTimestamp: Timestamp,
  versions: CellVersions | undefined,
  findings: JudgeFindings<TimestampProof>,
): void {
  const changes = versions?.changes ?? [];
  const index = newestAt(changes, startTimestamp);
  const visible = changes[index];
  if (visible?.value === value) return;
  const should = visible === undefined ? '' : `, committed by ${interval(visible)}`;
  findings.add(
    kindOfRead(value, versions, index),
    `${cell} at ${startTimestamp} was read as ${quoted(value)}; it was ${quoted(visible?.value)}${should}`,
    { transactions: [startTimestamp], cell, value },
  );
}

/** Classifies a value that was read in place of the version at `index`. */
function kindOfRead(
  value: string | undefined,
  versions: CellVersions | undefined,
  index: number,
): string {
  if (value === undefined) return 'stale read'; // Before the first write there was nothing.
  const position = versions?.positionOf(value);
  if (position === undefined) return 'read of an uncommitted value';
  return position > index ? 'read of the future' : 'stale read';
}

function quoted(value: string | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

/*
 * The outcome of each transaction according to the storage: a transaction with a write record is
 * committed, at the timestamp of that record, whatever its client was told.
 */

interface Fate {
  readonly transaction: HistoricTransaction;
  /** From its write records; undefined if it has none. */
  commitTimestamp: Timestamp | undefined;
  /** One of its rollback records, if it has any. */
  rollback: HistoricRollback | undefined;
}

/** The fates by start timestamp. Also reports contradictions that show here. */
function fatesOf(history: History, findings: JudgeFindings): Map<Timestamp, Fate> {
  const fates = new Map<Timestamp, Fate>();
  for (const transaction of history.transactions) {
    const { startTimestamp, process, past } = transaction;
    // It wrote nothing, and its timestamp may belong to another transaction.
    if (past === true) continue;
    if (fates.has(startTimestamp)) {
      const other = fates.get(startTimestamp)?.transaction.process;
      const whose = `${startTimestamp} is the start timestamp of ${other} and of ${process}`;
      findings.add('timestamp handed out twice', whose);
    }
    fates.set(startTimestamp, { transaction, commitTimestamp: undefined, rollback: undefined });
  }
  addRecords(fates, history, findings);
  for (const rollback of history.rollbacks) {
    if (isSharedLockCell(rollback.cell)) continue; // A commit leaves one there, too (P14).
    const fate = fates.get(rollback.startTimestamp);
    if (fate !== undefined) fate.rollback = rollback;
  }
  return fates;
}

function addRecords(
  fates: Map<Timestamp, Fate>,
  { records }: History,
  findings: JudgeFindings,
): void {
  const startOf = new Map<Timestamp, Timestamp>(); // By commit timestamp.
  for (const { cell, startTimestamp, commitTimestamp } of records) {
    const fate = fates.get(startTimestamp);
    if (fate === undefined) {
      const what = `${cell} has a write record at ${commitTimestamp} of a transaction that began at`;
      findings.add('dangling record', `${what} ${startTimestamp}, and no transaction did`);
      continue;
    }
    if (fate.commitTimestamp === commitTimestamp) continue;
    if (fate.commitTimestamp !== undefined) {
      const when = `at ${fate.commitTimestamp}, and in ${cell} at ${commitTimestamp}`;
      findings.add('half committed', `the transaction of ${startTimestamp} is committed ${when}`);
      continue;
    }
    fate.commitTimestamp = commitTimestamp;
    if (startOf.has(commitTimestamp) || fates.has(commitTimestamp)) {
      const also = startOf.get(commitTimestamp) ?? commitTimestamp;
      const whose = `the transactions of ${also} and of ${startTimestamp} both have ${commitTimestamp}`;
      findings.add('timestamp handed out twice', whose);
    }
    startOf.set(commitTimestamp, startTimestamp);
  }
}

/*
 * Real time: a transaction that begins after the client of another heard its outcome has a larger
 * start timestamp than both timestamps of the other, and so sees what the other committed.
 *
 * One sweep over beginnings and ends in the order of their moments, which carries along the largest
 * timestamp heard of so far. A beginning and an end at the same moment count as concurrent.
 */

function judgeRealTime(
  transactions: readonly HistoricTransaction[],
  fates: ReadonlyMap<Timestamp, Fate>,
  findings: JudgeFindings<{ readonly transactions: readonly Timestamp[] }>,
): void {
  const begun = transactions
    .filter(({ past }) => past !== true)
    .toSorted((a, b) => a.beganAt - b.beganAt);
  const ended = transactions
    .filter(({ endedAt, past }) => endedAt !== undefined && past !== true)
    .toSorted((a, b) => endOf(a) - endOf(b));
  let next = 0;
  let largest = 0; // The largest timestamp of the transactions that have ended.
  let whose: HistoricTransaction | undefined;
  for (const transaction of begun) {
    for (let one = ended[next]; one !== undefined && endOf(one) < transaction.beganAt;) {
      const timestamp = largestOf(one, fates);
      if (timestamp > largest) whose = one;
      largest = Math.max(largest, timestamp);
      one = ended[++next];
    }
    if (whose === undefined || transaction.startTimestamp > largest) continue;
    findings.add(
      'real time',
      `${transaction.process} began at ${transaction.beganAt} and was given ${transaction.startTimestamp}, ` +
        `after ${whose.process} had ended at ${whose.endedAt} with ${largest}`,
      { transactions: [whose.startTimestamp, transaction.startTimestamp] },
    );
  }
}

function endOf({ endedAt }: HistoricTransaction): number {
  return endedAt ?? Number.POSITIVE_INFINITY;
}

/** The largest timestamp that the transaction had when its client heard the outcome. */
function largestOf(
  { startTimestamp, commitTimestamp, outcome }: HistoricTransaction,
  fates: ReadonlyMap<Timestamp, Fate>,
): Timestamp {
  if (outcome !== 'committed') return startTimestamp;
  const found = fates.get(startTimestamp)?.commitTimestamp ?? startTimestamp;
  return Math.max(startTimestamp, found, commitTimestamp ?? 0);
}
