/** What batching was worth: counts for each lane since the store was wrapped. */

/** Each moves when a batch is sent, or an operation goes by without waiting. */
export interface LaneCounters {
  /** Calls of callers: one read, one conditional mutation, one caller's blind mutations of one table. */
  operations: number;
  /** Rows that the callers named, and rows that were sent: of a row that several wanted, one. */
  rows: number;
  rowsSent: number;
  /** Calls of the storage. */
  rpcs: number;
  /** Sum of what the operations waited for company, in milliseconds. */
  waitedMs: number;
  /** Why batches were sent: full, waited long enough, or nothing else could bring company. */
  bySize: number;
  byDelay: number;
  byQuiet: number;
}

export interface BatchingCounters {
  readonly reads: LaneCounters;
  readonly conditionals: LaneCounters;
  /** Blind mutations: those that a commit waits for, and all others. */
  readonly urgent: LaneCounters;
  readonly bulk: LaneCounters;
  /** Rows that were read again by themselves, because what their caller wanted may have been hidden. */
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
