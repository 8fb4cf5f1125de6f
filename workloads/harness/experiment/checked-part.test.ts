/** What remains in the record of parts that were measured before one that fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FindingsParts, noNumbers } from '#results';
import { measureChecked } from './checked-part.ts';

const failing = (): Promise<number> => Promise.reject(new Error('two rows were cleaned twice'));

test('a part that fails leaves no numbers of the parts before it, and says why', async () => {
  const kept: FindingsParts[] = [];
  const { signal } = new AbortController();
  const keep = (findings: FindingsParts): void => void kept.push(findings);
  assert.equal(await measureChecked({ keep, signal }, async () => 5), 5);
  await assert.rejects(measureChecked({ keep, signal }, failing), /cleaned twice/);
  assert.deepEqual(kept, [noNumbers('two rows were cleaned twice')]);
});

test('an interrupt leaves what was measured before it', async () => {
  const kept: FindingsParts[] = [];
  const keep = (findings: FindingsParts): void => void kept.push(findings);
  await assert.rejects(measureChecked({ keep, signal: AbortSignal.abort() }, failing));
  assert.deepEqual(kept, []);
});
