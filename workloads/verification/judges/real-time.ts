/**
 * Real time: a transaction that begins after the client of another heard its outcome has a larger
 * start timestamp than both timestamps of the other, and so sees what the other committed.
 *
 * One sweep over beginnings and ends in the order of their moments, which carries along the largest
 * timestamp heard of so far. A beginning and an end at the same moment count as concurrent.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { HistoricTransaction } from './history.ts';
import type { Fate } from './fates.ts';
import type { Findings } from './findings.ts';

export function judgeRealTime(
  transactions: readonly HistoricTransaction[],
  fates: ReadonlyMap<Timestamp, Fate>,
  findings: Findings<{ readonly transactions: readonly Timestamp[] }>,
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
