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

/** Bytes that the model counts of a read of a cell of 100 bytes: heads, key, filter, cell. */
const COUNTED_BYTES = 300;
/** Cells that a prewrite or a commit of one cell mutates, about. */
const CONDITIONAL_CELLS = 2;

/** Processor time of bench:micro by name, and of shapes in its raw reads, in microseconds. */
class Times {
  readonly #micro: RunRecord;
  readonly #costs: RunRecord;
  /** Of a group of the log: writes with few in flight have more groups than those with many. */
  readonly groupUs: number;

  constructor(micro: RunRecord, costs: RunRecord) {
    this.#micro = micro;
    this.#costs = costs;
    const { few, many } = IN_FLIGHT;
    const groups = [NAMES.rawWrite, NAMES.prewriteMessage, NAMES.commitMessage].map(
      (what) =>
        (this.shape(what, few) - this.shape(what, many)) /
        (this.#of('groups of the log', what, few) - this.#of('groups of the log', what, many)),
    );
    this.groupUs = Math.max(0, groups.reduce((sum, us) => sum + us, 0) / groups.length);
  }

  micro(what: string): number {
    const value = numberIn(this.#micro, 'processor', 'client CPU us', 'embedded', what);
    return must(this.#micro, value, what);
  }

  /** A write of one message, without its share of the group. */
  microWrite(what: string): number {
    const groups = numberIn(this.#micro, 'messages', 'disk commits', 'embedded', NAMES.rawWrite);
    return this.micro(what) - this.groupUs * must(this.#micro, groups, 'groups of the log');
  }

  shape(what: string, inFlight: number | '' = IN_FLIGHT.usual): number {
    return this.micro(NAMES.rawRead) * this.#of('raw reads', what, inFlight);
  }

  get microSource(): string {
    return `run ${this.#micro.runId}`;
  }

  get costsSource(): string {
    return `run ${this.#costs.runId}, in raw reads of ${this.#micro.runId}`;
  }

  #of(column: string, what: string, inFlight: number | ''): number {
    const value = numberIn(this.#costs, 'costs', column, what, String(inFlight));
    return must(this.#costs, value, what);
  }
}

export function storageCosts(micro: RunRecord, costs: RunRecord): readonly Change[] {
  const times = new Times(micro, costs);
  const { groupUs } = times;
  const measured = (value: number, what: string): Change[1] => ({
    value: Math.max(0, value),
    source: `${times.microSource}, ${what}; ${times.costsSource}`,
  });
  const shaped = (value: number, what: string): Change[1] => ({
    value: Math.max(0, value),
    source: `${times.costsSource}: ${what}`,
  });
  const read = times.micro(NAMES.rawRead);
  const cell = Math.max(0, times.micro(NAMES.readMessage) - read);
  // A row of a large table, and what a call costs besides its rows.
  const large = times.shape(NAMES.rawRead);
  const row = (times.shape(SHAPES.rowsRead) - large) / (ROWS_READ - 1);
  const call = Math.max(0, large - row);
  const farther = Math.max(0, large - read) - call;
  const more = BYTES.long - BYTES.short;
  const byte = Math.max(0, (times.shape(SHAPES.longRead) - large) / more);
  const [longWrite, shortWrite] = [SHAPES.longWrite, NAMES.rawWrite].map((what) =>
    times.shape(what, IN_FLIGHT.many),
  ) as [number, number];
  const written = Math.max(0, (longWrite - shortWrite) / more - byte);
  const [prewrite, commit] = [NAMES.prewriteMessage, NAMES.commitMessage];
  const conditional = (times.microWrite(prewrite) + times.microWrite(commit)) / 2;
  const timestamp = times.micro(NAMES.timestamp);
  const engineRead = times.micro(NAMES.read) - times.micro(NAMES.readMessage) - timestamp;
  const engineWrite =
    times.micro(NAMES.write) - times.micro(prewrite) - times.micro(commit) - 2 * timestamp;
  const scanned = (times.shape(SHAPES.scan) - call) / ROWS_READ;
  const batched = times.shape(SHAPES.batchedRead) - times.shape(NAMES.laterRead) + call;
  const counted = COUNTED_BYTES * byte;
  const mutated = counted + BYTES.short * written;
  const perKind = (kind: string, server: Change[1], client: Change[1]): readonly Change[] => [
    [`storage.${kind}.fixed.serverUs`, server],
    [`storage.${kind}.fixed.clientUs`, client],
    [`storage.${kind}.perCell.serverUs`, measured(cell, 'a read of two cells less one of one')],
    [`storage.${kind}.perCell.clientUs`, assumed(0, 'counted at the server')],
  ];
  return [
    ['storage.call.fixed.serverUs', shaped(call, 'a read less a row of a read of 16 rows')],
    ['storage.call.fixed.clientUs', assumed(0, 'calls stay in the process')],
    ['storage.call.perByte.serverNs', shaped(1000 * byte, 'reads of 1,000 and 100 bytes')],
    ['storage.call.perByte.clientNs', assumed(0, 'part of the measured operations')],
    ['storage.writtenByteNs', shaped(1000 * written, 'writes of 1,000 and 100 bytes')],
    ...perKind(
      'read',
      measured(read + farther - cell - counted, 'a raw read, on a larger table'),
      measured(engineRead, 'the engine around a read'),
    ),
    ...perKind(
      'mutate',
      measured(
        times.microWrite(NAMES.rawWrite) + farther - cell - mutated,
        'a raw write, on a larger table, without the group',
      ),
      assumed(0, 'part of the transaction'),
    ),
    ...perKind(
      'conditionalMutate',
      measured(
        conditional + farther - CONDITIONAL_CELLS * cell - mutated,
        'prewrite and commit, the mean of both, on a larger table, without the group',
      ),
      measured(engineWrite / 2, 'half of the engine around prewrite and commit'),
    ),
    ...perKind(
      'scan',
      shaped(scanned - cell - counted, 'a row of a scan of 16 rows'),
      measured(engineRead, 'the engine around a read'),
    ),
    ['storage.batchedRowUs', shaped(batched, 'reads in batches less reads alone')],
    ['storage.maintenancePerByteNs', assumed(0, 'part of the measured operations')],
    ['log.perGroupUs', shaped(groupUs, 'writes with few and with many in flight')],
    ...logWait(micro, groupUs),
    ['workload.documentLoadedUs', shaped(times.shape(OWN.loaded, ''), OWN.loaded)],
    ['workload.documentClusteredUs', shaped(times.shape(OWN.clustered, ''), OWN.clustered)],
    ['workload.brokerageTransactionUs', shaped(times.shape(OWN.transaction, ''), OWN.transaction)],
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
