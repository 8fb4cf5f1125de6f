/** A crawl in virtual time: what it checks, that it repeats, and what it does when overloaded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bigtable, decorate } from '#engine';
import { createSyntheticDocuments, documentId } from '../../crawl-rate/documents/index.ts';
import { CLUSTER, DOCUMENTS } from '../../crawl-rate/percolator/tables.ts';
import { DATA, placeOf } from '../../../engine/transaction/index.ts';
import { VirtualCluster } from '../cluster.ts';
import { PAPER } from '../testing.ts';
import { checkClusters, numberOf, Repository } from './repository.ts';
import { type CrawlPlan, type CrawlResult, growthOf, measureCrawl } from './crawl.ts';

const documents = createSyntheticDocuments({ repository: 5_000, documentBytes: 200, seed: 3 });
const repository = new Repository(documents);
const plan: CrawlPlan = {
  calibration: PAPER,
  tabletServers: 3,
  scale: 100,
  perSecond: 150,
  warmUp: 0.3,
  seconds: 1,
  concurrency: 16,
  scanRest: 20,
  historyShare: 1,
  seed: 3,
};

test('a crawl repeats bit for bit, and nothing is wrong with it', async () => {
  const first = await measureCrawl(plan, repository);
  assert.deepEqual(first.wrong, []);
  assert.equal(first.clustered, Math.floor(150 * 1.3));
  assert.equal(first.growth.isSaturated, false);
  assert.ok(first.latency !== null && first.latency.samples > 140);
  assert.ok(first.judged > 2 * first.clustered - 10, String(first.judged));
  assert.deepEqual(await measureCrawl(plan, repository), first);
  assert.notDeepEqual(await measureCrawl({ ...plan, seed: 4 }, repository), first);
});

test('a history of some rows acquits runs that read one of them and write others', async () => {
  const { wrong, judged } = await measureCrawl({ ...plan, historyShare: 4 }, repository);
  assert.deepEqual(wrong, []);
  assert.ok(judged > 50, String(judged));
});

test('above its capacity a cluster is saturated, and completes what it can', async () => {
  const run = (perSecond: number): Promise<CrawlResult> =>
    measureCrawl(
      { ...plan, concurrency: 128, perSecond, tabletServers: 2, seconds: 1 },
      repository,
    );
  const [some, more] = [await run(5_000), await run(7_000)];
  assert.equal(some.growth.isSaturated, true);
  assert.deepEqual([...some.wrong, ...more.wrong], []);
  // More documents than the cluster can do neither help it nor slow it down.
  assert.ok(Math.abs(more.completedPerSecond / some.completedPerSecond - 1) < 0.15);
  const server = more.usage.kinds.find(({ kind }) => kind === 'tablet server');
  assert.ok(server !== undefined && server.coresMax > 0.9);
});

test('a document may join another whose worker has not heard of the commit when the measuring ends', async () => {
  const options = { repository: 300, documentBytes: 200, seed: 3 };
  const few = new Repository(createSyntheticDocuments(options)); // Many new documents share a key.
  const times = { warmUp: 0.1, seconds: 0.3 };
  const load = { tabletServers: 2, perSecond: 4_000, concurrency: 128, historyShare: 1_000 };
  const { growth, wrong } = await measureCrawl({ ...plan, ...times, ...load, seed: 45 }, few);
  assert.equal(growth.isSaturated, true);
  assert.deepEqual(wrong, []);
});

test('the runs of the workers decide when loading pauses, even if workers are fewer than tablet servers', async () => {
  const cluster = { ...PAPER.cluster, workerMachines: 1 };
  const overload = { tabletServers: 8, concurrency: 1, perSecond: 2_000, seconds: 0.5 };
  const rows = new Set<string>();
  const result = await measureCrawl(
    { ...plan, ...overload, calibration: { ...PAPER, cluster } },
    repository,
    (store) => notingRows(store, rows),
  );
  assert.equal(result.growth.isSaturated, true);
  assert.ok(result.clustered > 5, String(result.clustered));
  // Four documents for the one run that can be in flight (UNCLUSTERED_PER_RUN in crawl.ts).
  assert.ok(rows.size <= result.clustered + 4, `${rows.size} rows, ${result.clustered} clustered`);
});

test('on one machine no worker has a machine of its own, whatever the calibration says', async () => {
  const cluster = { ...PAPER.cluster, workerMachines: 1 };
  const load = { tabletServers: 1, isOneMachine: true, perSecond: 50, seconds: 0.5 };
  const { usage, wrong } = await measureCrawl(
    { ...plan, ...load, calibration: { ...PAPER, cluster } },
    repository,
  );
  assert.deepEqual(wrong, []);
  const kinds = usage.kinds.map(({ kind }) => kind);
  assert.deepEqual(kinds.toSorted(), ['lock service', 'oracle', 'tablet server']);
});

/** The store; rows of documents that any process locks are added to `rows`. */
function notingRows(store: Bigtable, rows: Set<string>): Bigtable {
  const note = (all: readonly { readonly table: string; readonly row: string }[]): void => {
    for (const { table, row } of all) if (table === DOCUMENTS) rows.add(row);
  };
  return decorate(store, {
    checkAndMutateRow: (one) => {
      note([one]);
      return store.checkAndMutateRow(one);
    },
    checkAndMutateRows: (all) => {
      note(all);
      return store.checkAndMutateRows(all);
    },
  });
}

test('a document in a wrong cluster or in none is found, and one that was clustered twice', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 2 });
  cluster.storage.createTable(DOCUMENTS, { families: ['cells'] });
  const table = cluster.storage.table(DOCUMENTS);
  const arrivals = [5_000, 5_001, 5_002];
  const commits = arrivals.map((arrival, i) => ({ arrival, commitTimestamp: 10 + 2 * i }));
  const write = (arrival: number, founder: number, timestamp: number): void => {
    const row = documentId(numberOf(arrival));
    const record = Buffer.from(`${String(timestamp).padStart(16, '0')} put`);
    const value = Buffer.from(documentId(numberOf(founder)));
    const at = { kind: 'set', family: 'cells' } as const;
    table.mutateRow(row, [
      { ...at, qualifier: `${CLUSTER}:write`, timestamp: timestamp + 1, value: record },
      { ...at, ...placeOf(DATA, CLUSTER), timestamp, value },
    ]);
  };
  for (const [arrival, founder] of repository.follow(arrivals)) write(arrival, founder, 9);
  assert.deepEqual(checkClusters(cluster, repository, commits), []);
  const again = { arrival: 5_001, commitTimestamp: 20 };
  assert.deepEqual(checkClusters(cluster, repository, [...commits, again]), [
    'a document was clustered twice',
  ]);
  write(5_001, 17, 20);
  assert.match(
    checkClusters(cluster, repository, commits).join(),
    /^document \d+ is in the cluster/,
  );
  assert.equal(
    checkClusters(cluster, repository, [{ arrival: 6_000, commitTimestamp: 1 }]).length,
    1,
  );
});

test('a backlog that only fills at first does not count as growth, nor does growth that chance explains', () => {
  const series = (perSample: number, backlog: (i: number) => number) =>
    Array.from({ length: 41 }, (_, i) => {
      const completed = perSample * i;
      return { seconds: i / 10, arrived: completed + backlog(i), completed };
    });
  const filling = growthOf(
    series(100, (i) => Math.min(i, 15) * 50),
    1_000,
  );
  assert.equal(filling.isSaturated, false);
  const growing = growthOf(
    series(100, (i) => 10 * i),
    1_000,
  );
  assert.equal(growing.isSaturated, true);
  assert.ok(Math.abs(growing.perSecond - 100) < 1e-6);
  const few = growthOf(
    series(10, (i) => i),
    100,
  );
  assert.equal(few.isSaturated, false);
});
