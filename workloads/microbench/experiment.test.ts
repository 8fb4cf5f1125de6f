/** Stores that are missing: which errors say so, and what the record of an interrupted run says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '#engine';
import { temporaryFolder } from '#engine/testing';
import type { Measuring } from '#harness';
import { UsageError } from '#results';
import { measureStores, whyMissing } from './experiment.ts';
import { smallPlan } from './plan.fixture.ts';

test('a store that is not on this machine is a limitation also of a run that is interrupted', async (t) => {
  const before = process.env['JAVA_HOME'];
  t.after(() => {
    if (before === undefined) delete process.env['JAVA_HOME'];
    else process.env['JAVA_HOME'] = before;
  });
  process.env['JAVA_HOME'] = '/nowhere';
  const work = temporaryFolder();
  const plan = smallPlan(work, { store: ['hbase', 'embedded'], rows: 100 });
  let limitations: readonly string[] = ['The first.'];
  const measuring = {
    run: {
      get record() {
        return { limitations };
      },
      describe: (parts: { readonly limitations: readonly string[] }) => {
        limitations = parts.limitations;
      },
    },
    keep: () => {},
    progress: { phase: () => {}, note: () => {} },
    signal: AbortSignal.abort(new Error('interrupted')),
  } as unknown as Measuring;
  await assert.rejects(measureStores(plan, measuring), /interrupted/);
  assert.match(limitations.join('\n'), /^Not measured: hbase\. .*Java.*\nThe first\.$/);
});

test('a store that is not there is only missing, also if the clean-up after it failed', () => {
  const gone = new PercolatorError('STORE_UNAVAILABLE', 'no answer');
  const cleanup = new PercolatorError('STORE_CLOSED', 'the store was closed');
  for (const error of [gone, new UsageError('no answer'), new SuppressedError(cleanup, gone)]) {
    assert.equal(whyMissing(error), 'no answer');
  }
  const bug = new Error('a bug');
  for (const error of [cleanup, bug, new SuppressedError(gone, bug)]) {
    assert.equal(whyMissing(error), undefined);
  }
});
