/**
 * The outcome of each transaction according to the storage: a transaction with a write record is
 * committed, at the timestamp of that record, whatever its client was told.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { History, HistoricMarker, HistoricTransaction } from './history.ts';
import type { Findings } from './findings.ts';

export interface Fate {
  readonly transaction: HistoricTransaction;
  /** From its write records; undefined if it has none. */
  commitTimestamp: Timestamp | undefined;
  /** One of its rollback markers, if it has any. */
  marker: HistoricMarker | undefined;
}

/** The fates by start timestamp. Also reports contradictions that show here. */
export function fatesOf(history: History, findings: Findings): Map<Timestamp, Fate> {
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
    fates.set(startTimestamp, { transaction, commitTimestamp: undefined, marker: undefined });
  }
  addRecords(fates, history, findings);
  for (const marker of history.markers) {
    const fate = fates.get(marker.startTimestamp);
    if (fate !== undefined) fate.marker = marker;
  }
  return fates;
}

function addRecords(fates: Map<Timestamp, Fate>, { records }: History, findings: Findings): void {
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
