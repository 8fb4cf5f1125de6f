/** What a run of the benchmark has measured so far; the findings are made from it. */
import type { BrokerUpdate } from './model/index.ts';
import type { RunResult } from './clients.ts';
import type { SystemName } from './plan.ts';
import type { Point } from './point.ts';

/** Filled during the run. */
export interface Results {
  /** What a commit survives, for each system that was measured. */
  readonly durability: Map<SystemName, string>;
  readonly unpaced: Point[];
  readonly ladder: Point[];
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

export function noResults(): Results {
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
export function isCorrect({ wrong, isComplete }: Results): boolean {
  return isComplete && wrong.length === 0;
}
