/**
 * What `bench:cluster --figure costs` has measured: what operations cost by their shape, and what
 * the workloads' own code takes. All in microseconds of the main thread, which does all the work of
 * a process, except syncing the log and what helpers of the garbage collector do.
 */
import { numberIn, type RunRecord } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { IN_FLIGHT } from '../measured-costs/operations.ts';
import { BYTES, ROWS_READ, SHAPES } from '../measured-costs/shapes.ts';
import { OWN } from '../measured-costs/workloads.ts';
import { must } from './change.ts';

/** Microseconds of processor time for one of each. */
export interface ShapeCosts {
  readonly source: string;
  /** A call without its rows. */
  readonly callUs: number;
  readonly byteUs: number;
  /** A byte that is written, in addition to `byteUs`. */
  readonly writtenUs: number;
  /** A row of a scan, without its call. */
  readonly scannedUs: number;
  /** A row that is read in a batch, in addition to what it takes alone. */
  readonly batchedUs: number;
  /** A group of the log: the main thread's time, and that of the threads that sync it. */
  readonly groupUs: number;
  readonly groupAsideUs: number;
  /** A group that is not synced: the main thread's time. */
  readonly unsyncedGroupUs: number;
  /** Own code of the workloads: for a document loaded, one clustered, and a transaction. */
  readonly loadedUs: number;
  readonly clusteredUs: number;
  readonly transactionUs: number;
}

const WRITES: ReadonlySet<string> = new Set([
  NAMES.rawWrite,
  NAMES.write,
  NAMES.prewriteMessage,
  NAMES.commitMessage,
]);

const SYNCED = [NAMES.rawWrite, NAMES.commitMessage];

/** Processor time of an operation of figure 8; of a write, with many in flight. */
export function cpuUs(costs: RunRecord, what: string): number {
  return measured(costs, MAIN, what, WRITES.has(what) ? IN_FLIGHT.many : IN_FLIGHT.usual);
}

/** Groups of the log for each message of this kind, with many in flight. */
export function groupsOf(costs: RunRecord, what: string): number {
  return measured(costs, 'groups of the log', what, IN_FLIGHT.many);
}

const MAIN = 'µs of the main thread';

type Column = 'µs' | typeof MAIN | 'groups of the log';

function measured(costs: RunRecord, name: Column, what: string, inFlight: number | ''): number {
  return must(costs, numberIn(costs, 'costs', name, what, String(inFlight)), what);
}

export function shapeCosts(costs: RunRecord): ShapeCosts {
  const of = (what: string, inFlight: number | '' = IN_FLIGHT.usual): number =>
    measured(costs, MAIN, what, inFlight);
  const read = of(NAMES.rawRead);
  const callUs = positive(read - (of(SHAPES.rowsRead) - read) / (ROWS_READ - 1));
  const more = BYTES.long - BYTES.short;
  const byteUs = positive((of(SHAPES.longRead) - read) / more);
  const { few, many } = IN_FLIGHT;
  const written = (of(SHAPES.longWrite, many) - of(NAMES.rawWrite, many)) / more;
  // With few in flight the same writes form more groups: the difference is what groups cost.
  const groupUs = (column: 'µs' | typeof MAIN, writes: readonly string[]): number => {
    const perGroup = writes.map((what) => {
      const difference = (name: Column): number =>
        measured(costs, name, what, few) - measured(costs, name, what, many);
      return difference(column) / difference('groups of the log');
    });
    return positive(perGroup.reduce((sum, us) => sum + us, 0) / perGroup.length);
  };
  const mainUs = groupUs(MAIN, SYNCED);
  return {
    source: `run ${costs.runId}`,
    callUs,
    byteUs,
    writtenUs: positive(written - byteUs),
    scannedUs: positive((of(SHAPES.scan) - callUs) / ROWS_READ),
    batchedUs: positive(of(SHAPES.batchedRead) - of(NAMES.laterRead) + callUs),
    groupUs: mainUs,
    groupAsideUs: positive(groupUs('µs', SYNCED) - mainUs),
    unsyncedGroupUs: groupUs(MAIN, [NAMES.prewriteMessage]),
    loadedUs: of(OWN.loaded, ''),
    clusteredUs: of(OWN.clustered, ''),
    transactionUs: of(OWN.transaction, ''),
  };
}

/** Differences of measurements: below 0, the machine did something else meanwhile. */
function positive(us: number): number {
  return Math.max(0, us);
}
