/**
 * What `bench:cluster --figure costs` adds to bench:micro: how costs depend on the shape of an
 * operation, and what the workloads' own code takes. Measured in raw reads of bench:micro, which says
 * how long one takes. All in microseconds of the processor.
 */
import { numberIn, type RunRecord } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { IN_FLIGHT } from '../measured-costs/operations.ts';
import { BYTES, ROWS_READ, SHAPES } from '../measured-costs/shapes.ts';
import { OWN } from '../measured-costs/workloads.ts';
import { must } from './change.ts';

export interface ShapeCosts {
  readonly source: string;
  /** Of a call besides its rows. */
  readonly callUs: number;
  /** Of a row in a large table, more than in one of bench:micro. */
  readonly fartherUs: number;
  readonly byteUs: number;
  /** Of a byte that is written, more than of any other. */
  readonly writtenUs: number;
  /** Of a row of a scan, without its call. */
  readonly scannedUs: number;
  /** Of a row that is read in a batch, more than alone. */
  readonly batchedUs: number;
  /** Of a group of the log: of the main thread, and of those that write it to the disk. */
  readonly groupUs: number;
  readonly groupAsideUs: number;
  readonly loadedUs: number;
  readonly clusteredUs: number;
  readonly transactionUs: number;
}

/** @param readUs a raw read of bench:micro */
export function shapeCosts(costs: RunRecord, readUs: number): ShapeCosts {
  const column = (name: string, what: string, inFlight: number | ''): number =>
    must(costs, numberIn(costs, 'costs', name, what, String(inFlight)), what);
  const of = (what: string, inFlight: number | '' = IN_FLIGHT.usual): number =>
    readUs * column('raw reads', what, inFlight);
  const read = of(NAMES.rawRead);
  const callUs = positive(read - (of(SHAPES.rowsRead) - read) / (ROWS_READ - 1));
  const more = BYTES.long - BYTES.short;
  const byteUs = positive((of(SHAPES.longRead) - read) / more);
  const { few, many } = IN_FLIGHT;
  const written = (of(SHAPES.longWrite, many) - of(NAMES.rawWrite, many)) / more;
  // With few in flight there are more groups.
  const groupUs = (unit: 'raw reads' | 'of the main thread'): number => {
    const perGroup = [NAMES.rawWrite, NAMES.prewriteMessage, NAMES.commitMessage].map((what) => {
      const difference = (name: string): number =>
        column(name, what, few) - column(name, what, many);
      return (readUs * difference(unit)) / difference('groups of the log');
    });
    return positive(perGroup.reduce((sum, us) => sum + us, 0) / perGroup.length);
  };
  const mainUs = groupUs('of the main thread');
  return {
    source: `run ${costs.runId}, in raw reads of bench:micro`,
    callUs,
    fartherUs: positive(read - readUs - callUs),
    byteUs,
    writtenUs: positive(written - byteUs),
    scannedUs: positive((of(SHAPES.scan) - callUs) / ROWS_READ),
    batchedUs: positive(of(SHAPES.batchedRead) - of(NAMES.laterRead) + callUs),
    groupUs: mainUs,
    groupAsideUs: positive(groupUs('raw reads') - mainUs),
    loadedUs: of(OWN.loaded, ''),
    clusteredUs: of(OWN.clustered, ''),
    transactionUs: of(OWN.transaction, ''),
  };
}

/** Differences of measurements; below 0 they are chance. */
function positive(us: number): number {
  return Math.max(0, us);
}
