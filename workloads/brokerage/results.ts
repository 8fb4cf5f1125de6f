/**
 * What a run of the benchmark has measured so far, and values derived from a measurement: the
 * findings are made from both.
 */
import { sum } from 'simple-statistics';
import { whyNotKeptUp } from '../harness/load/kept-up.ts';
import type { RunResult } from './clients.ts';
import { CUSTOMER_TRANSACTIONS } from './driver/deck.ts';
import type { BrokerUpdate } from './model/trading-rules.ts';
import type { SystemName } from './plan.ts';
import { TRANSACTIONS, type TransactionType } from './transactions/index.ts';

/** Filled during the run. */
export interface Figure9Results {
  /** What a commit survives, for each system that was measured. */
  readonly durability: Map<SystemName, string>;
  readonly unpaced: SystemRun[];
  readonly ladder: SystemRun[];
  readonly reads: ReadsVariant[];
  readonly brokers: BrokerMode[];
  /** What the checks found wrong, each with its system. */
  readonly wrong: string[];
  /** Systems that have been checked. */
  readonly checked: string[];
  /** Sentences about systems that are missing. */
  readonly missing: string[];
  /** Set when the last check is done. */
  isComplete: boolean;
}

/** The variants of `ReadsVariant`: what of section 2.5 is switched on. */
export const VARIANT = {
  off: 'everything off',
  prefetching: 'prefetching',
  batching: 'batching',
  both: 'both',
} as const;

/** A measurement with some of section 2.5 (batching, prefetching) switched on. */
export interface ReadsVariant {
  readonly name: string;
  readonly result: RunResult;
}

export interface BrokerMode {
  readonly mode: BrokerUpdate;
  readonly result: RunResult;
}

export function noResults(): Figure9Results {
  return {
    durability: new Map(),
    unpaced: [],
    ladder: [],
    reads: [],
    brokers: [],
    wrong: [],
    checked: [],
    missing: [],
    isComplete: false,
  };
}

/** Whether everything was measured, checked and found right: only then are there numbers. */
export function isCorrect({ wrong, isComplete }: Figure9Results): boolean {
  return isComplete && wrong.length === 0;
}

/** One system under one load; the functions below derive values from the measurement. */
export interface SystemRun {
  readonly system: SystemName;
  readonly result: RunResult;
}

/** The share of all transactions of the mix, in percent. */
export function mixShare(result: RunResult, type: TransactionType): number {
  return (100 * result.records[type].ended) / transactions(result);
}

/** Transactions of the mix, without those that run next to it. */
export function transactions({ records }: RunResult): number {
  return sum(MIX.map((type) => records[type].ended));
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
  const trades = sum(runs.map(({ records }) => records.tradeResult.ended));
  const used = runs.map(({ cpuSeconds }) => (cpuSeconds === null ? Number.NaN : total(cpuSeconds)));
  const perTrade = sum(used) / trades;
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
  return sum(Object.values(records).map(({ conflicts }) => conflicts));
}

function total(cpuSeconds: Readonly<Record<string, number>>): number {
  return sum(Object.values(cpuSeconds));
}

/** Calls of the store that read: gets and scans. */
export function readCalls({ store }: RunResult): number {
  return (store?.reads.rpcs ?? 0) + (store?.scans.rpcs ?? 0);
}
