/**
 * The calibrations of this machine, with the embedded store and with HBase, come from run records;
 * the former also predicts the batch of figure 7, from other records.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { numberIn, pointsOf, readRunRecord, REFERENCE_FOLDER, UsageError } from '#results';
import { runScript } from '../../harness/testing/run-script.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { simulateBatch, simulateRun } from '../batch/cycles.ts';
import { measureCase } from '../figure-8/measure.ts';
import { loadCalibration, parseCalibration } from './load.ts';
import { assumedPlaces } from './sensitivity.ts';
import { calibrateHBase, calibrateThisMachine } from './this-machine.ts';

const MAIN = new URL('main.ts', import.meta.url);

test('the records of the reference give costs, and a sentence for what is missing', () => {
  const { file, used, missing } = calibrateThisMachine([REFERENCE_FOLDER]);
  const { calibration } = parseCalibration(file, 'x');
  assert.deepEqual(
    used.map((one) => one.split(':')[0]),
    ['micro', 'cluster', 'mapreduce'],
  );
  assert.deepEqual(missing, [
    'There is no record of bench:oracle, so its costs are those of paper-2010: ./run.sh bench:oracle makes one.',
  ]);
  assert.equal(calibration.cluster.tabletServers, 1);
  assert.ok(calibration.storage.read.fixed.serverUs < calibration.storage.mutate.fixed.serverUs);
});

test('records of another processor are left out, if there is one of the processor of the costs', () => {
  const folder = temporaryFolder();
  for (const name of ['cluster-costs', 'micro-of-costs']) {
    cpSync(path.join(REFERENCE_FOLDER, name), path.join(folder, name), { recursive: true });
  }
  const record = readRunRecord(path.join(REFERENCE_FOLDER, 'micro-of-costs'));
  const environment = { ...record.environment, cpuModel: 'another processor' };
  const newer = { ...record, runId: 'micro-20991231T000000Z', environment };
  mkdirSync(path.join(folder, newer.runId));
  writeFileSync(path.join(folder, newer.runId, 'run.json'), JSON.stringify(newer));
  const ofMicro = (used: readonly string[]) => used.find((one) => one.startsWith('micro'));
  assert.equal(ofMicro(calibrateThisMachine([folder]).used), `micro: ${record.runId}`);
  rmSync(path.join(folder, 'cluster-costs'), { recursive: true });
  assert.equal(ofMicro(calibrateThisMachine([folder]).used), `micro: ${newer.runId}`);
});

test('operations in virtual time take the processor time of the main thread that was measured', async () => {
  const { calibration } = parseCalibration(calibrateThisMachine([REFERENCE_FOLDER]).file, 'x');
  const costs = readRunRecord(path.join(REFERENCE_FOLDER, 'cluster-costs'));
  const measured = (what: string, inFlight: number): number => {
    const us = numberIn(costs, 'costs', 'µs of the main thread', what, String(inFlight));
    const groups = numberIn(costs, 'costs', 'groups of the log', what, String(inFlight));
    const { perGroupUs, perUnsyncedGroupUs } = calibration.log;
    // Half of the groups of a transaction are those of its prewrite.
    const groupUs = what === NAMES.write ? (perGroupUs + perUnsyncedGroupUs) / 2 : perGroupUs;
    return (us ?? Number.NaN) - groupUs * (groups ?? Number.NaN);
  };
  // The model has the oracle on a machine of its own.
  const timestamp = measured(NAMES.timestamp, 64);
  const expected = {
    [NAMES.rawRead]: measured(NAMES.rawRead, 64),
    [NAMES.read]: measured(NAMES.read, 64) - timestamp,
    [NAMES.rawWrite]: measured(NAMES.rawWrite, 256),
    [NAMES.write]: measured(NAMES.write, 256) - 2 * timestamp,
  };
  const given = { rows: 300, valueBytes: 100, clients: 1, callersPerClient: 64, seed: 1 };
  for (const [name, us] of Object.entries(expected)) {
    const plan = { ...given, calibration, warmUp: 0.02, seconds: 0.05 };
    const { usage, operations } = await measureCase(plan, name);
    const calls = Object.values(usage.calls);
    const server = calls.reduce((sum, { serverUs }) => sum + serverUs, 0);
    const client = calls.reduce((sum, { clientUs }) => sum + clientUs, 0);
    // What the engine does for a read is a cost of any read, so also of a raw one.
    const total = name === NAMES.rawRead ? server : server + client;
    within(0.03, total / operations / us, name);
  }
});

test('a store that does not wait for the disk, or gathers writes, says nothing of the log', () => {
  for (const parameters of [{ noFsync: true }, { batching: 'on' }]) {
    const folder = temporaryFolder();
    const file = path.join(REFERENCE_FOLDER, 'figure-8', 'run.json');
    const record = JSON.parse(readFileSync(file, 'utf8')) as { readonly parameters: object };
    mkdirSync(path.join(folder, 'figure-8'));
    const changed = { ...record, parameters: { ...record.parameters, ...parameters } };
    writeFileSync(path.join(folder, 'figure-8', 'run.json'), JSON.stringify(changed));
    assert.throws(() => calibrateThisMachine([folder]), /needs a record of bench:micro/);
  }
});

test('a record of bench:oracle gives the processor time of a timestamp at the oracle', () => {
  const folder = temporaryFolder();
  cpSync(path.join(REFERENCE_FOLDER, 'figure-8'), path.join(folder, 'figure-8'), {
    recursive: true,
  });
  writeOracleRecord(folder, 300);
  const { file, used } = calibrateThisMachine([folder]);
  const { perTimestampUs } = file.numbers.oracle;
  // Two cores hand out 2,000,000 a second: 1 µs of processor time each, of which clients take 0.3.
  assert.equal(perTimestampUs.value, 0.7);
  assert.equal(perTimestampUs.assumed, undefined);
  assert.ok(used.includes('oracle: oracle-1'), used.join());

  writeOracleRecord(folder, 1_200);
  assert.throws(
    () => calibrateThisMachine([folder]),
    /^UsageError: The record oracle-1 cannot be used, because its clients took all the processor time: /,
  );
});

/** One client and one oracle, on the two cores of the machine of figure 8. */
function writeOracleRecord(folder: string, clientNs: number): void {
  const file = path.join(REFERENCE_FOLDER, 'figure-8', 'run.json');
  const record = JSON.parse(readFileSync(file, 'utf8')) as { readonly findings: object };
  const tables = [
    {
      name: 'timestamps',
      title: 'Timestamps',
      caption: 'Timestamps.',
      columns: ['clients', 'callers', 'timestamps/s', 'of the paper', 'CPU of clients, ns each'],
      rows: [[1, 1_000, 2_000_000, 1, clientNs]],
    },
  ];
  const changed = {
    ...record,
    experiment: 'oracle',
    runId: 'oracle-1',
    findings: { ...record.findings, tables, charts: [] },
  };
  mkdirSync(path.join(folder, 'oracle'), { recursive: true });
  writeFileSync(path.join(folder, 'oracle', 'run.json'), JSON.stringify(changed));
}

test('without a record of bench:micro there is one sentence, which says how to make one', () => {
  assert.throws(
    () => calibrateThisMachine([temporaryFolder()]),
    (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(
        error.message,
        /^A calibration .* bench:micro, .*: \.\/run\.sh bench:micro makes one\.$/,
      );
      return true;
    },
  );
});

test('the script writes a calibration that bench:cluster can read', async () => {
  const ended = await runScript(MAIN, ['--in', REFERENCE_FOLDER]);
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /Used micro: micro-/);
  const file = path.join(ended.out, 'this-machine.json');
  assert.ok(!assumedPlaces(loadCalibration(file)).includes('storage.read.fixed.serverUs'));
  const kept: unknown = JSON.parse(
    readFileSync(path.join(import.meta.dirname, 'this-machine.json'), 'utf8'),
  );
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), kept, 'ours is that of the reference');
});

describe('with HBase in place of the embedded store', () => {
  test('an operation of one caller takes as long as in the record', () => {
    const { calibration } = calibrateHBase([REFERENCE_FOLDER]) ?? assert.fail('no records');
    const { call, mutate, read } = calibration.storage;
    const record = readRunRecord(path.join(REFERENCE_FOLDER, 'micro-hbase-alone'));
    const took = (operation: string): number =>
      numberIn(record, 'processor', 'us', 'hbase', operation) ?? Number.NaN;
    const ofCall =
      call.fixed.clientUs + call.fixed.serverUs + calibration.network.roundTrip.medianUs;
    const ofRead = read.perCell.clientUs + read.fixed.serverUs;
    within(0.01, (ofCall + ofRead) / took('raw read'), 'a raw read');
    const ofWrite = mutate.perCell.clientUs + mutate.fixed.clientUs + mutate.fixed.serverUs;
    const { medianUs: waitUs } = calibration.log.wait;
    within(0.01, (ofCall + ofWrite + waitUs) / took('raw write'), 'a raw write');
    assert.ok(waitUs > 1);
  });

  test('the operations of the engine take the processor time of clients that was measured', () => {
    const { calibration } = calibrateHBase([REFERENCE_FOLDER]) ?? assert.fail('no records');
    const { call, conditionalMutate, read } = calibration.storage;
    const record = readRunRecord(path.join(REFERENCE_FOLDER, 'micro-hbase-of-costs'));
    const took = (operation: string): number =>
      numberIn(record, 'processor', 'client CPU us', 'hbase', operation) ?? Number.NaN;
    const { clientUs: callUs } = call.fixed;
    // A read finds the write record and the data; prewrite and commit mutate two cells each.
    const ofRead = callUs + read.fixed.clientUs + 2 * read.perCell.clientUs;
    within(0.01, ofRead / (took(NAMES.read) - took(NAMES.timestamp)), 'a read');
    const { fixed, perCell } = conditionalMutate;
    const ofWrite = 2 * (callUs + fixed.clientUs + 2 * perCell.clientUs);
    within(0.01, ofWrite / (took(NAMES.write) - 2 * took(NAMES.timestamp)), 'a write');
  });

  test('there is no calibration without records of bench:micro on HBase', () => {
    assert.equal(calibrateHBase([temporaryFolder()]), null);
  });
});

describe('with the calibration of this machine, the batch takes as long as it did', () => {
  const { calibration } = parseCalibration(calibrateThisMachine([REFERENCE_FOLDER]).file, 'x');
  const given = { calibration, documentBytes: 1024, repository: 1e6, seed: 1 };
  const options = { ...given, contents: 'once', backupTasks: true } as const;
  const { seconds } = simulateRun(1e6, options);
  const points = pointsOf(readRunRecord(path.join(REFERENCE_FOLDER, 'figure-7'))).flatMap((point) =>
    point.system === 'mapreduce' && point.latency !== null
      ? [{ rate: point.ratePercentPerHour, meanMs: point.latency.meanMs }]
      : [],
  );

  test('in the record that the calibration was made from', () => {
    const record = readRunRecord(path.join(REFERENCE_FOLDER, 'batch-engines'));
    const measured = numberIn(record, 'engines', 'seconds', 'MapReduce') ?? Number.NaN;
    within(0.15, seconds / measured, 'a run');
  });

  test('at each crawl rate of figure 7, relative to the first one', () => {
    const [first] = points;
    assert.ok(first !== undefined && points.length > 3);
    const predicted = (rate: number): number => simulateBatch(rate, options).medianSeconds ?? 0;
    for (const { rate, meanMs } of points) {
      const measured = meanMs / first.meanMs;
      within(0.15, predicted(rate) / predicted(first.rate) / measured, `${rate} %`);
    }
  });

  test('in figure 7', () => {
    // A document waits for half a run, on average, until the next run begins; then for that run.
    for (const { rate, meanMs } of points) within(0.3, seconds / (meanMs / 1500), `${rate} %`);
  });
});

function within(errorMax: number, ratio: number, what: string): void {
  assert.ok(Math.abs(ratio - 1) < errorMax, `${what}: ${ratio}`);
}
