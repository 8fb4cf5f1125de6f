/** The simulated batch: volumes are those of the real one, and time follows from machines and costs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine/base';
import type { Calibration } from '../calibration/calibration.ts';
import { loadCalibration } from '../calibration/load.ts';
import { clusteringVolumes } from './clustering.ts';
import { type BatchOptions, simulateBatch, simulateRun } from './cycles.ts';
import { simulateJob } from './job.ts';

const { calibration: paper } = loadCalibration('paper-2010');
const options: BatchOptions = {
  calibration: paper,
  repository: 1e9,
  documentBytes: 1024,
  contents: 'always',
  backupTasks: true,
  seed: 1,
};

describe('the volumes of the three phases', () => {
  const volumes = clusteringVolumes({ documents: 1e6, documentBytes: 1024, contents: 'once' });

  test('leave as many clusters as the reference run of figure 7 has', () => {
    assert.ok(Math.abs((volumes.at(-1)?.outputRecords ?? 0) / 305_003 - 1) < 0.002);
  });

  test('end with one id of 11 bytes for each document, as the real output does', () => {
    assert.ok(Math.abs((volumes.at(-1)?.outputBytes ?? 0) / 11e6 - 1) < 0.001);
  });

  test('hold all documents in each phase, if contents travel along', () => {
    const always = clusteringVolumes({ documents: 1e6, documentBytes: 1024, contents: 'always' });
    assert.ok(
      always.every(
        ({ inputBytes, shuffledBytes }) => inputBytes >= 1.024e9 && shuffledBytes > 1.024e9,
      ),
    );
  });
});

describe('a job', () => {
  const volume = {
    inputRecords: 1e6,
    inputBytes: 1e9,
    shuffledBytes: 1e8,
    outputRecords: 5e5,
    outputBytes: 5e7,
  };
  const seconds = (calibration: Calibration, backupTasks = true): number =>
    simulateJob(volume, { calibration, backupTasks, random: createRandom(1) }).seconds;
  const paperWith = (
    batch: Partial<Calibration['batch']>,
    cluster = paper.cluster,
  ): Calibration => ({
    ...paper,
    cluster,
    batch: { ...paper.batch, ...batch },
  });

  test('takes the work of its tasks, divided by the cores, if nothing else takes time', () => {
    const plain: Calibration = {
      ...paperWith(
        { jobStartMs: 0, taskStartMs: 0, splitBytes: 1e5, stragglers: { share: 0, times: 1 } },
        { ...paper.cluster, tabletServers: 1 },
      ),
      disk: { perMachine: 4, bytesPerSecond: 1e15 },
      network: { ...paper.network, bytesPerSecond: 1e15 },
    };
    // 20 µs and 1,000 times 20 ns for a map of a record, 10 for its sort, 20 for its reduce.
    assert.ok(Math.abs(seconds(plain) - (1e6 * 70e-6) / 4) < 0.02);
  });

  test('is slower with a slow machine, and less so with backup tasks', () => {
    const small = { ...paper.cluster, tabletServers: 20 };
    const calm = paperWith({ splitBytes: 1e6, stragglers: { share: 0, times: 1 } }, small);
    const slow = paperWith({ splitBytes: 1e6, stragglers: { share: 0.1, times: 10 } }, small);
    assert.ok(seconds(slow, false) > 1.2 * seconds(calm, false));
    assert.ok(seconds(slow, true) < seconds(slow, false));
  });
});

describe('the batch of figure 7', () => {
  test('is flat at low rates: the latency is one and a half runs', () => {
    const [one, six] = [1, 6].map((rate) => simulateBatch(rate, options));
    assert.ok(one?.medianSeconds != null && six?.medianSeconds != null);
    assert.ok(six.medianSeconds / one.medianSeconds < 1.05);
    assert.ok(Math.abs(one.medianSeconds / one.runSeconds - 1.5) < 0.1);
  });

  test('sustains more than 100 % per hour, and has a wall', () => {
    assert.ok(simulateBatch(100, options).medianSeconds !== null);
    assert.equal(simulateBatch(100_000, options).medianSeconds, null);
  });

  test('is the same for the same seed', () => {
    assert.deepEqual(simulateRun(1e9, options), simulateRun(1e9, options));
  });
});
