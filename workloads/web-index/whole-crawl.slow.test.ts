/**
 * Whole crawls, loaded as a user loads them: the tables and the serving index are as the model
 * says, and a search finds what one expects.
 *
 * The sample in the repository is one of them. The other, all of SQLite's documentation, is too
 * large for the repository:
 *
 *     SQLITE_DOCS=sqlite-docs.warc.gz node_modules/.bin/node --test workloads/web-index/whole-crawl.slow.test.ts
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { openPercolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { runProgram } from '../harness/testing/run-script.ts';
import { checkAtRest } from './check/check.ts';
import { readCaptures } from './model/index.ts';
import type { IndexReader } from './serving/serving-index.ts';
import { openIndexReader } from './serving/sqlite-index.ts';

const MAIN = new URL('main.ts', import.meta.url);
const SAMPLE = path.join(
  import.meta.dirname,
  '../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
const DOCS = process.env['SQLITE_DOCS'] ?? '';
/** On a machine with two cores and nothing else to do. */
const DOCS_SECONDS_MAX = 60;

/** What was typed, and pages one of which should be the first result. */
type Expected = readonly (readonly [typed: string, pages: string])[];

const IN_THE_SAMPLE: Expected = [
  ['sqlite3_open', 'c3ref/open'],
  ['sqlite3_prepare', 'c3ref/prepare'],
  ['sqlite3_step', 'c3ref/step'],
  ['sqlite3_exec', 'c3ref/exec'],
  ['virtual table cursor', 'c3ref/vtab_cursor'],
  ['run-time limits', 'c3ref/limit'],
];

const IN_THE_DOCS: Expected = [
  ['sqlite3_open', 'c3ref/open'],
  ['virtual table', 'vtab'],
  ['atomic commit', 'atomiccommit'],
  ['sqlite3_prepare', 'c3ref/prepare'],
  ['sqlite3_step', 'c3ref/step'],
  ['foreign key', 'foreignkeys'],
  ['write-ahead log', 'wal'],
  ['json functions', 'json1'],
  ['date functions', 'lang_datefunc'],
  ['window functions', 'windowfunctions'],
  ['full text search', 'fts5 fts3'],
  ['query planner', 'queryplanner queryplanner-ng optoverview'],
  ['explain query plan', 'eqp'],
  ['file format', 'fileformat2'],
  ['temporary files', 'tempfiles'],
  ['how to corrupt', 'howtocorrupt'],
  ['in-memory database', 'inmemorydb'],
  ['command line shell', 'cli'],
  ['frequently asked questions', 'faq'],
  ['select', 'lang_select'],
  ['create index', 'lang_createindex'],
  ['create table', 'lang_createtable'],
  ['vacuum', 'lang_vacuum'],
  ['pragma', 'pragma'],
  ['limits', 'limits'],
  ['datatypes', 'datatype3'],
  ['isolation', 'isolation'],
  ['threads', 'threadsafe'],
  ['partial index', 'partialindex'],
  ['result codes', 'rescode'],
];

interface LoadedCrawl {
  /** How the program says it went. */
  readonly sentence: string;
  readonly index: IndexReader;
  /** What violates the invariants, or differs from the model. */
  readonly findings: readonly string[];
}

async function loaded(file: string, ...more: readonly string[]): Promise<LoadedCrawl> {
  const data = temporaryFolder();
  const words = ['--input', file, '--data', data, ...more];
  const { exitCode, stdout, stderr } = await runProgram(MAIN, words);
  assert.equal(exitCode, 0, stderr);
  const captures = await Array.fromAsync(readCaptures([file], { onDamage: () => {} }));
  const index = await openIndexReader(path.join(data, 'serving'));
  const pages = new Map([...index.pages()].map(({ page }) => [page.url, page]));
  await using percolator = await openPercolator({ folder: path.join(data, 'tables') });
  const serving = { pages, versions: index.versions() };
  const findings = await checkAtRest(percolator, { captures, serving });
  return { sentence: stdout, index, findings };
}

/** The queries whose first result is not an expected page, each with that result. */
function surprises(index: IndexReader, expected: Expected): readonly string[] {
  return expected.flatMap(([typed, pages]) => {
    const [first] = index.search(typed, { limit: 1 }).results;
    const found = /^http:\/\/(?:www\.)?sqlite\.org\/(.*)\.html$/.exec(first?.url ?? '')?.[1];
    return pages.split(' ').includes(found ?? '') ? [] : [`${typed} finds ${first?.url}`];
  });
}

test('the sample crawl is indexed as the model says, and a search finds what one expects', async () => {
  const { sentence, index, findings } = await loaded(SAMPLE, '--no-fsync');
  assert.match(sentence, /^442 captures in .*: 221 results can be found\.$/);
  assert.deepEqual(findings, []);
  assert.deepEqual(surprises(index, IN_THE_SAMPLE), []);
});

const skip = DOCS === '' && 'SQLITE_DOCS names no crawl of SQLite’s whole documentation';
test('SQLite’s documentation is indexed as the model says, within a minute', { skip }, async () => {
  const { sentence, index, findings } = await loaded(DOCS);
  assert.match(sentence, /^2,802 captures in .*: 756 results can be found\.$/);
  assert.deepEqual(findings, []);
  assert.deepEqual(surprises(index, IN_THE_DOCS), []);
  const [, seconds] = / in ([\d.]+) s:/.exec(sentence) ?? [];
  assert.ok(Number(seconds) < DOCS_SECONDS_MAX, sentence);
});
