/** One system under one load: values derived from the measurement. */
import { whyNotKeptUp } from '../harness/load/kept-up.ts';
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

/**
 * Why the system did not keep up with the offered load; null if it did, and at full speed. Chance
 * decides which transaction comes next, and when an order completes, so the number of Trade-Results
 * varies like a Poisson count.
 */
export function saturation(result: RunResult): string | null {
  const { tradesPerSecond: offered, seconds } = result.offered;
  if (offered === null) return null;
  return whyNotKeptUp({
    offered: offered * seconds,
    completed: result.records.tradeResult.ended,
    unit: 'Trade-Results',
    backlog: {
      growth: result.backlogTo - result.backlogFrom,
      perSecond: CUSTOMER_TRANSACTIONS * offered,
      seconds,
    },
    isGivenUp: result.isOverrun,
  });
}

export function conflictsOf({ records }: RunResult): number {
  return Object.values(records).reduce((sum, { conflicts }) => sum + conflicts, 0);
}

function total(cpuSeconds: Readonly<Record<string, number>>): number {
  return Object.values(cpuSeconds).reduce((sum, seconds) => sum + seconds, 0);
}
