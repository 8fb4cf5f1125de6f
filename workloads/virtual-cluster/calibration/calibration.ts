/**
 * What each thing costs in the virtual cluster, as numbers: the type, and what its files must hold.
 *
 * A file gives each number a value, a unit and a source; `assumed` marks those that no source
 * states, so that a sensitivity analysis knows what to vary. The simulation sees plain numbers.
 *
 * How the costs of a call add up, at the server and at the client alike:
 *
 *     call.fixed + call.perByte × bytes                     once for each call
 *     + row.fixed + row.perCell × cells                     for each row of the call, by its kind
 *
 * Bytes and cells count in both directions. All of that takes a core, and so does what is called
 * processor time below. Waiting for log, disk and network does not.
 */
import { type RunRecord, UsageError } from '#results';

/** Processor time of one core. */
interface SidedUs {
  readonly serverUs: number;
  readonly clientUs: number;
}

/** What a row costs in a call. `perCell` counts the cells of this row that the call carries. */
export interface RowCost {
  readonly fixed: SidedUs;
  readonly perCell: SidedUs;
}

/** Log-normal, given by two of its quantiles; a constant if they are equal. */
export interface Duration {
  readonly medianUs: number;
  readonly p99Us: number;
}

export interface Calibration {
  readonly cluster: {
    readonly tabletServers: number;
    readonly tabletServerCores: number;
    /** 0: workers run on the machines of the tablet servers, and share their cores. */
    readonly workerMachines: number;
    readonly workerCores: number;
  };
  /** A machine that was idle has lost its caches to other processes (machine.ts). */
  readonly idle: {
    /**
     * Additional processor time after an idle millisecond, until the caches are full again; it
     * grows with the square root of the idle time.
     */
    readonly refillUs: number;
    /** The idle time after which `refillUs` grows no more. */
    readonly longestMs: number;
    /** Processor time of a busy machine for the work that fills 63 % of what is missing. */
    readonly warmingUs: number;
  };
  readonly storage: {
    readonly call: {
      readonly fixed: SidedUs;
      readonly perByte: { readonly serverNs: number; readonly clientNs: number };
    };
    readonly read: RowCost;
    readonly mutate: RowCost;
    readonly conditionalMutate: RowCost;
    /** The server's cost of each byte of a mutation, on top of `perByte`. */
    readonly writtenByteNs: number;
    /** The cost of each row, at a client that gathers operations in batches. */
    readonly batchedRowUs: number;
    /**
     * `fixed` counts, at the server, for each row that the scan of a tablet returns, and not at all
     * if it finds nothing; at the client, once for each tablet.
     */
    readonly scan: RowCost;
    /**
     * Processor time of compactions and copies of the log, for each written byte. It is counted,
     * but keeps no machine's cores from calls.
     */
    readonly maintenancePerByteNs: number;
  };
  readonly log: {
    /** From the mutation in memory until it is durable, for all mutations of a group together. */
    readonly wait: Duration;
    /**
     * Processor time for each group, where one thread of a server writes mutations together
     * (storage.ts): of that thread, and of other threads that bring the group to the disk
     * meanwhile. Both 0: each mutation waits for the log on its own.
     */
    readonly perGroupUs: number;
    readonly perGroupAsideUs: number;
    /** That thread's time for a group of provisional mutations alone, which is not synced. */
    readonly perUnsyncedGroupUs: number;
    /**
     * What a group waits in addition after the log was idle, for each √ms of that time, up to
     * `idle.longestMs`: disk and threads are slow at first, too.
     */
    readonly waitAfterIdleUs: number;
  };
  /** A row that is not in the cache costs a read of the disk, and `missCpuUs` of the server. */
  readonly cache: {
    readonly bytesPerServer: number;
    readonly missCpuUs: number;
    readonly missDiskUs: number;
  };
  readonly disk: { readonly perMachine: number; readonly bytesPerSecond: number };
  readonly network: { readonly roundTrip: Duration; readonly bytesPerSecond: number };
  readonly oracle: {
    readonly cores: number;
    readonly perCallUs: number;
    readonly perTimestampUs: number;
  };
  readonly lockService: { readonly cores: number; readonly perCallUs: number };
  readonly failures: {
    /** From the death of a tablet server until its tablets are given to others. */
    readonly detectionMs: number;
    readonly logReplayBytesPerSecond: number;
  };
  /**
   * Processor time of the workloads' own code, at the client; the engine's is part of the calls.
   */
  readonly workload: {
    readonly documentLoadedUs: number;
    readonly documentClusteredUs: number;
    /** One number for all transactions of the brokerage's mix. */
    readonly brokerageTransactionUs: number;
  };
  readonly batch: {
    /** From the call until the first task runs, and what a MapReduce takes after its last task. */
    readonly jobStartMs: number;
    readonly taskStartMs: number;
    readonly splitBytes: number;
    readonly map: { readonly perRecordUs: number; readonly perByteNs: number };
    readonly sort: { readonly perRecordUs: number };
    readonly reduce: { readonly perRecordUs: number };
    /** A share of the machines is slow in a MapReduce: tasks take `times` times as long there. */
    readonly stragglers: { readonly share: number; readonly times: number };
  };
}

/** One number of a file. */
export interface CalibrationEntry {
  readonly value: number;
  readonly unit: string;
  /** Where the number is stated or was measured, or why it is assumed to be this. */
  readonly source: string;
  readonly assumed?: true;
}

interface NumberLimits {
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly isWhole?: true;
}

/** The tree of a calibration with something else in the place of its numbers. */
export type Like<T, Leaf> = {
  readonly [K in keyof T]: T[K] extends number ? Leaf : Like<T[K], Leaf>;
};

const HOUR_US = 3.6e9;
const us: NumberLimits = { unit: 'µs', min: 0, max: HOUR_US };
const ms: NumberLimits = { unit: 'ms', min: 0, max: HOUR_US / 1000 };
const ns: NumberLimits = { unit: 'ns', min: 0, max: HOUR_US };
const bytes: NumberLimits = { unit: 'bytes', min: 1, max: 1e18 };
const perSecond: NumberLimits = { unit: 'bytes/s', min: 1, max: 1e15 };
const cores: NumberLimits = { unit: 'cores', min: 1, max: 10_000, isWhole: true };
const machines: NumberLimits = { unit: 'machines', min: 1, max: 1e5, isWhole: true };

const sided = { serverUs: us, clientUs: us };
const rowCost = { fixed: sided, perCell: sided };
const duration = { medianUs: { ...us, min: 0.001 }, p99Us: { ...us, min: 0.001 } };

/** The unit and the limits of each number; limits keep out slips, not strange clusters. */
export const LIMITS: Like<Calibration, NumberLimits> = {
  cluster: {
    tabletServers: machines,
    tabletServerCores: cores,
    workerMachines: { ...machines, min: 0 },
    workerCores: cores,
  },
  idle: {
    refillUs: us,
    longestMs: { ...ms, min: 0.001 },
    warmingUs: { ...us, min: 0.001 },
  },
  storage: {
    call: { fixed: sided, perByte: { serverNs: ns, clientNs: ns } },
    read: rowCost,
    mutate: rowCost,
    conditionalMutate: rowCost,
    writtenByteNs: ns,
    batchedRowUs: us,
    scan: rowCost,
    maintenancePerByteNs: ns,
  },
  log: {
    wait: duration,
    perGroupUs: us,
    perGroupAsideUs: us,
    perUnsyncedGroupUs: us,
    waitAfterIdleUs: us,
  },
  cache: { bytesPerServer: bytes, missCpuUs: us, missDiskUs: us },
  disk: {
    perMachine: { unit: 'disks', min: 1, max: 1000, isWhole: true },
    bytesPerSecond: perSecond,
  },
  network: { roundTrip: duration, bytesPerSecond: perSecond },
  oracle: { cores, perCallUs: us, perTimestampUs: us },
  lockService: { cores, perCallUs: us },
  failures: { detectionMs: ms, logReplayBytesPerSecond: perSecond },
  workload: { documentLoadedUs: us, documentClusteredUs: us, brokerageTransactionUs: us },
  batch: {
    jobStartMs: ms,
    taskStartMs: ms,
    splitBytes: bytes,
    map: { perRecordUs: us, perByteNs: ns },
    sort: { perRecordUs: us },
    reduce: { perRecordUs: us },
    stragglers: {
      share: { unit: 'of the machines', min: 0, max: 1 },
      times: { unit: 'times', min: 1, max: 1000 },
    },
  },
};
export type { NumberLimits };

/* A number of a calibration that is made from records: where it goes, and what it is. */

export type CostChange = readonly [place: string, entry: Omit<CalibrationEntry, 'unit'>];

export function assumed(value: number, source: string): Omit<CalibrationEntry, 'unit'> {
  return { value, source, assumed: true };
}

/** @throws UsageError if the record does not have the number */
export function must(record: RunRecord, value: number | null, what: string): number {
  if (value !== null) return value;
  throw new UsageError(
    `The record ${record.runId} lacks a number that a calibration needs: ${what}.`,
  );
}
