/** The verdicts of a reproduction, on the reference runs and on changed copies of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunRecord } from '../run-record.ts';
import { type ExperimentName, referenceRecords } from './experiments.ts';
import { type Reproduced, reproductionOf, reproductionPage, summaryOf } from './reproduction.ts';

const reference = referenceRecords();

type Records = ReadonlyMap<ExperimentName, RunRecord>;

function reproduce(yours: Records, from: Records = reference): readonly Reproduced[] {
  return reproductionOf({ reference: from, yours, missing: new Map() });
}

function rowOf(rows: readonly Reproduced[], id: string): Reproduced {
  const found = rows.find((row) => row.id === id);
  assert.ok(found !== undefined, id);
  return found;
}

/** The reference with another number in a row of a table, which begins with these cells. */
function withNumber(
  name: ExperimentName,
  [table, column, ...first]: readonly string[],
  change: (value: number) => number,
): Records {
  const record = reference.get(name);
  assert.ok(record !== undefined);
  const tables = record.findings.tables.map((one) => {
    if (one.name !== table) return one;
    const at = one.columns.lastIndexOf(column ?? '');
    const rows = one.rows.map((row) =>
      first.every((cell, i) => row[i] === cell) ? row.with(at, change(Number(row[at]))) : row,
    );
    return Object.assign({}, one, { rows });
  });
  const changed = { ...record, findings: { ...record.findings, tables } };
  return new Map(reference).set(name, changed);
}

test('the reference runs reproduce themselves, also where the paper’s claim does not hold', () => {
  const rows = reproduce(reference);
  const missed = rows.filter(({ verdict }) => !verdict.startsWith('as the '));
  assert.deepEqual(missed, []);
  assert.equal(rowOf(rows, 'waiting').verdict, 'as the reference');
});

test('a number outside of the tolerance is a miss, and says which it was', () => {
  const withOperations = (count: number) =>
    withNumber('web-index', ['cost', 'operations', 'observers, recrawls'], () => count);
  const verdictOf = (count: number) =>
    rowOf(reproduce(withOperations(count), withOperations(200)), 'operations');
  assert.equal(verdictOf(240).verdict, 'as the reference');
  const missed = verdictOf(260);
  assert.equal(missed.verdict, 'MISSED');
  assert.match(missed.reason ?? '', /recrawl.* outside of the tolerance/);
  assert.equal(verdictOf(120).verdict, 'as the reference', 'fewer operations are better');
  assert.equal(verdictOf(40).verdict, 'as the paper');
});

test('one store outside of the tolerance is a miss, in either direction where neither is better', () => {
  for (const times of [1.6, 0.6]) {
    const place = ['cost', 'relative to functions', 'Percolator, emulator'];
    const yours = withNumber('brokerage', place, (value) => value * times);
    const { verdict, reason } = rowOf(reproduce(yours), 'processor');
    assert.deepEqual([verdict, reason?.includes('emulator')], ['MISSED', true]);
  }
});

test('a store that was not measured is not compared', () => {
  const yours = new Map(reference);
  yours.delete('micro-hbase');
  assert.equal(rowOf(reproduce(yours), 'reads').verdict, 'as the reference');
});

test('a run whose check failed is a miss, and one that was not made has its reason', () => {
  const record = reference.get('failover');
  assert.ok(record !== undefined);
  const check = { passed: false, detail: 'an order is lost' };
  const failed = { ...record, findings: { ...record.findings, check, tables: [] } };
  const lost = rowOf(reproduce(new Map([['failover', failed]])), 'recovery');
  assert.deepEqual([lost.verdict, lost.reason], ['MISSED', 'its check failed: an order is lost']);
  const missing = new Map([
    ['failover', { reason: 'Java is missing.', hasFailed: false }],
  ] as const);
  const rows = reproductionOf({ reference, yours: new Map(), missing });
  const { verdict, reason } = rowOf(rows, 'recovery');
  assert.deepEqual([verdict, reason], ['not run', 'Java is missing.']);
  assert.match(summaryOf(rows), /^10 claims of the paper: 10 not run\.$/);
});

test('a smoke run judges nothing', () => {
  const smoke = new Map(
    [...reference].map(([name, record]) => [name, Object.assign({}, record, { profile: 'smoke' })]),
  );
  const verdicts = new Set(reproduce(smoke).map(({ verdict }) => verdict));
  assert.deepEqual([...verdicts], ['not judged']);
});

test('the page says what makes a run doubtful before any verdict', () => {
  const [record] = [...reference.values()];
  assert.ok(record !== undefined);
  const doubtful = { ...record, doubts: ['The clock was set.'] };
  const page = reproductionPage(reproduce(reference), [{ to: 'a', record: doubtful }]);
  const at = page.indexOf('The clock was set.');
  assert.ok(at > 0 && at < page.indexOf('<table'));
});

test('the page has each claim with its tolerance and verdict, and links to the runs', () => {
  const rows = reproduce(reference);
  const [record] = [...reference.values()];
  assert.ok(record !== undefined);
  const page = reproductionPage(rows, [{ to: 'crawl-rate-1', record }]);
  for (const { paper, verdict } of rows) assert.ok(page.includes(paper) && page.includes(verdict));
  assert.match(page, /within 1\.25 times of the reference, or better/);
  assert.match(page, /href="crawl-rate-1\/report\.html"/);
});

test('a run that did not finish, or whose script failed, is a miss, also of another store than the main one', () => {
  const cut = new Map(reference);
  for (const [name, record] of reference) cut.set(name, { ...record, state: 'failed' });
  const unfinished = reproductionOf({ reference, yours: cut, missing: new Map() });
  assert.ok(unfinished.every(({ verdict }) => verdict === 'MISSED'));
  assert.match(rowOf(unfinished, 'recovery').reason ?? '', /^the run of failover did not finish$/);
  const missing = new Map([['failover', { reason: 'no space left', hasFailed: true }]] as const);
  const rows = reproductionOf({ reference, yours: new Map(), missing });
  const { verdict, reason } = rowOf(rows, 'recovery');
  assert.deepEqual([verdict, reason], ['MISSED', 'failover failed: no space left']);
});
