/** One system under one load: values derived from the measurement. */
import { countInterval } from '#results';
import { CUSTOMER_TRANSACTIONS } from './driver/inputs/deck.ts';
import { TRANSACTIONS, type TransactionType } from './model/index.ts';
import type { RunResult } from './clients.ts';
import type { SystemName } from './plan.ts';

export interface Point {
  readonly system: SystemName;
  readonly result: RunResult;
}

/** The share of all transactions of the mix, in percent. */
export function mixShare(result: RunResult, type: TransactionType): number {
  return (100 * result.records[type].ended) / transactions(result);
}

/** Transactions of the mix, without those that run next to it. */
export function transactions({ records }: RunResult): number {
  return MIX.reduce((sum, type) => sum + records[type].ended, 0);
}

export const MIX: readonly TransactionType[] = (
  Object.keys(TRANSACTIONS) as TransactionType[]
).filter((type) => TRANSACTIONS[type].mixPercent > 0);

export function tradesPerSecond({ records, offered }: RunResult): number {
  return records.tradeResult.ended / offered.seconds;
}

/** Processor seconds per second, of all processes; null if those of a process are unknown. */
export function cores(result: RunResult): number | null {
  return result.cpuSeconds === null ? null : total(result.cpuSeconds) / result.offered.seconds;
}

/**
 * Processor seconds of all processes per Trade-Result, over all runs; null if those of a process
 * are unknown, or there is no Trade-Result.
 */
export function cpuPerTrade(runs: readonly RunResult[]): number | null {
  const trades = runs.reduce((sum, { records }) => sum + records.tradeResult.ended, 0);
  const used = runs.map(({ cpuSeconds }) => (cpuSeconds === null ? Number.NaN : total(cpuSeconds)));
  const perTrade = used.reduce((sum, seconds) => sum + seconds, 0) / trades;
  return Number.isFinite(perTrade) ? perTrade : null;
}

/** The Trade-Results that a paced load asks for; null at full speed. */
function tradesOffered({ offered }: RunResult): number | null {
  return offered.tradesPerSecond === null ? null : offered.tradesPerSecond * offered.seconds;
}

/**
 * Why the system did not keep up with the offered load; null if it did. Three things show it: the
 * run was given up, the backlog grew, or fewer Trade-Results were completed than chance explains.
 * Chance decides which transaction comes next, and when an order completes. So the number of
 * Trade-Results is taken to vary like a Poisson count: the system kept up if the offered number is
 * not above the upper end of the 99 % interval of the completed number.
 */
export function saturation(result: RunResult): string | null {
  const { offered, records, backlogFrom, backlogTo, isOverrun } = result;
  const asked = tradesOffered(result);
  if (offered.tradesPerSecond === null || asked === null) return null;
  if (isOverrun) return 'the backlog was so large that the run was given up';
  const perSecond = CUSTOMER_TRANSACTIONS * offered.tradesPerSecond;
  const growth = backlogTo - backlogFrom;
  // Short delays may leave that many at the end: 5 % of all, or those of the last second up to 200.
  const tooMuch = Math.max(0.05 * perSecond * offered.seconds, Math.min(perSecond, 200), 20);
  if (growth > tooMuch) return `${growth} more transactions were waiting at the end`;
  const { ended } = records.tradeResult;
  if (asked <= countInterval(ended).high) return null;
  return `only ${ended} of ${Number(asked.toPrecision(4))} Trade-Results`;
}

export function conflictsOf({ records }: RunResult): number {
  return Object.values(records).reduce((sum, { conflicts }) => sum + conflicts, 0);
}

function total(cpuSeconds: Readonly<Record<string, number>>): number {
  return Object.values(cpuSeconds).reduce((sum, seconds) => sum + seconds, 0);
}
