/** What the panel of the search page says about the stages of a load. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stages } from './load-status.ts';

test('a second load of the same crawl counts what happens in it, and the results of all loads', () => {
  const stages = new Stages();
  const row = 'http://a.example/';
  for (let capture = 0; capture < 2; capture++) stages.captured(row);
  const cell = { table: 'pages', row, column: 'c' };
  const timestamps = { startTimestamp: 1, commitTimestamp: 2 };
  stages.committed({ observer: 'renderer', cell, ...timestamps });
  stages.committed({ observer: 'link-inversion', cell, ...timestamps });
  assert.deepEqual(
    stages.counts(15).map(({ name, documents }) => `${name}: ${documents}`),
    [
      'addresses captured in this load: 1',
      'read in this load: 0',
      'rendered in this load: 1',
      'clustered in this load: 0',
      'ranked in this load: 0',
      'results of all loads that can be found: 15',
    ],
  );
});
