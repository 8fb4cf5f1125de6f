/**
 * What engine and embedded store cost on this machine: by the shape of an operation, as
 * bench:cluster has measured it; without a record of that, as bench:micro has.
 *
 * Everything runs in one process: the store's processor time counts as the server's, the engine's
 * as the client's. A raw operation carries a cell; the message of a Percolator read finds two.
 */
import { mean } from 'simple-statistics';
import { numberIn, type RunRecord } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { BYTES, IN_FLIGHT, ROWS_READ, SHAPES } from '../measured-costs/operations.ts';
import { OWN } from '../measured-costs/workloads.ts';
import { assumed, type CalibrationEntry, type CostChange, must } from './calibration.ts';

/**
 * About the bytes that the model counts at the server for a cell of 100 bytes: head, key, filter or
 * mutation, cell; of a scan, for each row.
 */
const COUNTED_BYTES = { read: 240, write: 200, conditional: 300, scanned: 130 };
/** What it counts for the message of a Percolator read in addition: two filters, and a cell. */
const MORE_BYTES = 108;
const VALUE_BYTES = 100;
/** The cells of a prewrite (lock, data), and those of a commit (write record, erased lock). */
const CONDITIONAL_CELLS = 2;

type EntryValue = Omit<CalibrationEntry, 'unit'>;

export function storageCosts(micro: RunRecord, costs: RunRecord | null): readonly CostChange[] {
  const times = new Times(micro, costs);
  const { shapes } = times;
  const read = times.cpu(NAMES.rawRead);
  const { callUs, byteUs, writtenUs, scannedUs } = shapes ?? NONE;
  const cell = Math.max(0, times.cpu(NAMES.readMessage) - read - MORE_BYTES * byteUs);
  const timestamp = times.cpu(NAMES.timestamp);
  const messages = times.cpu(NAMES.prewriteMessage) + times.cpu(NAMES.commitMessage);
  const engineRead = times.cpu(NAMES.read) - times.cpu(NAMES.readMessage) - timestamp;
  const engineWrite = times.cpu(NAMES.write) - messages - 2 * timestamp;
  // What else the model charges for an operation, besides its row and its cells.
  const besidesUs = (operation: 'read' | 'write' | 'conditional'): number =>
    callUs +
    COUNTED_BYTES[operation] * byteUs +
    (operation === 'read' ? 0 : VALUE_BYTES * writtenUs);
  const groupsUs =
    times.groupShareUs(NAMES.prewriteMessage) + times.groupShareUs(NAMES.commitMessage);
  const kind = (name: string, server: EntryValue, client: EntryValue): readonly CostChange[] => [
    [`storage.${name}.fixed.serverUs`, server],
    [`storage.${name}.fixed.clientUs`, client],
    [`storage.${name}.perCell.serverUs`, times.value(cell, 'a read of two cells less one of one')],
    [`storage.${name}.perCell.clientUs`, assumed(0, 'counted at the server')],
  ];
  const scanned = (scannedUs ?? read) - cell - COUNTED_BYTES.scanned * byteUs;
  return [
    ['storage.call.fixed.serverUs', times.shape(callUs, 'calls stay in the process')],
    ['storage.call.fixed.clientUs', assumed(0, 'calls stay in the process')],
    ['storage.call.perByte.serverNs', times.shape(1000 * byteUs)],
    ['storage.call.perByte.clientNs', assumed(0, 'counted at the server')],
    ['storage.writtenByteNs', times.shape(1000 * writtenUs)],
    ...kind(
      'read',
      times.value(read - besidesUs('read') - cell, 'a raw read'),
      times.value(engineRead, 'the engine around a read'),
    ),
    ...kind(
      'mutate',
      times.value(
        times.cpu(NAMES.rawWrite) - times.groupShareUs(NAMES.rawWrite) - besidesUs('write') - cell,
        'a raw write',
      ),
      assumed(0, 'part of the transaction'),
    ),
    ...kind(
      'conditionalMutate',
      times.value(
        (messages - groupsUs) / 2 - besidesUs('conditional') - CONDITIONAL_CELLS * cell,
        'prewrite and commit, the mean of both',
      ),
      times.value(engineWrite / 2, 'half of the engine around prewrite and commit'),
    ),
    ...kind(
      'scan',
      times.value(
        scanned,
        scannedUs === undefined ? 'a raw read, for each row' : 'a scan, for each row',
      ),
      times.value(engineRead, 'the engine around a read'),
    ),
    ['storage.batchedRowUs', times.shape(shapes?.batchedUs ?? 0)],
    ['storage.maintenancePerByteNs', assumed(0, 'part of the measured operations')],
    ['cache.bytesPerServer', assumed(1e12, 'the embedded store reads through the page cache')],
    ...log(micro, times),
    ['workload.documentLoadedUs', times.shape(shapes?.loadedUs ?? 0)],
    ['workload.documentClusteredUs', times.shape(shapes?.clusteredUs ?? 0)],
    ['workload.brokerageTransactionUs', times.shape(shapes?.transactionUs ?? 0)],
  ];
}

/** The costs without a record of shapes, as if shapes did not matter. */
const NONE = { callUs: 0, byteUs: 0, writtenUs: 0, scannedUs: undefined };

class Times {
  readonly shapes: ShapeCosts | null;
  readonly #micro: RunRecord;
  readonly #costs: RunRecord | null;

  constructor(micro: RunRecord, costs: RunRecord | null) {
    this.#micro = micro;
    this.#costs = costs;
    this.shapes = costs === null ? null : shapeCosts(costs);
  }

  /** A message's share of the main thread's time for groups of the log, with many in flight. */
  groupShareUs(message: string): number {
    if (this.#costs === null || this.shapes === null) return 0;
    const { groupUs, unsyncedGroupUs } = this.shapes;
    const isSynced = message !== NAMES.prewriteMessage;
    return (isSynced ? groupUs : unsyncedGroupUs) * groupsOf(this.#costs, message);
  }

  /** Processor time of an operation of figure 8. */
  cpu(operation: string): number {
    if (this.#costs !== null) return cpuUs(this.#costs, operation);
    const value = numberIn(this.#micro, 'processor', 'client CPU us', 'embedded', operation);
    return must(this.#micro, value, operation);
  }

  value(us: number, what: string): EntryValue {
    const { runId } = this.#costs ?? this.#micro;
    return { value: Math.max(0, us), source: `run ${runId}, processor time of ${what}` };
  }

  /** @param otherwise why the value is 0 if it was not measured */
  shape(value: number, otherwise = 'not measured: bench:cluster --figure costs does'): EntryValue {
    return this.shapes === null ? assumed(0, otherwise) : { value, source: this.shapes.source };
  }
}

function log(micro: RunRecord, times: Times): readonly CostChange[] {
  const median = (what: string): number =>
    must(micro, numberIn(micro, 'in-process', 'median us', what), what);
  const { groupUs = 0, groupAsideUs = 0, unsyncedGroupUs = 0 } = times.shapes ?? {};
  const alone = median(NAMES.rawWrite) - median(`${NAMES.rawWrite}, storage in memory`);
  const value = Math.max(1, alone - groupUs - groupAsideUs);
  const source = `run ${micro.runId}, a raw write on disk less one in memory`;
  return [
    ['log.wait.medianUs', { value, source }],
    ['log.wait.p99Us', assumed(10 * value, 'ten times the median')],
    ['log.perGroupUs', times.shape(groupUs, 'part of each mutation')],
    ['log.perGroupAsideUs', times.shape(groupAsideUs, 'part of each mutation')],
    ['log.perUnsyncedGroupUs', times.shape(unsyncedGroupUs, 'part of each mutation')],
  ];
}

/*
 * What `bench:cluster --figure costs` has measured: what operations cost by their shape, and what
 * the workloads' own code takes. All in microseconds of the main thread, which does all the work of
 * a process, except syncing the log and what helpers of the garbage collector do.
 */

/** Microseconds of processor time for one of each. */
interface ShapeCosts {
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
function cpuUs(costs: RunRecord, what: string): number {
  return measured(costs, MAIN, what, WRITES.has(what) ? IN_FLIGHT.many : IN_FLIGHT.usual);
}

/** Groups of the log for each message of this kind, with many in flight. */
function groupsOf(costs: RunRecord, what: string): number {
  return measured(costs, 'groups of the log', what, IN_FLIGHT.many);
}

const MAIN = 'µs of the main thread';

type ShapeColumn = 'µs' | typeof MAIN | 'groups of the log';

function measured(
  costs: RunRecord,
  name: ShapeColumn,
  what: string,
  inFlight: number | '',
): number {
  return must(costs, numberIn(costs, 'costs', name, what, String(inFlight)), what);
}

function shapeCosts(costs: RunRecord): ShapeCosts {
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
      const difference = (name: ShapeColumn): number =>
        measured(costs, name, what, few) - measured(costs, name, what, many);
      return difference(column) / difference('groups of the log');
    });
    return positive(mean(perGroup));
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
