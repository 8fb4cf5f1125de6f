/**
 * Random histories under faults, checked exactly: clients that are slow, lose answers and requests,
 * send messages twice, presume one another dead and crash, on one store with a virtual clock.
 *
 * One seed decides a run, and its number is in the name of the test that fails: put it first in
 * SEEDS.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, hasCode, isRetryable, type Random } from '../../../engine/base/index.ts';
import {
  cell,
  type TestClient,
  CrashedError,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../../../engine/testing/index.ts';
import {
  type HistoricCell,
  type HistoricTransaction,
  type HistoricValue,
  judgeSnapshotIsolation,
  readStoredHistory,
  type StoredHistory,
} from './index.ts';

/** Without batching and prefetching, and with both. */
const MODES = {
  plainly: {},
  'in batches, reading ahead': { batching: {}, prefetch: 'learn' },
} as const;
type Mode = (typeof MODES)[keyof typeof MODES];
const SEEDS = Array.from({ length: 60 }, (_, i) => i + 1);
const CELLS = ['a', 'b', 'b:second', 'b:third', 'c', 'u/a', 'u/d'];
const CLIENTS = 4;
const TRANSACTIONS_PER_CLIENT = 12;

interface Attempt extends HistoricTransaction {
  /** The client died in the middle of it. */
  readonly crashed: boolean;
}

/** The clock of histories: every reading is later than all earlier ones. */
let moment = 0;

for (const [modeName, mode] of Object.entries(MODES)) {
  describe(`snapshot isolation holds ${modeName}`, () => {
    for (const seed of SEEDS) {
      test(`in the history of seed ${seed}`, async () => {
        const history = await historyOf(seed, mode);
        assert.deepEqual(judgeSnapshotIsolation(history), []);
        assert.deepEqual(history.locks, []);
      });
    }
  });
}

async function historyOf(
  seed: number,
  mode: Mode,
): Promise<StoredHistory & { readonly transactions: readonly HistoricTransaction[] }> {
  const database = await openTestDatabase({ seed });
  const random = createRandom(seed);
  const clients: TestClient[] = [];
  const attempts = Array.from({ length: CLIENTS }, (_, i) => {
    const process = { name: `client ${i}`, clients, mode };
    return manyTransactions(database, random.fork(process.name), process);
  });
  const history = (await database.clock.runUntil(Promise.all(attempts))).flat();

  // Resolves the locks that were left. Then delayed and repeated messages arrive, and may set locks
  // that their dead senders never held. The last read resolves those, too.
  const last = database.client('last');
  await database.clock.runUntil(last.read(CELLS));
  for (const client of clients) await client.store.deliverDuplicates();
  const transactions = [...history, await database.clock.runUntil(readAll(last))];
  return { transactions, ...(await readStoredHistory(database.store, ['t', 'u'])) };
}

async function manyTransactions(
  database: TestDatabase,
  random: Random,
  {
    name,
    clients,
    mode,
  }: { readonly name: string; readonly clients: TestClient[]; readonly mode: Mode },
): Promise<readonly Attempt[]> {
  const history: Attempt[] = [];
  let client: TestClient | undefined;
  for (let i = 0; i < TRANSACTIONS_PER_CLIENT; i++) {
    if (client === undefined) {
      client = troubled(database, random.fork(`trouble ${i}`), `${name}, life ${i}`, mode);
      clients.push(client);
    }
    const attempt = await oneTransaction(client, random, `${name}, ${clients.length}`);
    history.push(attempt);
    if (attempt.crashed) client = undefined; // Its process is started again.
  }
  return history;
}

/** A client with random faults, drawn from `random`. */
function troubled(database: TestDatabase, random: Random, name: string, mode: Mode): TestClient {
  const client = database.client(name, {
    ...mode,
    ordered: random.fraction() < 0.5,
    lockTimeToLiveMs: 60,
    lockWaitMsMax: 400,
    inDoubtAttemptsMax: 3,
    backoffMsMax: 16,
  });
  const { store } = client;
  const wait = async (): Promise<void> => {
    const kind = random.fraction();
    // Rarely, long enough to be presumed dead.
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

async function oneTransaction(
  client: TestClient,
  random: Random,
  process: string,
): Promise<Attempt> {
  const beganAt = ++moment;
  const transaction = await client.begin();
  const { startTimestamp } = transaction;
  const reads: HistoricValue[] = [];
  const writes = new Map<HistoricCell, HistoricValue>();
  const locks = new Set<HistoricCell>();
  const soFar = { process, startTimestamp, beganAt, reads };
  const written = () => ({
    writes: [...writes.values()],
    locks: [...locks].filter((name) => !writes.has(name)),
  });
  let isCommitting = false;
  try {
    for (const name of pickSome(random)) reads.push(await readOf(transaction, name));
    for (const name of pickSome(random)) {
      const value = random.fraction() < 0.2 ? undefined : `by ${startTimestamp}`;
      writes.set(fullName(name), { cell: fullName(name), value });
      put(transaction, { [name]: value });
    }
    for (const name of pickSome(random).slice(2)) {
      await transaction.lock(cell(name));
      locks.add(fullName(name));
    }
    isCommitting = true;
    const committed = await transaction.commit();
    const commitTimestamp = writes.size + locks.size > 0 ? committed : undefined;
    const end = { commitTimestamp, endedAt: ++moment, outcome: 'committed' } as const;
    return { ...soFar, ...written(), ...end, crashed: false };
  } catch (error) {
    const crashed = error instanceof CrashedError;
    const isUnknown = hasCode(error, 'COMMIT_UNKNOWN');
    if (!crashed && !isUnknown && !isRetryable(error)) throw error;
    const outcome = isUnknown || (crashed && isCommitting) ? 'unknown' : 'failed';
    const endedAt = crashed ? undefined : ++moment;
    return { ...soFar, ...written(), outcome, endedAt, crashed };
  }
}

/** Up to three names; they may be equal. */
function pickSome(random: Random): readonly string[] {
  return Array.from({ length: random.integer(0, 3) }, () => random.pick(CELLS));
}

async function readAll(client: TestClient): Promise<HistoricTransaction> {
  const beganAt = ++moment;
  const transaction = await client.begin();
  const { startTimestamp } = transaction;
  const reads = await Promise.all(CELLS.map((name) => readOf(transaction, name)));
  const nothing = { outcome: 'committed', writes: [], locks: [] } as const;
  return { process: 'last', startTimestamp, beganAt, endedAt: ++moment, reads, ...nothing };
}

async function readOf(
  transaction: Awaited<ReturnType<TestClient['begin']>>,
  name: string,
): Promise<HistoricValue> {
  return { cell: fullName(name), value: (await transaction.get(cell(name)))?.toString() };
}

/** The name of the cell in histories: `t/a:c`. */
function fullName(name: string): HistoricCell {
  const { table, row, column } = cell(name);
  return `${table}/${row}:${column}`;
}
