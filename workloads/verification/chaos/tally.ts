/** The outcomes of the transactions of each workload, as counts. Small, unlike a history. */
import type { HistoricRecord } from '../judges/index.ts';
import type { RecordedTransaction } from '../invariants/index.ts';

export interface Tally {
  /** All that are no runs of observers, reads of the past included. */
  transactions: number;
  committed: number;
  /** The transaction lost a conflict, was rolled back, or waited too long. */
  failed: number;
  /** The client heard no outcome, mostly because its process was killed first. */
  unknown: number;
  /** Unknown transactions that committed, according to the storage. */
  unknownCommitted: number;
  /** Runs of observers whose commit was reported. */
  runs: number;
  /** Runs that lost or were cut off; which of the two was not reported. */
  runsUnknown: number;
}

/** Tallies by workload. */
export type Tallies = ReadonlyMap<string, Tally>;

export function tallyTransactions(
  names: readonly string[],
  transactions: readonly RecordedTransaction[],
  records: readonly HistoricRecord[],
): Tallies {
  const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
  const tallies = new Map(names.map((name) => [name, nothing()]));
  for (const { workload, outcome, run, startTimestamp } of transactions) {
    const tally = tallies.get(workload);
    if (tally === undefined) continue;
    if (run !== undefined) {
      tally[outcome === 'committed' ? 'runs' : 'runsUnknown']++;
      continue;
    }
    tally.transactions++;
    tally[outcome]++;
    if (outcome === 'unknown' && committed.has(startTimestamp)) tally.unknownCommitted++;
  }
  return tallies;
}

export function addTallies(all: readonly Tallies[]): Tallies {
  const sums = new Map<string, Tally>();
  for (const [name, tally] of all.flatMap((tallies) => [...tallies])) {
    const sum = sums.get(name) ?? nothing();
    for (const key of Object.keys(tally) as (keyof Tally)[]) sum[key] += tally[key];
    sums.set(name, sum);
  }
  return sums;
}

function nothing(): Tally {
  return {
    transactions: 0,
    committed: 0,
    failed: 0,
    unknown: 0,
    unknownCommitted: 0,
    runs: 0,
    runsUnknown: 0,
  };
}
