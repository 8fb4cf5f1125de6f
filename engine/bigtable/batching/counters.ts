/** The effect of batching: counts for each lane since the store was wrapped. */

/**
 * Each count grows when a batch is sent. `operations`, `rows`, `rowsSent` and `rpcs` also grow when
 * a conditional mutation is passed on without waiting, `rowsSent` and `rpcs` when a part of a batch
 * is sent again.
 */
export interface LaneCounters {
  /**
   * Calls of callers: one read, one conditional mutation, one caller's blind mutations of one
   * table.
   */
  operations: number;
  /**
   * Rows that the callers named, and rows that were sent: one that several callers read is sent
   * once.
   */
  rows: number;
  rowsSent: number;
  /** Calls of the storage. */
  rpcs: number;
  /** Total time that operations waited for company, in milliseconds. */
  waitedMs: number;
  /**
   * Why batches were sent: full; waited long enough; or nothing in flight that could bring company,
   * or the store is being closed.
   */
  bySize: number;
  byDelay: number;
  byQuiet: number;
}

export interface BatchingCounters {
  readonly reads: LaneCounters;
  readonly conditionals: LaneCounters;
  /** Blind mutations: those that a commit may wait for, and all others. */
  readonly urgent: LaneCounters;
  readonly bulk: LaneCounters;
  /**
   * Rows that were read again for one caller, because a version that it wanted may have been
   * hidden.
   */
  readAgain: number;
}

export type LaneName = 'reads' | 'conditionals' | 'urgent' | 'bulk';

export function noCounts(): BatchingCounters {
  return {
    reads: noLaneCounts(),
    conditionals: noLaneCounts(),
    urgent: noLaneCounts(),
    bulk: noLaneCounts(),
    readAgain: 0,
  };
}

function noLaneCounts(): LaneCounters {
  return {
    operations: 0,
    rows: 0,
    rowsSent: 0,
    rpcs: 0,
    waitedMs: 0,
    bySize: 0,
    byDelay: 0,
    byQuiet: 0,
  };
}
