/**
 * The rule P11 of protocol.md: a process that gets no answer to its commit reads until it knows the
 * outcome, or reports that the outcome is unknown. One test is of P7: a commit that fails leaves no
 * locks. Each test fails without the rule that it names.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ErrorCode, PercolatorError } from '../base/index.ts';
import {
  type TestClient,
  createMemoryBigtable,
  type MutationCall,
  once,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { outcomeOf, transact } from './index.ts';
import { isOf, LOCK, placeOf } from './columns.ts';

/** The mutation that is the commit point of a transaction whose primary is in row `p`. */
const isCommitPoint = ({ row, mutations }: MutationCall): boolean =>
  row === 'p' && mutations.some((one) => one.kind === 'set' && isOf('write', one));

const isRollback = ({ mutations }: MutationCall): boolean =>
  mutations.some((one) => isOf('rollback', one));

const isRollbackOfPrimary = (call: MutationCall): boolean => call.row === 'p' && isRollback(call);

const commitsSent = ({ store }: TestClient): number =>
  store.trace.filter((call) => call.kind === 'mutation' && isCommitPoint(call)).length;

/** Runs `action` just before the client's first rollback is delivered; fails if there is none. */
function beforeRollback({ store }: TestClient, action: () => Promise<void>): void {
  let isReached = false;
  store.beforeCall = async (call) => {
    if (isReached || call.kind !== 'mutation' || !isRollback(call)) return;
    isReached = true;
    await action();
  };
  after(() => assert.ok(isReached, 'the client rolls back'));
}

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  const what = lost === 'loseAnswer' ? 'answer to its commit' : 'request for its commit';
  test(`P11: a transaction commits once although the first ${what} is lost`, async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store[lost](once(isCommitPoint));
    const committed = await database.clock.runUntil(a.write({ p: '1', x: '1' }));
    assert.equal(commitsSent(a), 2);
    assert.equal((await database.stored('p'))['write'], `${committed}: 1 put`);
    assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: '1' });
    assert.deepEqual(await database.locks(), []);
  });
}

test('P11: a commit that gets no answer ends with COMMIT_UNKNOWN, and its locks stay', async () => {
  // Rolling back here, with the commit still on its way, would tear the transaction in two.
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseRequest(isCommitPoint);
  a.store.duplicate(once(isCommitPoint));
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  assert.equal(a.context.counters.unknown, 1);
  assert.deepEqual(await database.locks(), ['p:c', 'x:c']);

  await a.store.deliverDuplicates(); // The first request arrives after all.
  assert.equal(await outcomeOf(a.context, error), 'committed');
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: '1', x: '1' });
});

test('P11: if every answer to an applied commit is lost, and reads fail, outcomeOf tells every client that it has committed', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseAnswer(isCommitPoint);
  a.store.beforeCall = failReadsAfterCommit(a);
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  a.store.beforeCall = undefined;
  assert.equal(await outcomeOf(database.client('B').context, error), 'committed');
  assert.equal(await outcomeOf(a.context, error), 'committed');
});

test('P11: a commit that finds its lock gone, and cannot read why, is unknown', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseAnswer(once(isCommitPoint));
  a.store.beforeCall = failReadsAfterCommit(a);
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  assert.ok(a.store.trace.filter(({ kind }) => kind === 'read').length > 1, 'it looks repeatedly');
  a.store.beforeCall = undefined;
  assert.equal(await outcomeOf(a.context, error), 'committed');
});

test('P11: outcomeOf decides, once and for all, a transaction that its process has given up', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseRequest(isCommitPoint);
  a.store.duplicate(isCommitPoint);
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  assert.equal(await outcomeOf(a.context, error), 'rolled back');
  await a.store.deliverDuplicates(); // Too late: its lock is gone.
  assert.equal(await outcomeOf(a.context, error), 'rolled back');
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: undefined, x: undefined });
  assert.deepEqual(await database.locks(), []);
});

test('P11: outcomeOf looks again if the answer to its rollback is lost', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseRequest(isCommitPoint);
  const error = await unknownCommit(database, a, { p: '1' });
  a.store.loseAnswer(once(isRollback));
  assert.equal(await database.clock.runUntil(outcomeOf(a.context, error)), 'rolled back');
});

test('P11: outcomeOf rejects with STORE_IN_DOUBT, not LOCKED, if it gets no answer to its rollback', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { attemptsMax: 2 });
  a.store.loseRequest(isCommitPoint);
  const error = await unknownCommit(database, a, { p: '1' });
  let isLost = true;
  a.store.loseRequest((call) => isLost && isRollback(call));
  const asked = database.clock.runUntil(outcomeOf(a.context, error));
  await assert.rejects(asked, { code: 'STORE_IN_DOUBT' });
  isLost = false;
  assert.equal(await outcomeOf(a.context, error), 'rolled back');
});

test('P11: a commit that the storage refuses each time is not unknown: it has not happened', async () => {
  const database = await openTestDatabase({ observed: ['c'] });
  for (const code of ['STORE_UNAVAILABLE', 'STORE_REFUSED'] as const) {
    const a = database.client('A');
    a.store.beforeCall = (call) => {
      if (call.kind === 'mutation' && isCommitPoint(call)) throw new PercolatorError(code, 'no');
    };
    await assert.rejects(database.clock.runUntil(a.write({ p: '1', x: '1' })), { code });
    assert.equal(a.context.counters.unknown, 0);
    assert.deepEqual(await database.locks(), []);
    assert.deepEqual(await database.client('B').read(['p', 'x']), { p: undefined, x: undefined });
  }
});

test('P11: if a copy of a refused commit arrives before the rollback, the transaction has committed', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.refuse(isCommitPoint);
  a.store.duplicate(once(isCommitPoint));
  beforeRollback(a, async () => {
    await a.store.deliverDuplicates();
    assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: '1' }, 'B rolls x forward');
  });
  const committed = await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.equal((await database.stored('p'))['write'], `${committed}: 1 put`);
  assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: '1' });
  assert.deepEqual(await database.locks(), []);
  assert.equal(a.context.counters.committed, 1);
});

test('P11: a copy of a refused commit that arrives after the rollback changes nothing', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.refuse(isCommitPoint);
  a.store.duplicate(isCommitPoint);
  const written = database.clock.runUntil(a.write({ p: '1', x: '1' }));
  await assert.rejects(written, { code: 'STORE_UNAVAILABLE' });
  await a.store.deliverDuplicates();
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: undefined, x: undefined });
  assert.deepEqual(await database.locks(), []);
});

test('P11: if a commit and its rollback are refused, the outcome is unknown: a copy may yet commit the transaction', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.refuse((call) => isCommitPoint(call) || isRollback(call));
  a.store.duplicate(once(isCommitPoint));
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
  await a.store.deliverDuplicates();
  assert.equal(await outcomeOf(a.context, error), 'committed');
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: '1', x: '1' });
});

test('P11: a refused commit whose lock another process rolls back is ROLLED_BACK', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.refuse(isCommitPoint);
  beforeRollback(a, async () => {
    database.bury('A');
    assert.deepEqual(await b.read(['p']), { p: undefined });
  });
  const written = database.clock.runUntil(a.write({ p: '1', x: '1' }));
  await assert.rejects(written, { code: 'ROLLED_BACK' });
  assert.equal(a.context.counters.unknown, 0);
});

test('P11: if the storage wrongly reports the commit’s table as missing, but applies a copy, the transaction has committed', async () => {
  const store = createMemoryBigtable();
  const database = await openTestDatabase({ store });
  const a = database.client('A');
  let isApplied = false;
  a.store.beforeCall = async (call) => {
    if (isApplied || call.kind !== 'mutation' || !isCommitPoint(call)) return;
    isApplied = true;
    const { table, row, anyOf = [], mutations } = call;
    await store.checkAndMutateRow({ table, row, anyOf, ifFound: mutations });
    throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
  };
  await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.ok(isApplied);
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: '1', x: '1' });
});

test('P11: if the storage reports a missing table to commit and rollback, but lists the table, the commit is unknown', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.beforeCall = (call) => {
    if (call.kind !== 'mutation' || !(isCommitPoint(call) || isRollback(call))) return;
    throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
  };
  const error = await unknownCommit(database, a, { p: '1', x: '1' });
  a.store.beforeCall = undefined;
  assert.equal(await outcomeOf(a.context, error), 'rolled back');
});

test('P11: a commit is unknown if the storage reports its table as missing, and refuses to list the tables', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.beforeCall = (call) => {
    if (call.kind !== 'mutation' || !(isCommitPoint(call) || isRollback(call))) return;
    throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
  };
  const refused = new PercolatorError('STORE_UNAVAILABLE', 'no list');
  Object.assign(a.store, { listTables: () => Promise.reject(refused) });
  await unknownCommit(database, a, { p: '1', x: '1' });
  assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
});

test('P7: if the primary’s table is deleted before the commit point, no lock stays in another table', async () => {
  const store = createMemoryBigtable();
  const database = await openTestDatabase({ store });
  const a = database.client('A');
  a.store.beforeCall = async (call) => {
    if (call.kind === 'mutation' && isCommitPoint(call)) await store.dropTable('t');
  };
  const written = database.clock.runUntil(a.write({ 't/p': '1', 'u/x': '1' }));
  await assert.rejects(written, { code: 'TABLE_NOT_FOUND' });
  const locks = await store.readRow('u', 'x', [{ ...placeOf(LOCK, 'c') }]);
  assert.equal(locks, undefined);
});

for (const code of ['STORE_CLOSED', 'STORE_REFUSED'] as const) {
  test(`P11: a commit that is refused with ${code}, as is its rollback, is not unknown`, async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    a.store.beforeCall = (call) => {
      if (call.kind !== 'mutation' || !(isCommitPoint(call) || isRollbackOfPrimary(call))) return;
      throw new PercolatorError(code, 'no');
    };
    await assert.rejects(database.clock.runUntil(a.write({ p: '1', x: '1' })), { code });
    assert.equal(a.context.counters.unknown, 0);
    assert.deepEqual(
      await database.locks(),
      ['p:c', 'x:c'],
      'the locks stay, because the primary decides',
    );
  });
}

for (const code of ['STORE_UNAVAILABLE', 'STORE_IN_DOUBT', 'STORE_CLOSED'] as const) {
  test(`P11: a commit that is refused for good is unknown if its rollback ends with ${code}`, async () => {
    const store = createMemoryBigtable();
    const database = await openTestDatabase({ store });
    const [a, b] = [database.client('A'), database.client('B')];
    let deliverCopy = async (): Promise<unknown> => assert.fail('the commit was not sent');
    a.store.beforeCall = (call) => {
      if (call.kind !== 'mutation') return;
      if (isRollbackOfPrimary(call)) throw new PercolatorError(code, 'lost');
      if (!isCommitPoint(call)) return;
      const { table, row, anyOf = [], mutations: ifFound } = call;
      deliverCopy = () => store.checkAndMutateRow({ table, row, anyOf, ifFound });
      throw new PercolatorError('STORE_REFUSED', 'the credentials have just expired');
    };
    const error = await unknownCommit(database, a, { p: '1', x: '1' });
    await deliverCopy();
    assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: '1' });
    assert.equal(await outcomeOf(b.context, error), 'committed');
  });
}

test('P11: if one attempt to commit is in doubt, the commit is unknown, although all others are refused', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  let sent = 0;
  a.store.loseRequest((call) => isCommitPoint(call) && sent === 1);
  a.store.beforeCall = (call) => {
    if (call.kind !== 'mutation' || !isCommitPoint(call) || sent++ === 0) return;
    throw new PercolatorError('STORE_UNAVAILABLE', 'no');
  };
  await unknownCommit(database, a, { p: '1' });
  assert.deepEqual(await database.locks(), ['p:c']);
});

test('P11: a commit that is refused each time is not unknown, although requests to repeat its notifications are lost', async () => {
  const database = await openTestDatabase({ observed: ['c'] });
  const a = database.client('A');
  let isRefused = false;
  a.store.beforeCall = (call) => {
    if (call.kind !== 'mutation' || !isCommitPoint(call)) return;
    isRefused = true;
    throw new PercolatorError('STORE_UNAVAILABLE', 'no');
  };
  let lost = 0;
  a.store.loseRequest(({ mutations }) => {
    const isLost = isRefused && mutations.some(({ family }) => family === 'notify');
    if (isLost) lost++;
    return isLost;
  });
  const written = database.clock.runUntil(a.write({ p: '1', x: '1' }));
  await assert.rejects(written, { code: 'STORE_UNAVAILABLE' });
  assert.ok(lost > 0, 'notifications were repeated');
  assert.equal(a.context.counters.unknown, 0);
  assert.deepEqual(await database.locks(), []);
});

test('P11: the engine looks also after the last allowed attempt: it may have committed', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { inDoubtAttemptsMax: 1 });
  a.store.loseAnswer(isCommitPoint);
  const committed = await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.equal(commitsSent(a), 1);
  assert.equal((await database.stored('p'))['write'], `${committed}: 1 put`);
  assert.equal(a.context.counters.unknown, 0);
  assert.deepEqual(await database.locks(), []);
});

test('P11: the engine looks also after the last allowed attempt: another process may have rolled the transaction back', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A', { inDoubtAttemptsMax: 1 }), database.client('B')];
  a.store.loseRequest(isCommitPoint);
  a.beforeMutation(2, async () => {
    database.bury('A');
    assert.deepEqual(await b.read(['p']), { p: undefined });
  });
  const written = database.clock.runUntil(a.write({ p: '1' }));
  await assert.rejects(written, { code: 'ROLLED_BACK' });
  assert.equal(a.context.counters.unknown, 0);
});

test('P11: outcomeOf in another process waits for an owner that may be alive', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.loseRequest(isCommitPoint);
  const error = await unknownCommit(database, a, { p: '1' });
  const before = database.clock.monotonicMs();
  const outcome = await database.clock.runUntil(outcomeOf(b.context, error));
  assert.equal(outcome, 'rolled back');
  assert.ok(database.clock.monotonicMs() - before >= a.context.options.lockTimeToLiveMs);
});

test('P11: transact never runs a transaction with an unknown outcome again', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseRequest(isCommitPoint);
  let runs = 0;
  const work = transact(a.context, async (transaction) => {
    runs++;
    put(transaction, { p: '1' });
  });
  await assert.rejects(database.clock.runUntil(work), { code: 'COMMIT_UNKNOWN' });
  assert.equal(runs, 1);
});

const ATTEMPTS_MAX = 5;
interface RepeatedMutation {
  readonly name: string;
  /** Requests until the engine gives up: `ATTEMPTS_MAX`; for a prewrite one more, the first. */
  readonly times: number;
  /** The error if all these requests are lost. */
  readonly code: ErrorCode;
  readonly matches: (call: MutationCall) => boolean;
}
const repeated: readonly RepeatedMutation[] = [
  {
    name: 'a prewrite',
    times: ATTEMPTS_MAX + 1,
    code: 'STORE_UNAVAILABLE',
    matches: ({ mutations }) => mutations.some((one) => one.kind === 'set' && isOf('data', one)),
  },
  {
    name: 'notifications',
    times: ATTEMPTS_MAX,
    code: 'STORE_UNAVAILABLE',
    matches: ({ mutations }) => mutations.some(({ family }) => family === 'notify'),
  },
  {
    name: 'the commit of the primary',
    times: ATTEMPTS_MAX,
    code: 'COMMIT_UNKNOWN',
    matches: isCommitPoint,
  },
];
for (const { name, times, code, matches } of repeated) {
  test(`P11: all requests for ${name} but the last allowed one may be lost`, async () => {
    for (const losses of [times - 1, times]) {
      const database = await openTestDatabase({ observed: ['c'] });
      const options = { inDoubtAttemptsMax: ATTEMPTS_MAX, ordered: false };
      const a = database.client('A', options);
      let sent = 0;
      a.store.loseRequest((call) => matches(call) && sent++ < losses);
      const written = database.clock.runUntil(a.write({ p: '1' }));
      if (losses < times) await written;
      else await assert.rejects(written, { code });
      assert.equal(sent, times);
    }
  });
}

/** Runs a write that must end with COMMIT_UNKNOWN; resolves with the name of its transaction. */
async function unknownCommit(
  { clock }: TestDatabase,
  client: TestClient,
  values: Parameters<TestClient['write']>[0],
): Promise<NonNullable<PercolatorError['transaction']>> {
  const failed = await clock.runUntil(client.write(values).catch((error: unknown) => error));
  assert.ok(failed instanceof PercolatorError);
  assert.equal(failed.code, 'COMMIT_UNKNOWN');
  assert.ok(failed.transaction !== undefined);
  return failed.transaction;
}

/** A hook: once this client has sent its commit, the store refuses its reads. */
function failReadsAfterCommit(client: TestClient): TestClient['store']['beforeCall'] {
  return ({ kind }) => {
    if (kind !== 'read' || commitsSent(client) === 0) return;
    throw new PercolatorError('STORE_UNAVAILABLE', 'no reads');
  };
}
