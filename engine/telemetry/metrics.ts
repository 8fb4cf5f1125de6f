/**
 * All metrics of the engine: one table, with which docs/operations.md is compared.
 *
 * The names follow the conventions of OpenTelemetry: words in a path, no unit in the name, seconds
 * for time. The exporter for Prometheus makes `percolator_transaction_duration` of
 * `percolator.transaction.duration`. Attributes have few values: no row, no value, no text of an
 * error is among them.
 *
 *     kind        where the number comes from                 of several sources in one process
 *     histogram   recorded at each event                      all are recorded
 *     counter     read when metrics are collected             the sum; what has ended counts on
 *     sum         the same, and may fall                      the sum
 *     largest     the same                                    the largest: the worst one
 *     smallest    the same                                    the smallest: the worst one
 */
export interface Metric {
  readonly kind: 'histogram' | 'counter' | 'sum' | 'largest' | 'smallest';
  /** As UCUM writes it: `s`, or what is counted, in braces. */
  readonly unit: string;
  readonly attributes: readonly string[];
  readonly description: string;
}

export type HistogramName =
  | 'percolator.transaction.duration'
  | 'percolator.timestamp.duration'
  | 'percolator.store.call.duration'
  | 'percolator.store.call.rows'
  | 'percolator.observer.run.duration';

/** Metrics that are read when metrics are collected. */
export type ReadName =
  | 'percolator.transaction.conflicts'
  | 'percolator.lock.waits'
  | 'percolator.lock.resolved'
  | 'percolator.lease.remaining'
  | 'percolator.horizon.age'
  | 'percolator.observer.running'
  | 'percolator.observer.failing'
  | 'percolator.observer.parked'
  | 'percolator.notification.found'
  | 'percolator.notification.wasted'
  | 'percolator.notification.waiting'
  | 'percolator.notification.oldest'
  | 'percolator.notification.scans'
  | 'percolator.collection.cycles'
  | 'percolator.collection.rows'
  | 'percolator.collection.cells'
  | 'percolator.warning.active'
  | 'percolator.oracle.timestamps'
  | 'percolator.oracle.leading'
  | 'percolator.certificate.remaining';

export const METRICS: Readonly<Record<HistogramName | ReadName, Metric>> = {
  'percolator.transaction.duration': {
    kind: 'histogram',
    unit: 's',
    attributes: ['percolator.outcome', 'error.type'],
    description: 'Time from the request for a start timestamp to the answer, each attempt alone',
  },
  'percolator.transaction.conflicts': {
    kind: 'counter',
    unit: '{conflict}',
    attributes: [],
    description: 'Transactions that lost to another one',
  },
  'percolator.lock.waits': {
    kind: 'counter',
    unit: '{wait}',
    attributes: [],
    description: 'Times a reader waited for the lock of a live transaction',
  },
  'percolator.lock.resolved': {
    kind: 'counter',
    unit: '{lock}',
    attributes: ['percolator.resolution'],
    description: 'Locks of other transactions rolled forward or back by this process',
  },
  'percolator.timestamp.duration': {
    kind: 'histogram',
    unit: 's',
    attributes: ['error.type'],
    description: 'Time that a transaction waits for one timestamp',
  },
  'percolator.lease.remaining': {
    kind: 'smallest',
    unit: 's',
    attributes: ['percolator.lease'],
    description: 'Time for which the lease still counts without a renewal',
  },
  'percolator.store.call.duration': {
    kind: 'histogram',
    unit: 's',
    attributes: ['db.operation.name', 'error.type'],
    description: 'Time until the storage has answered one call',
  },
  'percolator.store.call.rows': {
    kind: 'histogram',
    unit: '{row}',
    attributes: ['db.operation.name'],
    description: 'Rows that one call of the storage named: the size of its batch',
  },
  'percolator.observer.run.duration': {
    kind: 'histogram',
    unit: 's',
    attributes: ['percolator.observer.name', 'percolator.outcome', 'error.type'],
    description: 'Time of one run of an observer for one cell, with its repetitions',
  },
  'percolator.observer.running': {
    kind: 'sum',
    unit: '{cell}',
    attributes: [],
    description: 'Cells whose observers run now',
  },
  'percolator.observer.failing': {
    kind: 'sum',
    unit: '{cell}',
    attributes: [],
    description: 'Cells whose last run failed, and that rest before the next one',
  },
  'percolator.observer.parked': {
    kind: 'counter',
    unit: '{cell}',
    attributes: [],
    description: 'Cells parked by this process',
  },
  'percolator.notification.found': {
    kind: 'counter',
    unit: '{notification}',
    attributes: [],
    description: 'Notifications that a scan found and that were not known before',
  },
  'percolator.notification.wasted': {
    kind: 'counter',
    unit: '{notification}',
    attributes: [],
    description: 'Notifications that needed no run',
  },
  'percolator.notification.waiting': {
    kind: 'sum',
    unit: '{notification}',
    attributes: [],
    description: 'Notifications that are known and wait for a place to run',
  },
  'percolator.notification.oldest': {
    kind: 'largest',
    unit: 's',
    attributes: [],
    description: 'Age, when found, of the oldest notification of the last two scans: at least',
  },
  'percolator.notification.scans': {
    kind: 'counter',
    unit: '{scan}',
    attributes: [],
    description: 'Scans of all observed tables that have ended',
  },
  'percolator.horizon.age': {
    kind: 'largest',
    unit: 's',
    attributes: [],
    description: 'Time since the horizon of the garbage collection was handed out: at least',
  },
  'percolator.collection.cycles': {
    kind: 'counter',
    unit: '{cycle}',
    attributes: [],
    description: 'Cycles of the garbage collection that have ended',
  },
  'percolator.collection.rows': {
    kind: 'counter',
    unit: '{row}',
    attributes: [],
    description: 'Rows that the garbage collection has looked at',
  },
  'percolator.collection.cells': {
    kind: 'counter',
    unit: '{cell}',
    attributes: [],
    description: 'Cells that the garbage collection has deleted',
  },
  'percolator.warning.active': {
    kind: 'sum',
    unit: '{warning}',
    attributes: ['percolator.warning'],
    description: 'Warnings of workers and collectors that are not over',
  },
  'percolator.oracle.timestamps': {
    kind: 'counter',
    unit: '{timestamp}',
    attributes: [],
    description: 'Timestamps handed out by this oracle',
  },
  'percolator.oracle.leading': {
    kind: 'sum',
    unit: '{oracle}',
    attributes: [],
    description: '1 if this oracle holds the lease and hands out timestamps, 0 if it stands by',
  },
  'percolator.certificate.remaining': {
    kind: 'smallest',
    unit: 's',
    attributes: [],
    description: 'Time for which the certificate in use is still valid',
  },
};

/** The upper ends of the buckets: of durations, in seconds, and of rows. */
export const SECONDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
export const ROWS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
