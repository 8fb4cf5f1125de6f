/** Which records of this machine count: those whose settings the virtual cluster has as well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFERENCE_FOLDER, type RunRecord } from '#results';
import { measuredBrokerage, measuredCrawl, newest, runsIn } from './measured.ts';
import { measuredCores, measuredRatios, measuredRecovery } from './measured-series.ts';

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

test('a crawl with a failed check of a point, or of the real pages, does not count', () => {
  const counted = measuredCrawl('embedded', RUNS);
  const record = newest(RUNS, 'crawl-rate', ({ runId }) => runId === counted?.runId);
  assert.ok(record?.crawl != null);
  const check = { passed: false, detail: 'a document was in a wrong cluster' };
  const points = record.points.map((point) =>
    point.verdict === 'saturated' ? { ...point, check, latency: null } : point,
  );
  for (const failure of [{ points }, { crawl: { ...record.crawl, check } }]) {
    const failed: RunRecord = { ...record, runId: 'failed', ...failure };
    assert.equal(measuredCrawl('embedded', [failed, ...RUNS])?.runId, counted?.runId);
  }
});
