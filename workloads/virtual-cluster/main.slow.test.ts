/** The figures at their smallest size, as a user starts them. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { runScript } from '../harness/testing/run-script.ts';
import { measuredCrawl } from './measured.ts';

const BENCH = path.join(import.meta.dirname, 'main.ts');

test("figure 8 gives ratios that are near the paper's, and the same each time", async () => {
  const words = ['--figure', '8', '--profile', 'smoke'];
  const [first, second] = await Promise.all([runScript(BENCH, words), runScript(BENCH, words)]);
  assert.equal(first.exitCode, 0, first.stderr);
  const { findings, state } = first.record();
  assert.equal(state, 'finished');
  assert.deepEqual(second.record().findings, findings);
  const [rates] = findings?.tables ?? [];
  const relative = rates?.rows.slice(2).map((row) => Number(row[4])) ?? [];
  const [read, write] = relative;
  assert.ok(read !== undefined && read > 0.85 && read < 1, String(read));
  assert.ok(write !== undefined && write > 0.15 && write < 0.3, String(write));
});

test('figure 7 keeps up at low rates, and not above the capacity', async () => {
  const words = ['--profile', 'smoke', '--rates', '10,200', '--machines', '3', '--jobs', '2'];
  const ended = await runScript(BENCH, words);
  assert.equal(ended.exitCode, 0, ended.stderr);
  const { findings, state, profile, parameters } = ended.record();
  assert.equal(state, 'finished');
  assert.equal(profile, 'custom');
  assert.deepEqual(parameters, {
    figure: '7',
    calibration: 'paper-2010',
    seed: 1,
    machines: 3,
    rates: [10, 200],
    repositories: [50_000, 100_000],
    concurrency: 256,
    scanRest: 100,
    jobs: 2,
    warmUp: 0.3,
    seconds: 0.6,
    isVaried: false,
  });
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  const [rates, batch, ratio, , scale] = findings.tables;
  const medians = rates?.rows.map((row) => row[5]) ?? [];
  assert.ok(Number(medians[1]) > 10, String(medians[1]));
  assert.equal(medians[2], null);
  assert.equal(scale?.rows.length, 2);
  assert.equal(batch?.rows.length, 5);
  assert.deepEqual(ratio?.rows[0], ['paper', 833_300, 111_100, 7.5]);
  assert.match(findings.headline, /A document costs q = \d+\.\d times what it costs the batch/);
  assert.match(findings.headline, /3 machines cluster at most \d+ % of the repository per hour/);
  assert.deepEqual(
    findings.charts.map(({ name }) => name),
    ['figure-7', 'normalised'],
  );
  for (const { series } of findings.charts) {
    assert.ok(series.some(({ name }) => name === 'paper'));
  }
  const [figure] = findings.charts;
  assert.ok(figure?.series.some(({ name }) => name === 'this machine, Percolator'));
});

test('figure 9 is a straight line, with the conditions of the brokerage checked', async () => {
  const { findings } = (await runScript(BENCH, ['--figure', '9', '--profile', 'smoke'])).record();
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  assert.match(findings.headline, /takes 0\.\d+ core seconds, on a straight line with R² 0\.9\d+/);
  assert.match(findings.headline, /The cluster keeps up with all loads here\.$/);
});

test('figure 10 recovers once the deaths are noticed, and loses nothing', async () => {
  const words = ['--figure', '10', '--profile', 'smoke'];
  const { findings, parameters } = (await runScript(BENCH, words)).record();
  const size = { load: 4, before: 6, after: 30 };
  assert.deepEqual(parameters, { figure: '10', calibration: 'paper-2010', seed: 1, ...size });
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  const [servers, detection, , lowest, recovery] = findings.tables[0]?.rows[0] ?? [];
  assert.equal(servers, 15);
  assert.ok(Number(lowest) < 50, String(lowest));
  assert.ok(Number(recovery) > Number(detection) && Number(recovery) < Number(detection) + 5);
});

test('an oracle serves more with batches, and never more than its processor can', async () => {
  const words = ['--figure', 'oracle', '--profile', 'smoke'];
  const { findings } = (await runScript(BENCH, words)).record();
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  const [single, batched] = findings.tables[0]?.rows.map((row) => row.map(Number)) ?? [];
  assert.equal(single?.[2], 1);
  assert.ok((batched?.[1] ?? 0) > 10 * (single?.[1] ?? Infinity));
  assert.ok((batched?.[1] ?? Infinity) < 2e6); // Half a microsecond for each.
});

test('an oracle serves the machines of workers, where a calibration has some', async () => {
  const words = ['--figure', 'oracle', '--profile', 'smoke', '--calibration', 'hbase'];
  const { findings } = (await runScript(BENCH, words)).record();
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([callers]) => callers),
    [4, 256], // 1 and 64 on each of 4 machines.
  );
});

test('scanners clean fewer rows without locks than with them', async () => {
  const words = ['--figure', 'scanners', '--profile', 'smoke'];
  const { findings } = (await runScript(BENCH, words)).record();
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  const [none, skip, jump] = findings.tables[0]?.rows.map((row) => Number(row[2])) ?? [];
  assert.ok(none !== undefined && skip !== undefined && jump !== undefined);
  assert.ok(skip > 1.2 * none && jump > 1.2 * none, `${none}, ${skip}, ${jump}`);
});

test('what the model predicts of this machine is compared with what was measured on it', async () => {
  const words = ['--figure', 'validation', '--profile', 'smoke'];
  const { findings, targets, parameters } = (await runScript(BENCH, words)).record();
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  assert.equal(parameters['calibration'], 'this-machine');
  const [compared, operations] = findings.tables;
  const workloads = compared?.rows.map(([workload]) => String(workload)) ?? [];
  // If the newest crawl in results/runs has a batch of another engine, no batch is predicted.
  const hasBatch =
    measuredCrawl('embedded')?.batch.some(({ latency }) => latency !== null) ?? false;
  for (const name of ['crawl-rate', 'brokerage', ...(hasBatch ? ['batch'] : [])]) {
    assert.ok(
      workloads.some((workload) => workload.startsWith(name)),
      name,
    );
  }
  const [counted, predicted] = operations?.rows.map((row) => row.slice(1)) ?? [];
  assert.deepEqual(predicted, counted);
  assert.ok(Number(counted?.[2]) > 4, String(counted));
  assert.ok(targets.some(({ name }) => name === 'operations of a document'));
});

test('costs of this machine are measured, those of the workloads as well', async () => {
  const { findings, store, parameters } = (
    await runScript(BENCH, ['--figure', 'costs', '--profile', 'smoke'])
  ).record();
  assert.equal(findings?.check.passed, true, findings?.check.detail);
  assert.equal(store?.name, 'embedded');
  assert.equal(parameters['calibration'], undefined);
  const rows = findings.tables[0]?.rows ?? [];
  const mainUs = (what: string): number => Number(rows.find(([name]) => name === what)?.[3]);
  assert.ok(mainUs('raw read') > 0);
  assert.ok(mainUs('raw write of 8 rows') > mainUs('raw write'));
  assert.ok(mainUs("a brokerage's transaction, its own code") > 1);
  assert.ok(mainUs("a document's clustering, its own code") > 0);
});
