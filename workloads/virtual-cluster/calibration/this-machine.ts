/**
 * The calibration of this machine, from its run records: one machine with store and workers, as the
 * benches run.
 *
 *     bench:cluster    with `--figure costs`: what operations of the embedded store cost, by their
 *                      shape and after pauses, and what the workloads' own code takes
 *     bench:micro      how long a commit waits; and without a record of bench:cluster, what reads
 *                      and writes cost
 *     bench:oracle     what a timestamp costs
 *     bench:mapreduce  what the batch costs for each document
 *
 * Numbers that no record holds are those of paper-2010, and are marked as assumed.
 */
import { sum } from 'simple-statistics';
import {
  findRuns,
  numberIn,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
  UsageError,
} from '#results';
import { clusteringVolumes } from '../batch/job.ts';
import {
  assumed,
  type Calibration,
  type CalibrationEntry,
  type CostChange,
  type Like,
  must,
} from './calibration.ts';
import { isEntry, loadCalibration, parseCalibration, type Tree } from './load.ts';
import { storageCosts } from './storage-costs.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { ALONE, IDLE_TABLE, PAUSES_MS, SYNCED } from '../measured-costs/operations.ts';
import { type Alone, ALWAYS_WARM, extraUs, type Idle } from '../machine.ts';

export interface ThisMachine {
  readonly name: string;
  readonly about: string;
  readonly numbers: Like<Calibration, CalibrationEntry>;
}

export interface Calibrated {
  readonly file: ThisMachine;
  /** The records that were used, in words. */
  readonly used: readonly string[];
  /** A sentence for each record that was not there. */
  readonly missing: readonly string[];
}

/** The newest usable record of each experiment; null if there is none. */
type Records = Readonly<Record<'micro' | 'costs' | 'oracle' | 'mapreduce', RunRecord | null>>;

/** The script that makes a record, and what the calibration says without one. */
const SCRIPTS = {
  costs: ['bench:cluster --figure costs', "the workloads' own code costs nothing"],
  oracle: ['bench:oracle', 'its costs are those of paper-2010'],
  mapreduce: ['bench:mapreduce', 'its costs are those of paper-2010'],
} as const;

/** @throws UsageError without a record of bench:micro */
export function calibrateThisMachine(
  folders: readonly string[] = [RUNS_FOLDER, REFERENCE_FOLDER],
): Calibrated {
  const records: Records = {
    micro: newest('micro', 'in-process', folders, waitsForDisk),
    costs: newest('cluster', 'costs', folders),
    oracle: newest('oracle', 'timestamps', folders),
    mapreduce: newest('mapreduce', 'engines', folders),
  };
  const { micro, costs, oracle, mapreduce } = records;
  if (micro === null) {
    throw new UsageError(
      'A calibration of this machine needs a record of bench:micro, but there is none: ./run.sh bench:micro makes one.',
    );
  }
  const numbers = assumedFromPaper();
  const changes = [
    ...topology(micro),
    ...storageCosts(micro, costs),
    ...idleCosts(costs),
    ...(oracle === null ? [] : oracleCosts(oracle)),
    ...(mapreduce === null ? [] : batchCosts(mapreduce)),
  ];
  for (const change of changes) put(numbers, change);
  const { cpuModel, cores } = micro.environment;
  return {
    file: {
      name: 'this-machine',
      about: `Store and workers on one machine with ${cores} cores (${cpuModel}), from its run records`,
      numbers: numbers as unknown as Like<Calibration, CalibrationEntry>,
    },
    used: Object.values(records).flatMap((record) =>
      record === null ? [] : [`${record.experiment}: ${record.runId}`],
    ),
    missing: (['costs', 'oracle', 'mapreduce'] as const)
      .filter((name) => records[name] === null)
      .map((name) => {
        const [script, otherwise] = SCRIPTS[name];
        return `There is no record of ${script}, so ${otherwise}: ./run.sh ${script} makes one.`;
      }),
  };
}

/** This machine with HBase in place of the embedded store; null without its two records. */
export function calibrateHBase(
  folders: readonly string[] = [RUNS_FOLDER, REFERENCE_FOLDER],
): { readonly calibration: Calibration; readonly used: readonly string[] } | null {
  const measured = (isUsable: (concurrency: number) => boolean): RunRecord | null =>
    newest('micro', 'processor', folders, ({ parameters: { store, concurrency } }) => {
      return store === 'hbase' && isUsable(Number(concurrency));
    });
  const [busy, alone] = [measured((callers) => callers > 1), measured((callers) => callers === 1)];
  if (busy === null || alone === null) return null;
  const { file } = calibrateThisMachine(folders);
  const numbers = file.numbers as unknown as Tree<CalibrationEntry>;
  for (const change of hbaseCosts({ busy, alone })) put(numbers, change);
  const { calibration } = parseCalibration({ ...file, numbers }, 'this machine with HBase');
  return { calibration, used: [busy.runId, alone.runId] };
}

/** Whether the writes of this record tell how long a commit waits for the log. */
function waitsForDisk({ parameters: { noFsync, batching } }: RunRecord): boolean {
  return noFsync !== true && batching !== 'on';
}

/**
 * The newest record of the first folder that has one, of the processor on which that folder's costs
 * were measured if there is one: numbers of different processors do not fit together.
 */
function newest(
  experiment: string,
  table: string,
  folders: readonly string[],
  isWanted: (record: RunRecord) => boolean = () => true,
): RunRecord | null {
  for (const folder of folders) {
    const records = findRuns(folder).flatMap(({ record }) => record ?? []);
    const found = records.filter((one) => holds(one, experiment, table) && isWanted(one));
    const costs = records.find((one) => holds(one, 'cluster', 'costs'));
    const chosen = found.find((one) => costs && isSameProcessor(one, costs)) ?? found[0];
    if (chosen !== undefined) return chosen;
  }
  return null;
}

function holds(record: RunRecord, experiment: string, table: string): boolean {
  const { state, profile, findings } = record;
  const isUsable = state === 'finished' && profile !== 'smoke' && findings.check.passed;
  const hasTable = findings.tables.some(({ name }) => name === table);
  return record.experiment === experiment && isUsable && hasTable;
}

function isSameProcessor(a: RunRecord, b: RunRecord): boolean {
  const [of, as] = [a.environment, b.environment];
  return of.cpuModel === as.cpuModel && of.cores === as.cores;
}

function topology({ runId, environment }: RunRecord): readonly CostChange[] {
  const source = `run ${runId}`;
  return [
    ['cluster.tabletServers', { value: 1, source: 'all processes are on this machine' }],
    ['cluster.tabletServerCores', { value: environment.cores, source }],
    ['cluster.workerMachines', { value: 0, source: 'all processes are on this machine' }],
    ['cluster.workerCores', { value: environment.cores, source }],
    ['network.roundTrip.medianUs', assumed(1, 'calls stay in the process')],
    ['network.roundTrip.p99Us', assumed(1, 'calls stay in the process')],
    ['network.bytesPerSecond', assumed(1e10, 'calls stay in the process')],
  ];
}

/** Server and clients share the cores: what the clients did not use is the server's. */
function oracleCosts(record: RunRecord): readonly CostChange[] {
  const of = (column: string): number =>
    must(record, numberIn(record, 'timestamps', column), column);
  const cores = Math.min(record.environment.cores, 1 + of('clients'));
  const value = (1e6 * cores) / of('timestamps/s') - of('CPU of clients, ns each') / 1000;
  if (value <= 0) {
    throw new UsageError(
      `The record ${record.runId} cannot be used, because its clients took all the processor time: ./run.sh bench:oracle makes another.`,
    );
  }
  const source = `run ${record.runId}, ${cores} cores less the processor time of the clients`;
  return [['oracle.perTimestampUs', { value, source }]];
}

/** All processor time, shared out evenly over records in map, sort and reduce. */
function batchCosts(record: RunRecord): readonly CostChange[] {
  const documents = Number(record.parameters['documents']);
  const of = (column: string): number =>
    must(record, numberIn(record, 'engines', column, 'MapReduce'), column);
  const volumes = clusteringVolumes({ documents, documentBytes: 1024, contents: 'once' });
  const records = sum(volumes.map(({ inputRecords }) => inputRecords));
  const each = (1e6 * (of('CPU, s') / records)) / 3;
  const source = `run ${record.runId}, a third of the processor time for each record`;
  const perRecord = { value: each, source };
  return [
    [
      'batch.jobStartMs',
      {
        value: (1000 * of('start-up, s')) / volumes.length,
        source: `run ${record.runId}, a third of a run on one document`,
      },
    ],
    ['batch.taskStartMs', assumed(0, 'part of the measured run')],
    ['batch.splitBytes', assumed(64 * 2 ** 20, 'at most 64 MiB (mapreduce-baseline/run-job.ts)')],
    ['batch.map.perRecordUs', perRecord],
    ['batch.map.perByteNs', assumed(0, 'part of the measured processor time')],
    ['batch.sort.perRecordUs', perRecord],
    ['batch.reduce.perRecordUs', perRecord],
    ['batch.stragglers.share', assumed(0, 'there is one machine')],
    ['disk.bytesPerSecond', assumed(1e10, 'the documents are in the page cache')],
  ];
}

/** All numbers of paper-2010, marked as assumed: none of them was measured here. */
function assumedFromPaper(): Tree<CalibrationEntry> {
  const mark = (tree: Tree<CalibrationEntry>): Tree<CalibrationEntry> =>
    Object.fromEntries(
      Object.entries(tree).map(([key, node]) => [
        key,
        isEntry(node)
          ? { ...node, source: `as in paper-2010: ${node.source}`, assumed: true as const }
          : mark(node),
      ]),
    );
  return mark(loadCalibration('paper-2010').entries);
}

function put(
  tree: Tree<CalibrationEntry>,
  [place, { value, source, assumed: isAssumed }]: CostChange,
): void {
  const keys = place.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce((node, key) => node[key] as Tree<CalibrationEntry>, tree) as Record<
    string,
    CalibrationEntry
  >;
  const { unit } = parent[last] as CalibrationEntry;
  const digits = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  parent[last] = { value: digits, unit, source, ...(isAssumed === true ? { assumed: true } : {}) };
}

/*
 * What engine and HBase cost on this machine, from two records of `bench:micro` on HBase:
 *
 *     many callers    the processor time of clients and servers that an operation takes
 *     one caller      how long an operation takes: what is not processor time is the round trip, and
 *                     for a write the wait for the log
 *
 * Clients and servers are processes of one machine and share its cores.
 */

export interface HBaseRecords {
  /** With many callers. */
  readonly busy: RunRecord;
  /** With one caller. */
  readonly alone: RunRecord;
}

type CostSide = 'client' | 'server';
type EntryValue = Omit<CalibrationEntry, 'unit'>;

/** The cells of a prewrite (lock, data), and those of a commit (write record, erased lock). */
const CONDITIONAL_CELLS = 2;
const P99_TIMES = 10;

function hbaseCosts({ busy, alone }: HBaseRecords): readonly CostChange[] {
  const cpu = (side: CostSide, operation: string): number =>
    must(busy, numberIn(busy, 'processor', `${side} CPU us`, 'hbase', operation), operation);
  const lone = (operation: string): number =>
    must(alone, numberIn(alone, 'processor', 'us', 'hbase', operation), operation);
  const both = (operation: string): number => cpu('client', operation) + cpu('server', operation);
  const value = (us: number, what: string): EntryValue => ({
    value: Math.max(0, us),
    source: `run ${busy.runId}, processor time of ${what}`,
  });
  const messages = (side: CostSide): number =>
    (cpu(side, NAMES.prewriteMessage) + cpu(side, NAMES.commitMessage)) / 2;
  const timestamp = cpu('client', NAMES.timestamp);
  const engineRead = cpu('client', NAMES.read) - cpu('client', NAMES.readMessage) - timestamp;
  const engineWrite = cpu('client', NAMES.write) / 2 - messages('client') - timestamp;
  const raw = { client: cpu('client', NAMES.rawRead), server: cpu('server', NAMES.rawRead) };
  // The message of a read finds a write record and the data, a raw read one cell.
  const cell = Math.max(0, cpu('client', NAMES.readMessage) - raw.client);
  const callUs = raw.client - cell;
  const kind = (name: string, server: EntryValue, client: EntryValue): readonly CostChange[] => [
    [`storage.${name}.fixed.serverUs`, server],
    [`storage.${name}.fixed.clientUs`, client],
    [`storage.${name}.perCell.serverUs`, assumed(0, 'part of the measured operations')],
    [`storage.${name}.perCell.clientUs`, value(cell, 'a read of two cells less one of one')],
  ];
  const roundTrip = Math.max(1, lone(NAMES.rawRead) - both(NAMES.rawRead));
  const wait = Math.max(1, lone(NAMES.rawWrite) - both(NAMES.rawWrite) - roundTrip);
  const took = (what: string): string => `run ${alone.runId}, ${what} of one caller`;
  return [
    ['storage.call.fixed.serverUs', value(raw.server / 2, 'half a raw read')],
    ['storage.call.fixed.clientUs', value(callUs, 'a raw read, less a cell')],
    ['storage.call.perByte.serverNs', assumed(1, 'not measured')],
    ['storage.call.perByte.clientNs', assumed(1, 'not measured')],
    ...kind(
      'read',
      value(raw.server / 2, 'half a raw read'),
      value(engineRead, 'the engine around a read'),
    ),
    ...kind(
      'mutate',
      value(cpu('server', NAMES.rawWrite) - raw.server / 2, 'a raw write, less the call'),
      value(cpu('client', NAMES.rawWrite) - callUs - cell, 'a raw write, less the call'),
    ),
    ...kind(
      'conditionalMutate',
      value(messages('server') - raw.server / 2, 'prewrite and commit, less the call'),
      value(
        messages('client') - callUs - CONDITIONAL_CELLS * cell + engineWrite,
        'prewrite and commit, with the engine, less the call',
      ),
    ),
    ...kind(
      'scan',
      value(raw.server / 2, 'half a raw read'),
      value(engineRead, 'the engine around a read'),
    ),
    ['storage.writtenByteNs', assumed(0, 'part of what any byte costs')],
    ['storage.batchedRowUs', assumed(0, 'nothing is batched')],
    ['log.perGroupUs', assumed(0, 'part of the measured writes')],
    ['log.perGroupAsideUs', assumed(0, 'part of the measured writes')],
    ['log.perUnsyncedGroupUs', assumed(0, 'the log has no groups here')],
    ['log.waitAfterIdleUs', assumed(0, 'HBase was not measured after pauses')],
    ['idle.refillUs', assumed(0, 'HBase was not measured after pauses')],
    ['log.wait.medianUs', { value: wait, source: took('a raw write less a raw read') }],
    ['log.wait.p99Us', assumed(P99_TIMES * wait, 'ten times the median')],
    ['network.roundTrip.medianUs', { value: roundTrip, source: took('a raw read less its work') }],
    ['network.roundTrip.p99Us', assumed(P99_TIMES * roundTrip, 'ten times the median')],
  ];
}

/*
 * How this machine cools while it is idle (machine.ts): the curve nearest to what `bench:cluster
 * --figure costs` has measured of a short and of a long operation after pauses; and how much longer
 * a group then waits for the disk, the curve nearest to what a raw write waited.
 */

/**
 * What an operation took in addition after a pause. The machine also cools while a write waits for
 * the disk, but without a pause before the write, too, so that part is not in the difference.
 */
export interface Extra {
  readonly alone: Alone;
  readonly us: number;
}

const MAIN = 'µs of the main thread';
const UNTIL_END = 'µs until its end';
const LONGEST_MS = Math.max(...PAUSES_MS);

function idleCosts(costs: RunRecord | null): readonly CostChange[] {
  const tables = costs?.findings?.tables ?? [];
  if (costs === null || !tables.some(({ name }) => name === IDLE_TABLE)) return NOT_MEASURED;
  const { refillUs, longestMs, warmingUs } = fitted(extrasOf(costs));
  const source = `run ${costs.runId}, a raw read and a write of Percolator after pauses`;
  return [
    ['idle.refillUs', { value: refillUs, source }],
    ['idle.longestMs', assumed(longestMs, 'the longest pause that was measured')],
    ['idle.warmingUs', { value: warmingUs, source }],
    ['log.waitAfterIdleUs', waitAfterIdle(costs)],
  ];
}

const WITHOUT_EFFECT = 'without effect, as nothing is to be refilled';

const NOT_MEASURED: readonly CostChange[] = [
  ['idle.refillUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
  ['idle.longestMs', { value: 10, source: WITHOUT_EFFECT }],
  ['idle.warmingUs', { value: 50, source: WITHOUT_EFFECT }],
  ['log.waitAfterIdleUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
];

/**
 * A read does not wait for the disk. So the processor time by which its thread exceeds the read's
 * own duration belongs to the end of the pause, and is subtracted from the thread's time for a
 * write, too. 0 if the record has no durations.
 */
function waitAfterIdle(costs: RunRecord): CostChange[1] {
  const of = (column: string, what: string, idleMs: number): number | null =>
    numberIn(costs, IDLE_TABLE, column, what, String(idleMs));
  if (of(UNTIL_END, SYNCED, 0) === null) {
    return assumed(0, 'the record has no durations after pauses');
  }
  const besidesWorkUs = (what: string, idleMs: number): number =>
    must(costs, of(UNTIL_END, what, idleMs), what) - must(costs, of(MAIN, what, idleMs), what);
  const waitUs = (idleMs: number): number =>
    besidesWorkUs(SYNCED, idleMs) - besidesWorkUs(NAMES.rawRead, idleMs);
  const extras = PAUSES_MS.map((idleMs) => ({ idleMs, us: waitUs(idleMs) - waitUs(0) }));
  return {
    value: perRootMs(extras),
    source: `run ${costs.runId}, what a raw write waits for the disk after pauses`,
  };
}

/** The extra wait for each √ms of a pause, by least squares; at least 0. */
export function perRootMs(
  extras: readonly { readonly idleMs: number; readonly us: number }[],
): number {
  const products = extras.map(({ idleMs, us }) => Math.sqrt(idleMs) * us);
  return Math.max(0, sum(products) / sum(extras.map(({ idleMs }) => idleMs)));
}

function extrasOf(costs: RunRecord): readonly Extra[] {
  const took = (what: string, idleMs: number): number =>
    must(costs, numberIn(costs, IDLE_TABLE, MAIN, what, String(idleMs)), what);
  return ALONE.flatMap((what) => {
    const us = took(what, 0);
    return PAUSES_MS.map((idleMs) => ({
      alone: { idleMs, us },
      us: Math.max(0, took(what, idleMs) - us),
    }));
  });
}

/** Values of `warmingUs` that are tried: each a tenth more than the last. */
const TRIED_US = { from: 5, to: 2_000, step: 1.1 };

/** The curve with the least sum of squares of the errors, relative to what was measured. */
export function fitted(extras: readonly Extra[]): Idle {
  let best: Fit | undefined;
  for (let warmingUs = TRIED_US.from; warmingUs <= TRIED_US.to; warmingUs *= TRIED_US.step) {
    const fit = fittedWith(extras, warmingUs);
    if (best === undefined || fit.error < best.error) best = fit;
  }
  return best?.idle ?? ALWAYS_WARM;
}

interface Fit {
  readonly idle: Idle;
  readonly error: number;
}

function fittedWith(extras: readonly Extra[], warmingUs: number): Fit {
  const unit = { refillUs: 1, longestMs: LONGEST_MS, warmingUs };
  const shares = extras
    .filter(({ us }) => us > 0)
    .map(({ alone, us }) => extraUs(unit, alone) / us);
  const squares = sum(shares.map((share) => share ** 2));
  const refillUs = squares === 0 ? 0 : sum(shares) / squares;
  const error = sum(shares.map((share) => (refillUs * share - 1) ** 2));
  return { idle: { ...unit, refillUs }, error };
}
