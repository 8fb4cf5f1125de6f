/** The calibration of this machine comes from run records, and predicts another run of the batch. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { numberIn, readRunRecord, REFERENCE_FOLDER, UsageError } from '#results';
import { runScript } from '../../harness/testing/run-script.ts';
import { simulateBatch, simulateRun } from '../batch/cycles.ts';
import { loadCalibration, parseCalibration } from './load.ts';
import { assumedPlaces } from './sensitivity.ts';
import { calibrateHBase, calibrateThisMachine } from './this-machine.ts';

const MAIN = new URL('main.ts', import.meta.url);

test('the records of the reference give costs, and a sentence for what is missing', () => {
  const { file, used, missing } = calibrateThisMachine([REFERENCE_FOLDER]);
  const { calibration } = parseCalibration(file, 'x');
  assert.deepEqual(used.length + missing.length, 4);
  for (const one of missing) assert.match(one, /^There is no record of bench:[\w -]+, so .*\.$/);
  assert.equal(calibration.cluster.tabletServers, 1);
  assert.ok(calibration.storage.read.fixed.serverUs < calibration.storage.mutate.fixed.serverUs);
});

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
  test('an operation of one caller takes as long as it did', () => {
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

  test('there is none without records of bench:micro on HBase', () => {
    assert.equal(calibrateHBase([temporaryFolder()]), null);
  });
});

describe('with it the batch takes as long as it did', () => {
  const { calibration } = parseCalibration(calibrateThisMachine([REFERENCE_FOLDER]).file, 'x');
  const given = { calibration, documentBytes: 1024, repository: 1e6, seed: 1 };
  const options = { ...given, contents: 'once', backupTasks: true } as const;
  const { seconds } = simulateRun(1e6, options);
  const points = readRunRecord(path.join(REFERENCE_FOLDER, 'figure-7')).points.flatMap((point) =>
    point.system === 'mapreduce' && point.latency !== null
      ? [{ rate: point.ratePercentPerHour, meanMs: point.latency.meanMs }]
      : [],
  );

  test('in the record that it was made from', () => {
    const record = readRunRecord(path.join(REFERENCE_FOLDER, 'batch-engines'));
    const measured = numberIn(record, 'engines', 'seconds', 'MapReduce') ?? Number.NaN;
    within(0.15, seconds / measured, 'a run');
  });

  test('at one crawl rate of figure 7 relative to the others', () => {
    const [first] = points;
    assert.ok(first !== undefined && points.length > 3);
    const predicted = (rate: number): number => simulateBatch(rate, options).medianSeconds ?? 0;
    for (const { rate, meanMs } of points) {
      const measured = meanMs / first.meanMs;
      within(0.15, predicted(rate) / predicted(first.rate) / measured, `${rate} %`);
    }
  });

  test('in figure 7, which was measured in another hour of a shared machine', () => {
    // Half a run until the next one begins, and a run.
    for (const { rate, meanMs } of points) within(0.3, seconds / (meanMs / 1500), `${rate} %`);
  });
});

function within(errorMax: number, ratio: number, what: string): void {
  assert.ok(Math.abs(ratio - 1) < errorMax, `${what}: ${ratio}`);
}
