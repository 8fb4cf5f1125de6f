/**
 * Real time: whoever begins after somebody else has heard its outcome gets a larger start timestamp
 * than either timestamp of the other, and so sees what the other has committed.
 *
 * One sweep over beginnings and ends in the order in which they happened, which carries along the largest
 * timestamp heard of so far. What ends and begins at the same moment counts as concurrent.
 */
import type { HistoricTransaction } from '../history.ts';
import type { Findings } from './findings.ts';

export function judgeRealTime(
  transactions: readonly HistoricTransaction[],
  findings: Findings,
): void {
  const begun = transactions.toSorted((a, b) => a.beganAt - b.beganAt);
  const ended = transactions
    .filter(({ endedAt }) => endedAt !== undefined)
    .toSorted((a, b) => endOf(a) - endOf(b));
  let next = 0;
  let latest: HistoricTransaction | undefined; // Of those that have ended, the one with the largest timestamp.
  for (const transaction of begun) {
    for (let one = ended[next]; one !== undefined && endOf(one) < transaction.beganAt;) {
      if (latest === undefined || heard(one) > heard(latest)) latest = one;
      one = ended[++next];
    }
    if (latest === undefined || transaction.startTimestamp > heard(latest)) continue;
    findings.add(
      'real time',
      `${transaction.process} began at ${transaction.beganAt} and was given ${transaction.startTimestamp}, ` +
        `after ${latest.process} had heard at ${latest.endedAt} of ${heard(latest)}`,
    );
  }
}

function endOf({ endedAt }: HistoricTransaction): number {
  return endedAt ?? Number.POSITIVE_INFINITY;
}

/** The largest timestamp that its client knew of when it ended. */
function heard({ startTimestamp, commitTimestamp }: HistoricTransaction): number {
  return commitTimestamp ?? startTimestamp;
}
