/**
 * The calibration of this machine, from its run records: one machine with store and workers, as the
 * benches run.
 *
 *     bench:micro      what reads and writes of the embedded store cost, and what a commit waits
 *     bench:oracle     what a timestamp costs
 *     bench:mapreduce  what the batch costs for each document
 *
 * Numbers that no record holds are those of paper-2010, and are marked as assumed.
 */
import { findRuns, numberIn, REFERENCE_FOLDER, type RunRecord, RUNS_FOLDER } from '#results';
import { UsageError } from '#results';
import { clusteringVolumes } from '../batch/clustering.ts';
import type { Calibration, Entry, Like } from './calibration.ts';
import { isEntry, loadCalibration, type Tree } from './load.ts';

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

/** Records of one experiment that measure enough. */
type Records = Readonly<Record<'micro' | 'oracle' | 'mapreduce', RunRecord | null>>;

const SCRIPTS = { oracle: 'bench:oracle', mapreduce: 'bench:mapreduce' } as const;

type Change = readonly [place: string, entry: Omit<Entry, 'unit'>];

/** @throws UsageError without a record of bench:micro */
export function calibrateThisMachine(
  folders: readonly string[] = [RUNS_FOLDER, REFERENCE_FOLDER],
): Calibrated {
  const records: Records = {
    micro: newest('micro', 'in-process', folders),
    oracle: newest('oracle', 'timestamps', folders),
    mapreduce: newest('mapreduce', 'engines', folders),
  };
  const { micro, oracle, mapreduce } = records;
  if (micro === null) {
    throw new UsageError(
      'A calibration of this machine needs a record of bench:micro, but there is none: ./run.sh bench:micro makes one.',
    );
  }
  const numbers = assumedFromPaper();
  const changes = [
    ...topology(micro),
    ...costsOf(micro),
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
    missing: (['oracle', 'mapreduce'] as const)
      .filter((name) => records[name] === null)
      .map(
        (name) =>
          `There is no record of ${SCRIPTS[name]}, so its costs are those of paper-2010: ./run.sh ${SCRIPTS[name]} makes one.`,
      ),
  };
}

/** The newest one, those that were measured here before those of the reference. */
function newest(experiment: string, table: string, folders: readonly string[]): RunRecord | null {
  const records = folders.flatMap((folder) => findRuns(folder).map(({ record }) => record));
  const isUsable = (record: RunRecord): boolean =>
    record.experiment === experiment &&
    record.state === 'finished' &&
    record.profile !== 'smoke' &&
    record.findings?.check.passed === true &&
    record.findings.tables.some(({ name }) => name === table);
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

/**
 * In one process, processor time of a call has no sides: the store's is the server's, the engine's
 * the client's. A raw operation carries a cell; the message of a Percolator read finds two.
 */
function costsOf(record: RunRecord): readonly Change[] {
  const cpu = (operation: string): number =>
    must(record, numberIn(record, 'processor', 'client CPU us', 'embedded', operation), operation);
  const source = (what: string): string => `run ${record.runId}, processor time of ${what}`;
  const read = cpu('raw read');
  const message = cpu('message: read of lock, write and data');
  const perCell = Math.max(0, message - read);
  const timestamp = cpu('start timestamp');
  const conditional = (cpu('message: prewrite') + cpu('message: commit')) / 2;
  const engineRead = cpu('Percolator read') - message - timestamp;
  const engineWrite = cpu('Percolator write') - 2 * conditional - 2 * timestamp;
  const cells = (kind: string): readonly Change[] => [
    [
      `storage.${kind}.perCell.serverUs`,
      { value: perCell, source: source('a read of two cells less one of one cell') },
    ],
    [`storage.${kind}.perCell.clientUs`, assumed(0, 'counted at the server')],
  ];
  const fixed = (kind: string, serverUs: number, clientUs: number, what: string) =>
    [
      [`storage.${kind}.fixed.serverUs`, { value: Math.max(0, serverUs), source: source(what) }],
      [
        `storage.${kind}.fixed.clientUs`,
        { value: Math.max(0, clientUs), source: source(`the engine around ${what}`) },
      ],
    ] as const;
  const log = must(record, numberIn(record, 'in-process', 'median us', 'raw write'), 'raw write');
  const memory = numberIn(record, 'in-process', 'median us', 'raw write, storage in memory') ?? 0;
  return [
    ['storage.call.fixed.serverUs', assumed(0, 'calls stay in the process')],
    ['storage.call.fixed.clientUs', assumed(0, 'calls stay in the process')],
    ['storage.call.perByte.serverNs', assumed(0, 'part of the measured operations')],
    ['storage.call.perByte.clientNs', assumed(0, 'part of the measured operations')],
    ...['read', 'mutate', 'conditionalMutate', 'scan'].flatMap(cells),
    ...fixed('read', read - perCell, engineRead, 'a raw read'),
    ...fixed('mutate', cpu('raw write') - perCell, 0, 'a raw write'),
    ...fixed(
      'conditionalMutate',
      conditional - 2 * perCell,
      engineWrite / 2,
      'prewrite and commit, the mean of both',
    ),
    ...fixed('scan', read - perCell, engineRead, 'a raw read, for each row'),
    ['storage.maintenancePerByteNs', assumed(0, 'part of the measured operations')],
    [
      'log.wait.medianUs',
      {
        value: log - memory,
        source: `run ${record.runId}, a raw write on disk less one in memory`,
      },
    ],
    ['log.wait.p99Us', assumed(10 * (log - memory), 'ten times the median')],
    ['cache.bytesPerServer', assumed(1e12, 'the embedded store reads through the page cache')],
  ];
}

/** Server and clients share the cores: what the clients did not use is the server's. */
function oracleCosts(record: RunRecord): readonly Change[] {
  const [row] = record.findings?.tables.find(({ name }) => name === 'timestamps')?.rows ?? [];
  const [clients, , perSecond, , clientNs] = (row ?? []).map(Number);
  const cores = Math.min(record.environment.cores, 1 + (clients ?? 1));
  const serverUs = (1e6 * cores) / (perSecond ?? Number.NaN) - (clientNs ?? 0) / 1000;
  const source = `run ${record.runId}, ${cores} cores less the processor time of the clients`;
  return [
    [
      'oracle.perTimestampUs',
      { value: must(record, serverUs > 0 ? serverUs : null, 'a rate'), source },
    ],
  ];
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
    ['batch.splitBytes', assumed(6.4e7, 'at most 64 MiB (mapreduce-baseline/job-options.ts)')],
    ['batch.map.perRecordUs', perRecord],
    ['batch.map.perByteNs', assumed(0, 'part of the measured processor time')],
    ['batch.sort.perRecordUs', perRecord],
    ['batch.reduce.perRecordUs', perRecord],
    ['batch.stragglers.share', assumed(0, 'there is one machine')],
    ['disk.bytesPerSecond', assumed(1e10, 'the documents are in the page cache')],
  ];
}

function assumed(value: number, source: string): Omit<Entry, 'unit'> {
  return { value, source, assumed: true };
}

function must(record: RunRecord, value: number | null, what: string): number {
  if (value !== null) return value;
  throw new UsageError(`The record ${record.runId} does not say what it measured of ${what}.`);
}

/** All numbers of paper-2010, none of which was measured here. */
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
  const digits = Number(value.toPrecision(6));
  parent[last] = { value: digits, unit, source, ...(isAssumed === true ? { assumed: true } : {}) };
}
