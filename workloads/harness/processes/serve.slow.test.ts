/** A call is made again only if that can help, and not forever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '#engine';
import { patiently } from './serve.ts';

const AWAY = new PercolatorError('STORE_UNAVAILABLE', 'the owner does not answer');

test('a call to a store that is away for a moment is made again', async () => {
  let calls = 0;
  const answer = await patiently(60_000, async () => {
    calls++;
    if (calls < 3) throw AWAY;
    return 'there';
  });
  assert.deepEqual([answer, calls], ['there', 3]);
});

test('a store that stays away is reported, and a bug at once', async () => {
  const away = (): Promise<never> => Promise.reject(AWAY);
  await assert.rejects(patiently(120, away), AWAY);
  let calls = 0;
  const broken = async (): Promise<never> => {
    calls++;
    throw new TypeError('a bug');
  };
  await assert.rejects(patiently(60_000, broken), TypeError);
  assert.equal(calls, 1);
});
