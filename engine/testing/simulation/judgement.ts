/** All judges on one simulated run. */
import { judgeListAppend } from '../judges/list-append.ts';
import { type ListCells, listTransactions } from '../judges/list-history.ts';
import { judgeNotifications } from '../judges/notifications.ts';
import { judgeSnapshotIsolation } from '../judges/snapshot-isolation.ts';
import type { History, Violation } from '../history.ts';
import { OBSERVERS } from './observers.ts';
import type { Run } from './run.ts';
import { leftLocks, leftMarks } from './storage.ts';

/** The cells that hold lists. */
const LISTS: ListCells = {
  isList: (cell) => cell.endsWith(':list'),
  elementsOf: (value) => value.split(','),
};

export function judge(run: Run, history: History): readonly Violation[] {
  markWeakRuns(run, history);
  run.world.umpire.judgeTraces(history);
  return [
    ...run.world.umpire.violations,
    ...judgeSnapshotIsolation(history),
    ...judgeListAppend(listTransactions(history.transactions, LISTS), { strict: true }).violations,
    ...judgeNotifications(history, { observers: OBSERVERS, left: leftMarks(run.world) }),
    ...judgeAnswers(run, history),
    ...leftLocks(run.world).map((lock) => ({
      claim: 'progress: lock left',
      message: `${lock} is locked although everything has been read`,
    })),
  ];
}

/** What `outcomeOf` answered must be what became of the transaction. */
function judgeAnswers({ answers }: Run, { records }: History): readonly Violation[] {
  if (answers.length === 0) return [];
  const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
  return answers
    .filter(
      ({ startTimestamp, outcome }) => (outcome === 'committed') !== committed.has(startTimestamp),
    )
    .map(({ startTimestamp, outcome }) => ({
      claim: 'outcome: wrong answer',
      message: `outcomeOf said that the transaction of ${startTimestamp} was ${outcome}`,
    }));
}

/** A run does not know what caused it; one that acknowledged nothing must have been a weak one. */
function markWeakRuns({ transactions }: Run, { records }: History): void {
  const acknowledged = new Set(
    records.filter(({ cell }) => cell.includes(':ack_')).map((record) => record.startTimestamp),
  );
  for (const transaction of transactions) {
    if (transaction.run === undefined) continue;
    const weak = !acknowledged.has(transaction.startTimestamp);
    transaction.run = { ...transaction.run, weak };
  }
}
