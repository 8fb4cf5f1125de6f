/**
 * What engine and embedded store cost on this machine, from `bench:cluster --figure costs`, in raw
 * reads of bench:micro, which says how long one takes.
 *
 * Everything runs in one process, so processor time has no sides: the store's is the server's, the
 * engine's the client's.
 */
import { numberIn, type RunRecord, UsageError } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { IN_FLIGHT } from '../measured-costs/operations.ts';
import { BYTES, CELLS_READ, ROWS_READ, SHAPES } from '../measured-costs/shapes.ts';
import { OWN } from '../measured-costs/workloads.ts';
import { assumed, type Change } from './change.ts';

/** Bytes that the model counts of an operation on a cell of 100 bytes: heads, key, filter, value. */
const COUNTED_BYTES = 300;
/** Cells that a prewrite or a commit of one cell mutates, about. */
const CONDITIONAL_CELLS = 2;

/** Processor time by name, in microseconds. */
class Times {
  readonly #micro: RunRecord;
  readonly #costs: RunRecord;
  /** Of a group of the log. */
  readonly groupUs: number;

  constructor(micro: RunRecord, costs: RunRecord) {
    this.#micro = micro;
    this.#costs = costs;
    const groups = [NAMES.rawWrite, NAMES.prewriteMessage, NAMES.commitMessage].map((what) => {
      const [few, many] = [IN_FLIGHT.few, IN_FLIGHT.many].map((inFlight) => ({
        us: this.us(what, inFlight),
        groups: this.#of('groups of the log', what, inFlight),
      }));
      if (few === undefined || many === undefined) return 0;
      return (few.us - many.us) / (few.groups - many.groups);
    });
    this.groupUs = Math.max(0, groups.reduce((sum, us) => sum + us, 0) / groups.length);
  }

  us(what: string, inFlight: number | '' = IN_FLIGHT.usual): number {
    const name = NAMES.rawRead;
    const read = numberIn(this.#micro, 'processor', 'client CPU us', 'embedded', name);
    return must(this.#micro, read, name) * this.#of('raw reads', what, inFlight);
  }

  /** Of a write among many, without its share of the group. */
  writeUs(what: string): number {
    const groups = this.#of('groups of the log', what, IN_FLIGHT.many);
    return this.us(what, IN_FLIGHT.many) - groups * this.groupUs;
  }

  source(what: string): string {
    return `run ${this.#costs.runId}, ${what}, and run ${this.#micro.runId}, a raw read`;
  }

  #of(column: string, what: string, inFlight: number | ''): number {
    const value = numberIn(this.#costs, 'costs', column, what, String(inFlight));
    return must(this.#costs, value, what);
  }
}

export function storageCosts(micro: RunRecord, costs: RunRecord): readonly Change[] {
  const times = new Times(micro, costs);
  const from = (value: number, what: string): Change[1] => ({
    value: Math.max(0, value),
    source: times.source(what),
  });
  const read = times.us(NAMES.rawRead);
  const row = (times.us(SHAPES.rowsRead) - read) / (ROWS_READ - 1);
  const call = Math.max(0, read - row);
  const more = BYTES.long - BYTES.short;
  const byte = Math.max(0, (times.us(SHAPES.longRead) - read) / more);
  const writes = times.writeUs(SHAPES.longWrite) - times.writeUs(NAMES.rawWrite);
  const written = Math.max(0, writes / more - byte);
  const wide = (times.us(SHAPES.wideRead) - read) / (CELLS_READ - 1);
  const cell = Math.max(0, wide - BYTES.short * byte);
  const [prewrite, commit] = [NAMES.prewriteMessage, NAMES.commitMessage].map((what) =>
    times.writeUs(what),
  ) as [number, number];
  const engineRead = times.us(NAMES.laterRead) - times.us(NAMES.readMessage);
  const engineWrite = times.writeUs(NAMES.write) - prewrite - commit;
  const scanned = (times.us(SHAPES.scan) - call) / ROWS_READ;
  const batched = times.us(SHAPES.batchedRead) - times.us(NAMES.laterRead) + call;
  const counted = COUNTED_BYTES * byte;
  const mutated = counted + BYTES.short * written;
  const perKind = (kind: string, server: Change[1], client: Change[1]): readonly Change[] => [
    [`storage.${kind}.fixed.serverUs`, server],
    [`storage.${kind}.fixed.clientUs`, client],
    [`storage.${kind}.perCell.serverUs`, from(cell, 'a raw read of eight cells less one of one')],
    [`storage.${kind}.perCell.clientUs`, assumed(0, 'counted at the server')],
  ];
  return [
    ['storage.call.fixed.serverUs', from(call, 'a raw read less one of 16 rows')],
    ['storage.call.fixed.clientUs', assumed(0, 'calls stay in the process')],
    ['storage.call.perByte.serverNs', from(1000 * byte, 'raw reads of 1,000 and 100 bytes')],
    ['storage.call.perByte.clientNs', assumed(0, 'part of the measured operations')],
    ['storage.writtenByteNs', from(1000 * written, 'raw writes of 1,000 and 100 bytes')],
    ...perKind(
      'read',
      from(row - cell - counted, 'a row of a raw read of 16 rows'),
      from(engineRead, 'the engine around a read'),
    ),
    ...perKind(
      'mutate',
      from(times.writeUs(NAMES.rawWrite) - call - cell - mutated, 'a raw write'),
      assumed(0, 'part of the transaction'),
    ),
    ...perKind(
      'conditionalMutate',
      from(
        (prewrite + commit) / 2 - call - CONDITIONAL_CELLS * cell - mutated,
        'prewrite and commit, the mean of both',
      ),
      from(engineWrite / 2, 'half of the engine around prewrite and commit'),
    ),
    ...perKind(
      'scan',
      from(scanned - cell - counted, 'a row of a scan'),
      from(engineRead, 'the engine around a read'),
    ),
    ['storage.batchedRowUs', from(batched, 'reads in batches less reads alone')],
    ['storage.maintenancePerByteNs', assumed(0, 'part of the measured operations')],
    ['log.perGroupUs', from(times.groupUs, 'writes with few and with many in flight')],
    ...logWait(micro, times.groupUs),
    ['workload.documentLoadedUs', from(times.us(OWN.loaded, ''), OWN.loaded)],
    ['workload.documentClusteredUs', from(times.us(OWN.clustered, ''), OWN.clustered)],
    ['workload.brokerageTransactionUs', from(times.us(OWN.transaction, ''), OWN.transaction)],
  ];
}

/** What a writer waits who is alone. */
function logWait(record: RunRecord, groupUs: number): readonly Change[] {
  const median = (what: string): number =>
    must(record, numberIn(record, 'in-process', 'median us', what), what);
  const wait = median('raw write') - median('raw write, storage in memory') - groupUs;
  const source = `run ${record.runId}, a raw write on disk less one in memory and a group's processor time`;
  const value = Math.max(1, wait);
  return [
    ['log.wait.medianUs', { value, source }],
    ['log.wait.p99Us', assumed(10 * value, 'ten times the median')],
  ];
}

export function must(record: RunRecord, value: number | null, what: string): number {
  if (value !== null) return value;
  throw new UsageError(`The record ${record.runId} does not say what it measured of ${what}.`);
}
