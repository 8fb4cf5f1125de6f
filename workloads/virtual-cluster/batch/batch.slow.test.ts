/**
 * The simulated batch: volumes are those of the real one, and time follows from machines and costs.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createRandom } from '#engine/base';
import type { Calibration } from '../calibration/calibration.ts';
import { loadCalibration } from '../calibration/load.ts';
import { createSyntheticDocuments } from '../../crawl-rate/documents/index.ts';
import { clusteringVolumes, simulateJob } from './job.ts';
import { type BatchOptions, simulateBatch, simulateRun } from './cycles.ts';

const { calibration: paper } = loadCalibration('paper-2010');
const options: BatchOptions = {
  calibration: paper,
  repository: 1e9,
  documentBytes: 1024,
  contents: 'always',
  backupTasks: true,
  seed: 1,
};

const DOCUMENT = path.join(import.meta.dirname, '../../../docs/virtual-cluster-costs.md');

function says(text: string): void {
  const document = readFileSync(DOCUMENT, 'utf8').replaceAll(/\s+/g, ' ');
  assert.ok(document.includes(text), `the document should say: ${text}`);
}

function changed(change: Partial<Calibration>): BatchOptions {
  return { ...options, calibration: { ...paper, ...change } };
}

describe('the volumes of the three phases', () => {
  const volumes = clusteringVolumes({ documents: 1e6, documentBytes: 1024, contents: 'once' });

  test('leave as many clusters as the reference run of figure 7 has', () => {
    assert.ok(Math.abs((volumes.at(-1)?.outputRecords ?? 0) / 305_003 - 1) < 0.002);
  });

  test('end with one id of 11 bytes for each document, as the real output does', () => {
    assert.ok(Math.abs((volumes.at(-1)?.outputBytes ?? 0) / 11e6 - 1) < 0.001);
  });

  test('have as many bytes in phases 2 and 3 as lines of the real batch', () => {
    const documents = createSyntheticDocuments({ repository: 1e6, documentBytes: 1024, seed: 1 });
    const { id, keys } = documents.documentOf(999_999);
    const [, second, third] = volumes;
    assert.ok(second !== undefined && third !== undefined);
    // A line has the keys and the id of a representative, and the ids of the documents that it
    // represents. So the lines of a phase have the ids of all documents.
    const idBytes = id.length + 1;
    const keyBytes = keys[2].length + 1;
    const ids = 1e6 * idBytes;
    assert.ok(Math.abs(second.inputBytes - ids - 2 * second.inputRecords * keyBytes) < 1);
    assert.ok(Math.abs(third.inputBytes - ids - third.inputRecords * keyBytes) < 1);
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

  const plainOn = (tabletServers: number): Calibration => ({
    ...paperWith(
      { jobStartMs: 0, taskStartMs: 0, splitBytes: 1e5, stragglers: { share: 0, times: 1 } },
      { ...paper.cluster, tabletServers },
    ),
    disk: { perMachine: 4, bytesPerSecond: 1e15 },
    network: { ...paper.network, bytesPerSecond: 1e15 },
  });

  test('takes the work of its tasks, divided by the cores, if nothing else takes time', () => {
    const plain = plainOn(1);
    // A record takes 20 µs and 1,000 times 20 ns in its map, 10 µs in the sort, 20 µs in a reduce.
    assert.ok(Math.abs(seconds(plain) - (1e6 * 70e-6) / 4) < 0.02);
  });

  test('waits for the network cards of its machines, and for their disks, which get three copies of its output', () => {
    const plain = plainOn(5);
    const network = { ...plain.network, bytesPerSecond: 1e5 };
    const shuffleSeconds = volume.shuffledBytes / 5 / 1e5;
    const slowCards = seconds({ ...plain, network });
    // The first bytes leave when the first map has ended.
    assert.ok(
      slowCards > shuffleSeconds && slowCards < 1.03 * (shuffleSeconds + 1),
      `${slowCards}`,
    );
    const slowDisks = seconds({ ...plain, disk: { perMachine: 4, bytesPerSecond: 1e5 } });
    const diskSeconds = (volume.inputBytes + 3 * volume.outputBytes) / (5 * 4) / 1e5;
    assert.ok(Math.abs(slowDisks / diskSeconds - 1) < 0.01, `${slowDisks} of ${diskSeconds}`);
  });

  test('may have hundreds of thousands of splits', () => {
    const split = { ...volume, inputBytes: 3e10 };
    const job = { calibration: plainOn(100), backupTasks: true, random: createRandom(1) };
    assert.ok(simulateJob(split, job).seconds > 1);
  });

  test('gives each idle core a copy of a task that runs on another machine', () => {
    const plain = plainOn(2);
    const calibration = { ...plain, cluster: { ...plain.cluster, tabletServerCores: 2 } };
    const job = { calibration, backupTasks: true, random: createRandom(1) };
    // Six maps on two machines of two cores: in the second wave, each machine has an idle core.
    const { copies } = simulateJob({ ...volume, inputRecords: 6_000, inputBytes: 6e5 }, job);
    assert.equal(copies, 2);
  });

  test('is slower with slow machines, and less so with backup tasks', () => {
    const small = { ...paper.cluster, tabletServers: 20 };
    const calm = paperWith({ splitBytes: 1e6, stragglers: { share: 0, times: 1 } }, small);
    const slow = paperWith({ splitBytes: 1e6, stragglers: { share: 0.1, times: 10 } }, small);
    assert.ok(seconds(slow, false) > 1.2 * seconds(calm, false));
    assert.ok(seconds(slow, true) < 0.9 * seconds(slow, false));
  });
});

describe('the batch of figure 7', () => {
  test('is flat at low rates: the latency is one and a half runs', () => {
    const [one, six] = [1, 6].map((rate) => simulateBatch(rate, options));
    assert.ok(one?.medianSeconds != null && six?.medianSeconds != null);
    assert.ok(six.medianSeconds / one.medianSeconds < 1.05);
    assert.ok(Math.abs(one.medianSeconds / (one.runSeconds ?? Number.NaN) - 1.5) < 0.1);
  });

  test('sustains more than 100 % per hour, and has a wall', () => {
    assert.ok(simulateBatch(100, options).medianSeconds !== null);
    assert.equal(simulateBatch(100_000, options).medianSeconds, null);
  });

  test('has a latency only at rates at which the batches stop growing', () => {
    const calibration = { ...paper, cluster: { ...paper.cluster, tabletServers: 4 } };
    const small = { ...options, calibration, repository: 1e7 };
    const [one, two] = [1, 2].map((times) => simulateRun(times * 1e7, small).seconds);
    assert.ok(one !== undefined && two !== undefined);
    // At this rate, the documents that arrive in a second lengthen the next run by a second.
    const rateMax = (100 * 3600) / (two - one);
    const near = simulateBatch(0.85 * rateMax, small);
    const ratio = (near.runSeconds ?? Number.NaN) / one;
    assert.ok(Math.abs(ratio - 1 / (1 - 0.85)) < 1, `${ratio}`);
    assert.ok((near.medianSeconds ?? 0) > 1.4 * one * ratio, `${near.medianSeconds}`);
    const above = { rate: 1.1 * rateMax, medianSeconds: null, runSeconds: null };
    assert.deepEqual(simulateBatch(above.rate, small), { ...above, cpuSecondsPerRun: null });
  });

  test('has the levels that the document states for other assumed numbers', () => {
    const level = (change: Partial<Calibration>, rate = 1): string => {
      const { medianSeconds } = simulateBatch(rate, changed(change));
      return ((medianSeconds ?? Number.NaN) / 60).toFixed(1);
    };
    const cluster = { ...paper.cluster, tabletServerCores: paper.cluster.tabletServerCores / 2 };
    const disk = { ...paper.disk, bytesPerSecond: paper.disk.bytesPerSecond / 2 };
    const batch = { ...paper.batch, jobStartMs: 2 * paper.batch.jobStartMs };
    says(`instead of four make it ${level({ cluster })} min`);
    says(`disks half as fast ${level({ disk })} min`);
    says(`instead of one ${level({ batch })} min`);
    says(`400 % per hour at ${level({}, 400)} min`);
  });

  test('is as much longer with stragglers as the document states', () => {
    const batch = { ...paper.batch, stragglers: { share: 0, times: 1 } };
    const longer = (given: Partial<BatchOptions>): string => {
      const [none, some] = [
        { ...changed({ batch }), ...given },
        { ...options, ...given },
      ].map((each) => simulateBatch(1, each).runSeconds ?? Number.NaN);
      return `${(100 * ((some ?? 0) / (none ?? 0) - 1)).toFixed(0)} %`;
    };
    says(`of whole documents ${longer({})} longer`);
    says(`of keys alone ${longer({ contents: 'once' })}, and`);
    says(`${longer({ contents: 'once', backupTasks: false })} without backup tasks`);
  });

  test('is the same for the same seed, and not for another one', () => {
    const slower = { ...paper.batch, stragglers: { share: 0.1, times: 3 } };
    const given = { ...options, calibration: { ...paper, batch: slower } };
    assert.deepEqual(simulateRun(1e9, given), simulateRun(1e9, given));
    assert.notDeepEqual(simulateRun(1e9, { ...given, seed: 2 }), simulateRun(1e9, given));
  });
});
