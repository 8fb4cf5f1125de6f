/** All judges on one simulated run. */
import { judgeListAppend } from '../judges/list-append.ts';
import { type ListCells, listTransactions } from '../judges/list-history.ts';
import { judgeNotifications } from '../judges/notifications.ts';
import { judgeSnapshotIsolation } from '../judges/snapshot-isolation.ts';
import { addressOf, type History, type Violation } from '../judges/history.ts';
import { isAcknowledgment } from '../../../engine/transaction/index.ts';
import { observersOf } from './observers.ts';
import { LISTS } from './plan.ts';
import type { Run } from './run.ts';
import { leftLocks, leftMarks } from './storage.ts';

export function judge(run: Run, clientHistory: History): readonly Violation[] {
  const { names, incarnations, tables } = run.world;
  markWeakRuns(run, clientHistory);
  const history = incarnations.named(clientHistory);
  const lists = new Set(LISTS.map((cell) => names.historic(cell)));
  const listCells: ListCells = {
    isList: (cell) => lists.has(cell),
    elementsOf: (value) => value.split(','),
  };
  run.world.umpire.judgeTraces(history, (table) => tables.has(table));
  return [
    ...run.world.umpire.violations,
    ...judgeSnapshotIsolation(history),
    ...judgeListAppend(listTransactions(clientHistory.transactions, listCells), { strict: true })
      .violations,
    ...judgeNotifications(history, {
      observers: incarnations.observed(observersOf(names)),
      left: leftMarks(run.world),
    }),
    ...judgeAnswers(run, history),
    ...leftLocks(run.world).map((lock) => ({
      claim: 'progress: lock left',
      message: `${lock} is locked although everything has been read`,
    })),
  ];
}

/** The answers of `outcomeOf` must be the actual outcomes of the transactions. */
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

/**
 * An observer's run does not know which kind of notification caused it. A run that acknowledged
 * nothing was caused by a weak one, or did not commit.
 */
function markWeakRuns({ transactions }: Run, { records }: History): void {
  const acknowledged = new Set(
    records
      .filter(({ cell }) => isAcknowledgment(addressOf(cell).column))
      .map((record) => record.startTimestamp),
  );
  for (const transaction of transactions) {
    if (transaction.run === undefined) continue;
    const weak = !acknowledged.has(transaction.startTimestamp);
    transaction.run = { ...transaction.run, weak };
  }
}
