/**
 * Transactions whose commit gets no answer, while the storage is away, in both workloads: they are
 * counted as unknown, asked about until their end is known, and run again only if they were rolled
 * back. A transaction whose process died before it could ask is settled by the next process that
 * meets its lock, and fsck finds nothing wrong.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  type Bigtable,
  type CommittedRun,
  createRandom,
  openPercolator,
  type Percolator,
  PercolatorError,
} from '#engine';
import {
  type WatchedCall,
  createMemoryBigtable,
  FaultyBigtable,
  type MutationCall,
} from '#engine/testing';
import { brokerObserver } from '../brokerage/percolator/broker-update.ts';
import { SCALES } from '../brokerage/model/scale.ts';
import { createSyntheticDocuments } from '../crawl-rate/documents/index.ts';
import {
  clusteringObserver,
  createTables,
  DOCUMENT,
  documentCell,
} from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { type Arrival, COMMITTED, Persistence, type Settled, UNKNOWN } from './attempts.ts';
import { auditAtRest } from './workload.ts';
import { checkAtRest } from './crawl.ts';
import { Crawler } from './crawler.ts';
import { endsOf } from './findings.ts';
import { TradingWorkload } from './trading.ts';

type Lost = 'answer' | 'request';

interface LostCommitScene {
  readonly arrivals: readonly Arrival[];
  readonly settled: Settled;
}

interface FailingStore {
  readonly below: Bigtable;
  readonly store: FaultyBigtable;
  /** Lets the store fail the next commit of this database. */
  readonly fail: (percolator: Percolator) => void;
}

/**
 * A store that, after `fail`, loses the first call that `isCommit` accepts, and then is away until
 * the engine has given up asking how the commit ended, and one more call was refused. Other
 * transactions that hold their locks may commit meanwhile: if they were refused, their end would be
 * unknown, too.
 */
function failingStore(lost: Lost, isCommit: (call: MutationCall) => boolean): FailingStore {
  const below = createMemoryBigtable();
  const store = new FaultyBigtable(below);
  let isArmed = false;
  let lostCommit: MutationCall | undefined; // Defined while the store is away.
  let hasGivenUp = (): boolean => false;
  store[lost === 'answer' ? 'loseAnswer' : 'loseRequest']((call) => {
    if (!isArmed || !isCommit(call)) return false;
    isArmed = false;
    lostCommit = call;
    return true;
  });
  store.beforeCall = (call) => {
    if (lostCommit === undefined || isOfAnotherCommit(call, lostCommit)) return;
    if (hasGivenUp()) lostCommit = undefined;
    throw new PercolatorError('STORE_UNAVAILABLE', 'the store is away');
  };
  const fail = (percolator: Percolator): void => {
    isArmed = true;
    hasGivenUp = () => percolator.counters.unknown > 0;
  };
  return { below, store, fail };
}

/**
 * Whether the call is the commit point of another transaction, or the notifications that go before
 * it.
 */
function isOfAnotherCommit(call: WatchedCall, lostCommit: MutationCall): boolean {
  if (call.kind === 'read') return false;
  const isNotification = call.table.endsWith('.notify');
  return isNotification || (isCommitPoint(call) && startOf(call) !== startOf(lostCommit));
}

/** The start timestamp of a transaction: its commit looks for its lock. */
function startOf({ anyOf }: MutationCall): number | undefined {
  return anyOf?.[0]?.from;
}

function isCommitPoint({ operation, mutations }: MutationCall): boolean {
  const isRecord = mutations.some((one) => one.kind === 'set' && one.qualifier.endsWith(':write'));
  return operation === 'checkAndMutateRow' && isRecord;
}

function isOfDocument(call: MutationCall): boolean {
  return isCommitPoint(call) && call.mutations.some((one) => one.qualifier.startsWith(DOCUMENT));
}

/** Writes one document, whose commit gets no answer. */
async function crawl(lost: Lost): Promise<LostCommitScene> {
  const { store, fail } = failingStore(lost, isOfDocument);
  await using percolator = await openPercolator({ store });
  await createTables(percolator);
  const synthetic = createSyntheticDocuments({ repository: 1, documentBytes: 200, seed: 3 });
  const documents = { ...synthetic, repository: 0 };
  const persistence = persistenceOf(percolator);
  const crawler = new Crawler(percolator, documents, persistence);
  const onCommitted = ({ cell }: CommittedRun): void => crawler.onClustered(cell.row, 0);
  const worker = percolator.startWorker([clusteringObserver], { onCommitted });
  fail(percolator);
  await Promise.race([crawler.add(monotonicMs()), crawler.failed]);
  while (crawler.writing > 0) await setTimeout(5);
  await worker.stop();
  await percolator.settled();
  const { arrivals } = crawler;
  assert.deepEqual((await checkAtRest(percolator, store, { documents, arrivals })).wrong, []);
  return { arrivals, settled: persistence.settled };
}

/** Half a second of a brokerage, whose first commit gets no answer. */
async function trade(lost: Lost): Promise<LostCommitScene> {
  const { store, fail } = failingStore(lost, isCommitPoint);
  await using percolator = await openPercolator({ store, attemptsMax: 1 });
  const { signal } = new AbortController();
  const parts = { seed: 1, concurrency: 4, regionServers: 1, signal };
  const trading = new TradingWorkload({ ...parts, percolator, scale: SCALES.smoke });
  await trading.load();
  const worker = percolator.startWorker([brokerObserver]);
  fail(percolator);
  const beginMs = monotonicMs();
  const times = { beginMs, fromMs: beginMs, toMs: beginMs + 500 };
  const offered = trading.offer({ ...times, perSecond: 200, onProgress: () => {} });
  await Promise.race([offered.then(() => trading.drain()), trading.failed]);
  await worker.stop();
  await percolator.settled();
  assert.equal(trading.open, 0);
  assert.deepEqual((await trading.check()).wrong, []);
  return { arrivals: [...trading.arrivals, ...trading.followers], settled: trading.settled };
}

function persistenceOf(percolator: Percolator): Persistence {
  return new Persistence(percolator, createRandom(1), new AbortController().signal);
}

for (const [name, run] of [
  ['a document', crawl],
  ['an order', trade],
] as const) {
  describe(`the commit of ${name}`, () => {
    test('whose answer was lost is found committed, and not repeated', async () => {
      const { arrivals, settled } = await run('answer');
      assert.deepEqual(settled, { committed: 1, rolledBack: 0, open: 0 });
      assert.deepEqual(outcomesOfUnknown(arrivals), [UNKNOWN]);
      assert.equal(endsOf(arrivals, 0, Infinity).unknown, 1);
    });

    test('that was lost is found rolled back, and repeated', async () => {
      const { arrivals, settled } = await run('request');
      assert.deepEqual(settled, { committed: 0, rolledBack: 1, open: 0 });
      const outcomes = outcomesOfUnknown(arrivals);
      assert.equal(outcomes[0], UNKNOWN);
      assert.equal(outcomes.at(-1), COMMITTED);
      assert.equal(endsOf(arrivals, 0, Infinity).unknown, 1);
    });
  });
}

/** The outcomes of all attempts of the one transaction that had an unknown end. */
function outcomesOfUnknown(arrivals: readonly Arrival[]): readonly string[] {
  const all = arrivals.map(({ attempts }) => attempts.map(({ outcome }) => outcome));
  const unknown = all.filter((outcomes) => outcomes.includes(UNKNOWN));
  assert.equal(unknown.length, 1);
  return unknown[0] ?? [];
}

for (const lost of ['answer', 'request'] as const) {
  test(`an unknown commit whose process died is settled by the next reader: its ${lost} was lost`, async () => {
    const { below, store, fail } = failingStore(lost, isOfDocument);
    const liveness = { self: 'dies', isDead: () => false };
    const percolator = await openPercolator({ store, liveness, lockTimeToLiveMs: 200 });
    await createTables(percolator);
    fail(percolator);
    const transaction = await percolator.begin();
    transaction.set(documentCell('1'), 'written');
    await assert.rejects(transaction.commit(), { code: UNKNOWN });
    assert.equal(percolator.counters.unknown, 1);
    store.crash();
    assert.deepEqual((await auditAtRest(below)).wrong, []);
    const knowing = { self: 'asks', isDead: (token: string) => token === 'dies' };
    await using other = await openPercolator({ store: below, liveness: knowing });
    await using snapshot = await other.snapshot();
    const value = await snapshot.get(documentCell('1'));
    assert.equal(value?.toString(), lost === 'answer' ? 'written' : undefined);
    assert.deepEqual((await auditAtRest(below)).wrong, []);
  });
}

test('a mistake that no rest would heal ends the run', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  const documents = createSyntheticDocuments({ repository: 1, documentBytes: 200, seed: 3 });
  const crawler = new Crawler(percolator, documents, persistenceOf(percolator));
  void crawler.add(0);
  await assert.rejects(crawler.failed, { code: 'TABLE_NOT_FOUND' });
});
