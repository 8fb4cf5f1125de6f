/**
 * Group commit over transactions ended by the test: which callers share a group, and which learn of
 * a failure.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../../base/index.ts';
import { createGroupCommit } from './group-commit.ts';

/** A transaction that stays open until the test ends it. */
interface OpenTransaction {
  /** Runs the callback, as lmdb does once it has the writer lock. */
  run(): void;
  commit(): void;
  fail(): void;
}

function handHeld(): {
  readonly transactions: OpenTransaction[];
  readonly transact: (callback: () => void) => Promise<void>;
} {
  const transactions: OpenTransaction[] = [];
  const transact = (callback: () => void): Promise<void> =>
    new Promise((resolve, reject) => {
      transactions.push({
        run: callback,
        commit: resolve,
        fail: () => reject(new Error('disk full')),
      });
    });
  return { transactions, transact };
}

/** Lets everything run that does not wait for the test. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('callers of one turn share one transaction, in the order submitted', async () => {
  let count = 0;
  const ran: number[] = [];
  const commits = createGroupCommit(async (callback) => {
    count += 1;
    callback();
  });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      commits.submit(() => {
        ran.push(i);
        return i * 2;
      }),
    ),
  );
  assert.equal(count, 1);
  assert.deepEqual(
    ran,
    Array.from({ length: 100 }, (_, i) => i),
  );
  assert.deepEqual(
    answers,
    ran.map((i) => i * 2),
  );
});

test('callers that come while one group commits share the next; two groups never run at once', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  const first = commits.submit(() => 'first');
  await settle();
  transactions[0]?.run();
  const later = Promise.all([1, 2, 3].map((i) => commits.submit(() => i)));
  await settle();
  assert.equal(transactions.length, 1, 'the second waits for the first to be durable');
  transactions[0]?.commit();
  assert.equal(await first, 'first');
  await settle();
  assert.equal(transactions.length, 2);
  transactions[1]?.run();
  transactions[1]?.commit();
  assert.deepEqual(await later, [1, 2, 3]);
});

test('a caller that comes while the group waits for the writer lock still joins it', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  const early = commits.submit(() => 'early');
  await settle();
  const late = commits.submit(() => 'late');
  transactions[0]?.run();
  transactions[0]?.commit();
  assert.deepEqual(await Promise.all([early, late]), ['early', 'late']);
  assert.equal(transactions.length, 1);
});

test('no caller is answered before the group is durable', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  let answered = false;
  const submitted = commits.submit(() => 1).then(() => (answered = true));
  await settle();
  transactions[0]?.run();
  await settle();
  assert.equal(answered, false);
  transactions[0]?.commit();
  await submitted;
});

test('a commit that fails leaves its whole group in doubt, and later groups work', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  const group = [1, 2].map((i) => commits.submit(() => i));
  await settle();
  transactions[0]?.run();
  const later = commits.submit(() => 'later');
  transactions[0]?.fail();
  for (const answer of await Promise.allSettled(group)) {
    assert.equal(answer.status, 'rejected');
    assert.equal(answer.reason.code, 'STORE_IN_DOUBT');
    assert.equal(answer.reason.cause.message, 'disk full');
  }
  await settle();
  transactions[1]?.run();
  transactions[1]?.commit();
  assert.equal(await later, 'later');
});

test('P58: a transaction that fails before it begins has applied nothing, and its callers learn so', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  const submitted = commits.submit(() => assert.fail('never runs'));
  await settle();
  transactions[0]?.fail();
  await assert.rejects(submitted, { code: 'STORE_UNAVAILABLE' });
  await commits.idle();
});

test('P58: a transaction that knows its outcome reports it to its whole group', async () => {
  const error = new PercolatorError('STORE_UNAVAILABLE', 'the disk is full; nothing was applied');
  const commits = createGroupCommit(async (callback) => {
    callback();
    throw error;
  });
  for (const answer of await Promise.allSettled([1, 2].map((i) => commits.submit(() => i)))) {
    assert.deepEqual(answer, { status: 'rejected', reason: error });
  }
  await commits.idle();
});

test('work that fails rejects its own caller only', async () => {
  const commits = createGroupCommit(async (callback) => callback());
  const [before, failing, after] = await Promise.allSettled([
    commits.submit(() => 1),
    commits.submit(() => {
      throw new Error('refused');
    }),
    commits.submit(() => 3),
  ]);
  assert.deepEqual(before, { status: 'fulfilled', value: 1 });
  assert.equal(failing.status, 'rejected');
  assert.deepEqual(after, { status: 'fulfilled', value: 3 });
});

test('idle waits for everything submitted, and for nothing if there is nothing', async () => {
  const { transactions, transact } = handHeld();
  const commits = createGroupCommit(transact);
  await commits.idle();
  let answered = false;
  void commits.submit(() => 1).then(() => (answered = true));
  const idle = commits.idle();
  await settle();
  transactions[0]?.run();
  transactions[0]?.commit();
  await idle;
  assert.equal(answered, true);
});
