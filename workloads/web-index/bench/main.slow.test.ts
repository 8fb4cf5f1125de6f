/**
 * The bench of the web index at its smallest size. Its numbers are only checked to be plausible.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { interruptScript, runScript } from '../../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);
/** Whether a document takes more than ten operations of the storage. The batch uses no storage. */
const COSTS = [
  ['observers, load', true],
  ['observers, recrawls', true],
];

test('bench:web-index measures observers and batch, checks them, and draws ages over time', async () => {
  const ended = await runScript(BENCH, ['--profile', 'smoke', '--no-fsync']);
  assert.equal(ended.exitCode, 0, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'finished');
  assert.deepEqual(findings?.check.passed, true, findings?.check.detail);
  const [searchable, age, cost] = findings?.tables ?? [];
  assert.deepEqual(
    searchable?.rows.map(([name, rate, recrawls]) => [name, rate, recrawls]),
    [
      ['observers', 10, 20],
      ['batch', 10, 20],
    ],
  );
  assert.deepEqual(
    age?.rows.map(([name]) => name),
    ['observers', 'batch', 'no delay'],
  );
  assert.deepEqual(
    cost?.rows.slice(0, 2).map(([name, , operations]) => [name, Number(operations) > 10]),
    COSTS,
  );
  const [ages] = findings?.charts ?? [];
  const series = ages?.series.map(({ name }) => name);
  assert.deepEqual(series, ['no delay', 'observers', 'batch']);
  // There are 127 moments. The batch may have no age at any: on a busy machine one run may take
  // all of the time.
  const observers = ages?.series[1]?.points.length ?? 0;
  assert.ok(observers > 60, `${observers}`);
  const all = ages?.series.flatMap(({ points }) => points.map(({ y }) => y)) ?? [];
  assert.ok(
    all.every((y) => y > 0 && y < 60),
    String(all),
  );
});

test('bench:web-index refuses a batch that is not on this machine before it measures anything', async () => {
  const words = ['--profile', 'smoke', '--batch', 'sort'];
  const { exitCode, stderr } = await runScript(BENCH, words, { env: { PATH: temporaryFolder() } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /^sort is not found on PATH, .*\.$/);
});

test('bench:web-index plans to recrawl no more pages than there are', async () => {
  const { stderr } = await interruptScript(BENCH, ['--documents', '10'], 'loading the repository');
  assert.match(stderr, /10 documents, of which 10 are crawled again at 10 per second/);
});
