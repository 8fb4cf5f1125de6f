/** The findings of chaos: what a run has proven whose rounds did not all take place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findingsOf } from './findings.ts';

test('a run whose rounds were all skipped has proven nothing', () => {
  const skipped = ['round 1: there is no emulator', 'round 2: there is no emulator'];
  const { check, headline } = findingsOf([], { workloads: [], rounds: 2, skipped });
  assert.equal(check.passed, false);
  assert.match(headline, / Skipped: round 1: there is no emulator Skipped: round 2: /);
});
