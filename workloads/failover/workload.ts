/** The loads under which parts of the system fail, and what the experiment asks of each. */
import { type Bigtable, fsck, type Percolator } from '#engine';
import { counted } from '#results';
import type { Arrival, Settled } from './attempts.ts';

export const WORKLOADS = ['brokerage', 'crawl-rate'] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

/** An open loop at a steady rate; times of the clock that all processes share. */
export interface SteadyLoad {
  readonly perSecond: number;
  readonly beginMs: number;
  /** The end of the warm-up. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Told how many transactions were begun. */
  readonly onProgress: (begun: number) => void;
}

export interface CheckResult {
  /** What is wrong, in sentences. */
  readonly wrong: readonly string[];
  /** What was found right, if nothing is wrong: one sentence. */
  readonly right: string;
  /** The warnings of fsck, counted by code: mostly what failures have left. */
  readonly warnings: ReadonlyMap<string, number>;
}

export interface FailoverWorkload {
  /** Makes the tables, and what is in them before the run. */
  load(): Promise<void>;
  /** What was asked for, in the order in which it was due. The rate counts only these. */
  readonly arrivals: readonly Arrival[];
  /**
   * Transactions that the load does not ask for: they follow from others, or are upkeep. They count
   * for no rate.
   */
  readonly followers: readonly Arrival[];
  /** How the transactions that got no answer to their commit (COMMIT_UNKNOWN) have ended. */
  readonly settled: Settled;
  /** Transactions that have begun and are not completed. */
  readonly open: number;
  /** Rejects when a transaction fails because of a mistake, not of a part that is away. */
  readonly failed: Promise<never>;
  /** Transactions completed in a second at full speed, after a warm-up of half of `seconds`. */
  measureCapacity(seconds: number): Promise<number>;
  /**
   * Resolves when everything has begun. With more than `OPEN_MAX` of the arrivals open, it or
   * `drain` rejects; followers do not count.
   */
  offer(load: SteadyLoad): Promise<{ readonly lagP99Ms: number }>;
  /** Resolves when nothing is open any more. */
  drain(): Promise<void>;
  /** To be called for each row whose observer has committed in a worker. */
  onObserved(row: string, atMs: number): void;
  /** Finds out what a killed worker had committed without telling. */
  findUntold(): Promise<void>;
  /** Everything that must hold, with the database at rest. */
  check(): Promise<CheckResult>;
}

export interface WorkloadParts {
  readonly percolator: Percolator;
  readonly seed: number;
  /** In flight while the capacity is measured. */
  readonly concurrency: number;
  readonly regionServers: number;
  readonly signal: AbortSignal;
}

/**
 * More open arrivals than this mean that the storage does not keep up; the run ends before they
 * exhaust the memory.
 */
export const OPEN_MAX = 20_000;

const ERRORS_SHOWN = 5;

/** What fsck finds in the whole database when nothing runs any more. */
export async function auditAtRest(
  store: Bigtable,
): Promise<Pick<CheckResult, 'wrong' | 'warnings'>> {
  const findings = await Array.fromAsync(await fsck(store, { waitForLocks: true }));
  const errors = findings.filter(({ severity }) => severity === 'error');
  const hidden = errors.length - ERRORS_SHOWN;
  // By severity, because some codes are errors in one case and warnings in another.
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  const groups = Map.groupBy(warnings, ({ code }) => code);
  return {
    wrong: [
      ...errors.slice(0, ERRORS_SHOWN).map(({ code, sentence }) => `fsck: ${code}: ${sentence}`),
      ...(hidden > 0 ? [`fsck finds ${counted(hidden, 'more errors')}`] : []),
    ],
    warnings: new Map([...groups].map(([code, all]) => [code, all.length])),
  };
}
