/** When `Persistence` asks again for the outcome of a transaction, and when it gives up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, PercolatorError } from '#engine';
import { type TransactionAttempt, Persistence } from './attempts.ts';

const NAME = { primary: { table: 't', row: 'r', column: 'c' }, startTimestamp: 7 };

type StoreAnswer = 'committed' | 'LOCKED' | 'STALE_SNAPSHOT';

/** Runs a transaction whose commit got no answer, on a database that gives these answers later. */
async function run(answers: StoreAnswer[], attempts: TransactionAttempt[]): Promise<Persistence> {
  const over = new AbortController();
  const outcomeOf = async (): Promise<'committed'> => {
    const answer = answers.shift();
    if (answer === 'committed') return answer;
    if (answer !== undefined) throw new PercolatorError(answer, `the database says ${answer}`);
    over.abort(new Error('the database is asked too often'));
    throw new PercolatorError('LOCKED', 'the database is asked too often');
  };
  const persistence = new Persistence({ outcomeOf }, createRandom(1), over.signal);
  await persistence.run(attempts, async () => {
    assert.equal(await persistence.settle(NAME), 'committed');
    return { wasUnknown: true };
  });
  return persistence;
}

test('persistence asks again about a transaction that is still committing', async () => {
  const attempts: TransactionAttempt[] = [];
  const { settled } = await run(['LOCKED', 'committed'], attempts);
  assert.deepEqual(settled, { committed: 1, rolledBack: 0, open: 0 });
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['COMMIT_UNKNOWN'],
  );
});

test('an outcome that will never be known ends the run, because the transaction may have committed', async () => {
  const attempts: TransactionAttempt[] = [];
  await assert.rejects(run(['STALE_SNAPSHOT'], attempts), /^Error: the database says STALE/);
  assert.deepEqual(attempts, []);
});
