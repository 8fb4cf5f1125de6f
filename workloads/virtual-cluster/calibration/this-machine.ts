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
import {
  findRuns,
  numberIn,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
  UsageError,
} from '#results';
import { clusteringVolumes } from '../batch/clustering.ts';
import type { Calibration, Entry, Like } from './calibration.ts';
import { assumed, type Change, must } from './change.ts';
import { hbaseCosts } from './hbase-costs.ts';
import { idleCosts } from './idle-costs.ts';
import { isEntry, loadCalibration, parseCalibration, type Tree } from './load.ts';
import { storageCosts } from './storage-costs.ts';

export interface ThisMachine {
  readonly name: string;
  readonly about: string;
  readonly numbers: Like<Calibration, Entry>;
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
      numbers: numbers as unknown as Like<Calibration, Entry>,
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
  const numbers = file.numbers as unknown as Tree<Entry>;
  for (const change of hbaseCosts({ busy, alone })) put(numbers, change);
  const { calibration } = parseCalibration({ ...file, numbers }, 'this machine with HBase');
  return { calibration, used: [busy.runId, alone.runId] };
}

/** Whether the writes of this record tell how long a commit waits for the log. */
function waitsForDisk({ parameters: { noFsync, batching } }: RunRecord): boolean {
  return noFsync !== true && batching !== 'on';
}

/** The newest record of the first folder that has one. */
function newest(
  experiment: string,
  table: string,
  folders: readonly string[],
  isWanted: (record: RunRecord) => boolean = () => true,
): RunRecord | null {
  const records = folders.flatMap((folder) => findRuns(folder).map(({ record }) => record));
  const isUsable = (record: RunRecord): boolean =>
    record.experiment === experiment &&
    record.state === 'finished' &&
    record.profile !== 'smoke' &&
    record.findings?.check.passed === true &&
    record.findings.tables.some(({ name }) => name === table) &&
    isWanted(record);
  return records.find((record): record is RunRecord => record !== null && isUsable(record)) ?? null;
}

function topology({ runId, environment }: RunRecord): readonly Change[] {
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
function oracleCosts(record: RunRecord): readonly Change[] {
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
function batchCosts(record: RunRecord): readonly Change[] {
  const documents = Number(record.parameters['documents']);
  const of = (column: string): number =>
    must(record, numberIn(record, 'engines', column, 'MapReduce'), column);
  const volumes = clusteringVolumes({ documents, documentBytes: 1024, contents: 'once' });
  const records = volumes.reduce((sum, { inputRecords }) => sum + inputRecords, 0);
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
    [
      'batch.splitBytes',
      assumed(64 * 2 ** 20, 'at most 64 MiB (mapreduce-baseline/job-options.ts)'),
    ],
    ['batch.map.perRecordUs', perRecord],
    ['batch.map.perByteNs', assumed(0, 'part of the measured processor time')],
    ['batch.sort.perRecordUs', perRecord],
    ['batch.reduce.perRecordUs', perRecord],
    ['batch.stragglers.share', assumed(0, 'there is one machine')],
    ['disk.bytesPerSecond', assumed(1e10, 'the documents are in the page cache')],
  ];
}

/** All numbers of paper-2010, marked as assumed: none of them was measured here. */
function assumedFromPaper(): Tree<Entry> {
  const mark = (tree: Tree<Entry>): Tree<Entry> =>
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

function put(tree: Tree<Entry>, [place, { value, source, assumed: isAssumed }]: Change): void {
  const keys = place.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce((node, key) => node[key] as Tree<Entry>, tree) as Record<
    string,
    Entry
  >;
  const { unit } = parent[last] as Entry;
  const digits = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  parent[last] = { value: digits, unit, source, ...(isAssumed === true ? { assumed: true } : {}) };
}
