/** Which records of this machine count: those whose settings the virtual cluster has as well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFERENCE_FOLDER, type ResultSeries, type RunRecord } from '#results';
import {
  measuredBatchSeconds,
  measuredBrokerage,
  measuredCores,
  measuredCrawl,
  measuredLatencies,
  measuredRatios,
  measuredRecovery,
  newest,
  runsIn,
} from './measured.ts';

const RUNS = runsIn([REFERENCE_FOLDER]);

/** A newer run than `record`, with other parameters, and after it the runs of the reference. */
function withNewer(record: RunRecord | null, parameters: RunRecord['parameters']): RunRecord[] {
  assert.ok(record !== null);
  const newer = { ...record, runId: 'newer', parameters: { ...record.parameters, ...parameters } };
  return [newer, ...RUNS];
}

test('a crawl counts with the settings that are simulated', () => {
  for (const on of ['embedded', 'hbase'] as const) {
    const counted = measuredCrawl(on, RUNS);
    const record = newest(RUNS, 'crawl-rate', ({ runId }) => runId === counted?.runId);
    const idOf = (parameters: RunRecord['parameters']): string | undefined =>
      measuredCrawl(on, withNewer(record, parameters))?.runId;
    assert.equal(idOf({}), 'newer');
    assert.equal(idOf({ concurrency: 64 }), 'newer');
    assert.equal(idOf({ processes: 2 }), counted?.runId);
    assert.equal(idOf({ store: 'emulator' }), counted?.runId);
    assert.equal(idOf({ batching: 'on' }), counted?.runId);
    assert.equal(idOf({ prefetch: 'learn' }), counted?.runId);
    assert.equal(idOf({ scanners: 4 }), counted?.runId);
  }
});

test('the batch of a crawl counts if it is our own', () => {
  const record = newest(RUNS, 'crawl-rate', ({ runId }) => {
    return runId === measuredCrawl('embedded', RUNS)?.runId;
  });
  assert.ok((measuredCrawl('embedded', withNewer(record, {}))?.batch.length ?? 0) > 0);
  const spark = measuredCrawl('embedded', withNewer(record, { batch: 'spark' }));
  assert.equal(spark?.runId, 'newer');
  assert.deepEqual([spark.batch, spark.batchRunSeconds], [[], null]);
});

test('a brokerage counts with the settings that are simulated', () => {
  const counted = measuredBrokerage(RUNS);
  const record = newest(RUNS, 'brokerage', ({ runId }) => runId === counted?.runId);
  const idOf = (parameters: RunRecord['parameters']): string | undefined =>
    measuredBrokerage(withNewer(record, parameters))?.runId;
  assert.equal(idOf({}), 'newer');
  assert.equal(idOf({ batching: 'off' }), 'newer');
  assert.equal(idOf({ system: 'both' }), counted?.runId, 'an older run of ours alone');
  assert.equal(idOf({ store: 'embedded, emulator' }), counted?.runId);
  assert.equal(idOf({ processes: 2 }), counted?.runId);
  assert.equal(idOf({ broker: 'inline' }), counted?.runId);
  assert.equal(idOf({ prefetch: 'learn' }), counted?.runId);
});

test('a brokerage counts without its processor times, where its record does not have them', () => {
  const counted = measuredBrokerage(RUNS);
  const record = newest(RUNS, 'brokerage', ({ runId }) => runId === counted?.runId);
  assert.ok(counted !== null && record?.findings != null);
  const tables = record.findings.tables.map((table) => ({
    ...table,
    rows: table.rows.map((row) =>
      row.map((cell, i) => (table.columns[i]?.startsWith('CPU ms per TR') === true ? null : cell)),
    ),
  }));
  const unknown = { ...record, findings: { ...record.findings, tables } };
  const found = measuredBrokerage([unknown]);
  assert.deepEqual(found?.full, { ...counted.full, cpuMs: null });
  assert.deepEqual(
    found.paced,
    counted.paced.map(({ tradesPerSecond, medianMs }) => ({
      tradesPerSecond,
      cpuMs: null,
      medianMs,
    })),
  );
  assert.equal(measuredCores(RUNS).length, 1);
  assert.deepEqual(measuredCores([unknown]), []);
});

test('ratios count with the settings that are simulated', () => {
  const places = new Map([['read', 1]]);
  const counted = measuredRatios(places, RUNS);
  assert.ok(counted.length > 0);
  const record = newest(RUNS, 'micro', (one) =>
    String(one.parameters['store']).includes('embedded'),
  );
  /** The ratios if there is also a newer run, without any: none if that run counts. */
  const ratiosAfter = (parameters: RunRecord['parameters']): unknown => {
    const [newer, ...others] = withNewer(record, parameters);
    assert.ok(newer?.findings != null);
    const empty = { ...newer, findings: { ...newer.findings, tables: [] } };
    return measuredRatios(places, [empty, ...others]);
  };
  assert.deepEqual(ratiosAfter({}), []);
  assert.deepEqual(ratiosAfter({ concurrency: 1 }), []);
  assert.deepEqual(ratiosAfter({ processes: 2 }), counted);
  assert.deepEqual(ratiosAfter({ batching: 'on' }), counted);
  assert.deepEqual(ratiosAfter({ prefetch: 'learn' }), counted);
  assert.deepEqual(ratiosAfter({ noFsync: true }), counted);
});

test('a recovery counts if region servers were killed, and not stopped for a while', () => {
  const record = newest(RUNS, 'failover', () => true);
  const [killed] = measuredRecovery(RUNS);
  assert.ok(killed !== undefined && killed.points.length > 0);
  for (const parameters of [{ pause: true }, { kill: 'oracle' }]) {
    const others = RUNS.filter(({ experiment }) => experiment !== 'failover');
    const [other] = withNewer(record, parameters);
    assert.ok(other !== undefined);
    assert.deepEqual(measuredRecovery([other, ...others]), []);
  }
});

test('a run whose check failed does not count', () => {
  const record = newest(RUNS, 'failover', () => true);
  assert.ok(record?.findings != null);
  const check = { passed: false, detail: 'a row was lost' };
  const failed = { ...record, runId: 'failed', findings: { ...record.findings, check } };
  assert.equal(newest([failed, ...RUNS], 'failover', () => true)?.runId, record.runId);
});

/* What this machine measured, next to the virtual cluster: the runs of the reference. */

/** The user's own runs may be of any load, so they are left out. */
const SERIES_RUNS = runsIn([REFERENCE_FOLDER]);

function named(all: readonly ResultSeries[], name: string): readonly { x: number; y: number }[] {
  const found = all.find((one) => one.name === name);
  assert.ok(found !== undefined && found.points.length > 0, name);
  return found.points;
}

test('a document waits one to two batch runs for MapReduce, and a small part of one for Percolator', () => {
  const seconds = measuredBatchSeconds(SERIES_RUNS) ?? Number.NaN;
  const latencies = measuredLatencies(SERIES_RUNS);
  for (const { y } of named(latencies, 'this machine, MapReduce')) {
    assert.ok(y > seconds && y < 2 * seconds, `${y} of ${seconds} s`);
  }
  const [first] = named(latencies, 'this machine, Percolator');
  assert.ok(first !== undefined && first.y < seconds / 20);
});

test('ratios are at the place of their operation, and those of a second store next to it', () => {
  const ratios = measuredRatios(
    new Map([
      ['read', 1],
      ['write', 2],
    ]),
    SERIES_RUNS,
  );
  const [embedded, other] = ratios;
  assert.deepEqual(
    embedded?.points.map(({ x }) => x),
    [1, 2],
  );
  assert.deepEqual(
    other?.points.map(({ x }) => x),
    [1.1, 2.1],
  );
  assert.ok(ratios.every(({ points }) => points.every(({ y }) => y > 0 && y < 1)));
});

test('cores grow with the load, and before a kill all that arrives is completed', () => {
  const cores = named(measuredCores(SERIES_RUNS), 'this machine, Percolator');
  assert.ok((cores.at(-1)?.y ?? 0) > (cores[0]?.y ?? Infinity));
  const recovery = named(measuredRecovery(SERIES_RUNS), 'this machine, HBase');
  const before = recovery.filter(({ x }) => x < 0).map(({ y }) => y);
  const mean = before.reduce((sum, y) => sum + y, 0) / before.length;
  assert.ok(before.length > 10 && mean > 90 && mean < 110, String(mean));
  assert.ok(recovery.some(({ x, y }) => x >= 0 && y < 50));
});
