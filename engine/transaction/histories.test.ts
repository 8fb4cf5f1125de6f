/**
 * Random histories under faults, checked exactly: clients that are slow, lose answers and requests, send
 * things twice, take one another for dead and crash, on one store with a virtual clock.
 *
 * One seed decides a run, and its number is in the name of the test that fails: put it first in SEEDS.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, isRetryable, PercolatorError, type Random } from '../base/index.ts';
import {
  assertSnapshotIsolation,
  cell,
  type Client,
  CrashedError,
  type HistoricTransaction,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';

const SEEDS = Array.from({ length: 60 }, (_, i) => i + 1);
const CELLS = ['a', 'b', 'b:second', 'c', 'u/a', 'u/d'];
const CLIENTS = 4;
const TRANSACTIONS_PER_CLIENT = 12;

type Outcome = 'committed' | 'aborted' | 'unknown';

interface Attempt extends HistoricTransaction {
  readonly outcome: Outcome;
  /** The client died in the middle of it. */
  readonly crashed: boolean;
}

describe('snapshot isolation holds', () => {
  for (const seed of SEEDS) {
    test(`in the history of seed ${seed}`, async () => {
      const database = await openTestDatabase({ seed });
      const random = createRandom(seed);
      const clients: Client[] = [];
      const attempts = Array.from({ length: CLIENTS }, (_, i) =>
        manyTransactions(database, random.fork(`client ${i}`), clients, `client ${i}`),
      );
      const history = (await database.clock.runUntil(Promise.all(attempts))).flat();

      // What was left behind is cleaned up; then arrives what was delayed, or sent twice, and may lock anew
      // what its dead sender had never locked. Whoever reads cleans that up, too.
      const last = database.client('last');
      await database.clock.runUntil(last.read(CELLS));
      for (const client of clients) await client.store.deliverDuplicates();
      const end = await last.begin();
      const reads = await database.clock.runUntil(
        Promise.all(CELLS.map((name) => readOf(end, name))),
      );

      const decided = await Promise.all(history.map((attempt) => withOutcome(database, attempt)));
      decided.push({ startTimestamp: end.startTimestamp, reads, writes: new Map(), locks: [] });
      assertSnapshotIsolation(decided);
      assert.deepEqual([...(await database.locks('t')), ...(await database.locks('u'))], []);
    });
  }
});

async function manyTransactions(
  database: TestDatabase,
  random: Random,
  clients: Client[],
  name: string,
): Promise<readonly Attempt[]> {
  const history: Attempt[] = [];
  let client: Client | undefined;
  for (let i = 0; i < TRANSACTIONS_PER_CLIENT; i++) {
    if (client === undefined) {
      client = troubled(database, random.fork(`trouble ${i}`), `${name}, life ${i}`);
      clients.push(client);
    }
    const attempt = await oneTransaction(client, random);
    history.push(attempt);
    if (attempt.crashed) client = undefined; // Its process is started again.
  }
  return history;
}

/** A client to which things happen, decided by `random`. */
function troubled(database: TestDatabase, random: Random, name: string): Client {
  const client = database.client(name, {
    ordered: random.fraction() < 0.5,
    lockTimeToLiveMs: 60,
    lockWaitMsMax: 400,
    inDoubtAttemptsMax: 3,
    backoffMsMax: 16,
  });
  const { store } = client;
  const wait = async (): Promise<void> => {
    const kind = random.fraction();
    // Rarely, long enough to be taken for dead.
    if (kind < 0.02) await database.clock.sleep(random.integer(50, 200));
    else if (kind < 0.3) await database.clock.sleep(random.integer(0, 10));
  };
  store.beforeCall = wait;
  store.afterCall = wait;
  store.duplicate(() => random.fraction() < 0.3);
  store.loseAnswer(() => random.fraction() < 0.05);
  store.loseRequest(() => random.fraction() < 0.05);
  if (random.fraction() < 0.5) store.crashAfter(random.integer(1, 40));
  return client;
}

async function oneTransaction(client: Client, random: Random): Promise<Attempt> {
  const transaction = await client.begin();
  const { startTimestamp } = transaction;
  const reads: { cell: string; value: string | undefined }[] = [];
  const writes = new Map<string, string | undefined>();
  const locks: string[] = [];
  const soFar = { startTimestamp, reads, writes, locks };
  let isCommitting = false;
  try {
    for (const name of pickSome(random)) reads.push(await readOf(transaction, name));
    for (const name of pickSome(random)) {
      const value = random.fraction() < 0.2 ? undefined : `by ${startTimestamp}`;
      writes.set(name, value);
      put(transaction, { [name]: value });
    }
    for (const name of pickSome(random).slice(2)) {
      await transaction.lock(cell(name));
      if (!writes.has(name)) locks.push(name);
    }
    isCommitting = true;
    const committed = await transaction.commit();
    const commitTimestamp = writes.size + locks.length > 0 ? committed : undefined;
    return { ...soFar, commitTimestamp, outcome: 'committed', crashed: false };
  } catch (error) {
    const crashed = error instanceof CrashedError;
    const isUnknown = error instanceof PercolatorError && error.code === 'COMMIT_UNKNOWN';
    if (!crashed && !isUnknown && !isRetryable(error)) throw error;
    const outcome = isUnknown || (crashed && isCommitting) ? 'unknown' : 'aborted';
    return { ...soFar, outcome, crashed };
  }
}

/** Up to three names, perhaps one of them twice. */
function pickSome(random: Random): readonly string[] {
  return Array.from({ length: random.integer(0, 3) }, () => random.pick(CELLS));
}

/** Looks up in the store what became of a transaction; whoever said it knew must have been right. */
async function withOutcome(database: TestDatabase, attempt: Attempt): Promise<HistoricTransaction> {
  const { startTimestamp, writes, locks, outcome } = attempt;
  const found = new Set<number | undefined>();
  for (const name of new Set([...writes.keys(), ...locks])) {
    const { write = '' } = await database.stored(name);
    const record = write.split(' | ').find((text) => text.split(' ')[1] === String(startTimestamp));
    found.add(record === undefined ? undefined : Number.parseInt(record, 10));
  }
  assert.ok(
    found.size <= 1,
    `the transaction of ${startTimestamp} is there as a whole or not at all`,
  );
  const [commitTimestamp] = found;
  if (outcome === 'aborted') assert.equal(commitTimestamp, undefined, `${startTimestamp} aborted`);
  if (outcome === 'committed') assert.equal(commitTimestamp, attempt.commitTimestamp);
  return { ...attempt, commitTimestamp };
}

async function readOf(
  transaction: Awaited<ReturnType<Client['begin']>>,
  name: string,
): Promise<{ cell: string; value: string | undefined }> {
  return { cell: name, value: (await transaction.get(cell(name)))?.toString() };
}
