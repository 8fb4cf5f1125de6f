/** The table of anomalies: the same on memory and embedded, as in docs, with a story for each. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openStore } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { HERMITAGE } from '../../../engine/testing/hermitage.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import { runProgram } from '../../harness/testing/run-script.ts';
import { GALLERY } from '../explorer/gallery/index.ts';
import { observeAnomalies, STORIES } from './observe.ts';
import { isAsPromised, rowsOf, tablesOf } from './table.ts';

const PROGRAM = new URL('main.ts', import.meta.url);

test('memory and embedded give the table of docs/anomalies.md, and share one', async () => {
  const memory = await observeAnomalies(createMemoryBigtable());
  await using store = await openStore({ kind: 'embedded', folder: temporaryFolder() });
  const embedded = await observeAnomalies(store);
  const seen = [
    { store: 'memory', anomalies: memory },
    { store: 'embedded', anomalies: embedded },
  ];
  assert.ok(isAsPromised(seen));
  const page = readFileSync(path.join(import.meta.dirname, '../../../docs/anomalies.md'), 'utf8');
  for (const line of rowsOf(memory)) assert.ok(page.includes(`\n${line.slice(2)}\n`), line);
  assert.match(tablesOf(seen), /^On memory, embedded:\n/);
});

test('a store on which an anomaly happens that it promises to prevent is told from the others', async () => {
  const memory = await observeAnomalies(createMemoryBigtable());
  const weak = memory.map((one) => ({ ...one, happened: true }));
  const seen = [
    { store: 'memory', anomalies: memory },
    { store: 'weak', anomalies: weak },
  ];
  assert.ok(!isAsPromised(seen));
  const text = tablesOf(seen);
  assert.match(text, /^On memory:\n[\s\S]*^On weak:\n[\s\S]*lost update +possible !!/m);
  assert.match(text, /Not as snapshot isolation promises/);
});

test('every test of Hermitage has a story of the gallery', () => {
  const titles = HERMITAGE.map(({ title }) => title);
  assert.deepEqual(Object.keys(STORIES).toSorted(), titles.toSorted());
  for (const story of Object.values(STORIES)) {
    assert.ok(
      GALLERY.some(({ name }) => name === story),
      story,
    );
  }
});

test('the script prints JSON, and refuses a store that it does not know', async () => {
  const ran = await runProgram(PROGRAM, ['--store', 'memory', '--json']);
  assert.equal(ran.exitCode, 0, ran.stderr);
  const [{ store, anomalies }] = JSON.parse(ran.stdout);
  assert.deepEqual([store, anomalies.length], ['memory', HERMITAGE.length]);
  const refused = await runProgram(PROGRAM, ['--store', 'memory', '--store', 'nosuch']);
  assert.equal(refused.exitCode, 2);
  assert.match(refused.stderr, /^--store must be memory, embedded, .*nosuch/);
});
