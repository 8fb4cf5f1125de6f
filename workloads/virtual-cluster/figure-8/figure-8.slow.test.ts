/** Figure 8 in virtual time: what a case counts, and what an assumed number does to the ratios. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Data } from '../../microbench/data.ts';
import { loadCalibration } from '../calibration/load.ts';
import { Storage } from '../storage.ts';
import { figure8Findings } from './findings.ts';
import {
  CASES,
  type Figure8Plan,
  measureCase,
  type MeasuredCase,
  SAME,
  varyFigure8,
} from './measure.ts';

const loaded = loadCalibration('paper-2010');
const plan: Figure8Plan = {
  calibration: loaded.calibration,
  rows: 2_000,
  valueBytes: 1_000,
  clients: 2,
  callersPerClient: 64,
  warmUp: 0.05,
  seconds: 0.1,
  seed: 1,
};

/** Several tests look at the same cases. */
let measured: Promise<readonly MeasuredCase[]> | undefined;

function measureAll(): Promise<readonly MeasuredCase[]> {
  measured ??= Array.fromAsync(CASES, (name) => measureCase(plan, name));
  return measured;
}

test('a case counts the operations of its window alone, and reads leave the server no idle time', async () => {
  const [rawRead, read, rawWrite] = await measureAll();
  assert.ok(rawRead !== undefined && read !== undefined && rawWrite !== undefined);
  // The calibration has the paper's rates of a raw Bigtable with four busy cores.
  assert.ok(Math.abs(rawRead.perSecond / 15_513 - 1) < 0.03, String(rawRead.perSecond));
  assert.equal(rawRead.perSecond, rawRead.operations / plan.seconds);
  assert.equal(rawRead.usage.seconds, plan.seconds);
  for (const { name, usage } of [rawRead, read]) {
    assert.ok((usage.kinds[0]?.cores ?? 0) > 0.99, name);
  }
  const { conditionalMutate, mutate } = rawWrite.usage.calls;
  // Of the writes in flight at either end of the window, a part counts.
  const callers = plan.clients * plan.callersPerClient;
  assert.ok(Math.abs(mutate.answered - rawWrite.operations) < callers / 4);
  assert.equal(conditionalMutate.sent, 0);
  assert.ok(read.perSecond < rawRead.perSecond);
});

test('where the callers write in waves, the window does not decide how many writes are counted', async () => {
  // A write takes 40 ms, so two waves end in one window and three in another (measure.ts).
  const many = { ...plan, callersPerClient: 128, seconds: 0.1 };
  const [, , , name = ''] = CASES;
  const rates: number[] = [];
  for (const warmUp of [0.08, 0.09, 0.1, 0.11]) {
    rates.push((await measureCase({ ...many, warmUp }, name)).perSecond);
  }
  const spread = Math.max(...rates) / Math.min(...rates) - 1;
  assert.ok(spread < 0.01, rates.join(', '));
});

test('an operation that fails in the warm-up fails its case, and nothing else', async ({
  mock,
}) => {
  const fail = (): void => {
    throw new Error('a read returned other bytes');
  };
  mock.method(Data.prototype, 'checkRead', fail, { times: 1 });
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const [rawRead = ''] = CASES;
  await assert.rejects(measureCase(plan, rawRead), /^Error: a read returned other bytes$/);
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});

test("a case at rest asserts Little's law", async ({ mock }) => {
  // Calls would be in flight for no time, but have latencies.
  mock.method(Storage.prototype, 'countInFlight', function (this: Storage, by: 1 | 0 | -1) {
    this.inFlight += by;
  });
  const [rawRead = ''] = CASES;
  await assert.rejects(measureCase(plan, rawRead), /Little's law holds/);
});

test('there are no numbers if a case is missing, or anything is wrong with a case or a variation', async () => {
  const cases = await measureAll();
  const found = (given: Partial<Parameters<typeof figure8Findings>[0]>) =>
    figure8Findings({ calibration: 'test', cases, variations: [], ...given });
  assert.equal(found({}).check.passed, true);
  assert.match(found({}).headline, /^At the costs of test, one tablet server does 0\.9\d of/);
  const variation = {
    place: 'log.wait',
    factor: 2,
    read: 1,
    write: 0.2,
    wrong: ['a lock is left'],
  };
  const [first, ...others] = cases;
  assert.ok(first !== undefined);
  const broken = [
    [{ cases: others }, /^not all cases have been measured$/],
    [
      { cases: [{ ...first, wrong: ['row 7 is locked'] }, ...others] },
      /^raw read: row 7 is locked$/,
    ],
    [{ variations: [variation] }, /^with log\.wait times 2: a lock is left$/],
  ] as const;
  for (const [given, detail] of broken) {
    const { headline, check } = found(given);
    assert.equal(headline, 'There are no numbers.');
    assert.equal(check.passed, false);
    assert.match(check.detail, detail);
  }
});

test('the cost of a conditional mutation moves the ratio of the writes; a cost that no call waits for moves none, nor do the cores, which all calls share', async () => {
  const counts: number[][] = [];
  const conditional = 'storage.conditionalMutate.fixed.serverUs';
  const client = 'storage.read.fixed.clientUs';
  const variations = await varyFigure8(
    loaded,
    // With fewer callers, writes would wait for the log alone.
    { ...plan, clients: 4, callersPerClient: 128 },
    {
      changes: [
        { place: conditional, factor: 0.5 },
        { place: conditional, factor: 2 },
        { place: client, factor: 2 },
        { place: 'cluster.tabletServerCores', factor: 0.5 },
      ],
      signal: new AbortController().signal,
      onVariation: (...count) => counts.push(count),
    },
  );
  assert.deepEqual(
    counts,
    [0, 1, 2, 3].map((done) => [done, 4]),
  );
  assert.deepEqual(
    variations.map(({ place, factor }) => `${place} ${factor}`),
    ['(as it is) 1', `${conditional} 0.5`, `${conditional} 2`],
  );
  const [asItIs, half, twice] = variations;
  assert.ok(asItIs !== undefined && half !== undefined && twice !== undefined);
  for (const { read, wrong } of variations) {
    assert.deepEqual(wrong, []);
    assert.ok(Math.abs(read / asItIs.read - 1) < SAME, `${read}`);
  }
  assert.ok(asItIs.read > 0.97 && asItIs.read < 0.99, String(asItIs.read));
  assert.ok(Math.abs(asItIs.write / 0.2104 - 1) < SAME, `what the calls cost: ${asItIs.write}`);
  assert.ok(half.write > 0.28 && half.write < 0.36, String(half.write));
  assert.ok(twice.write > 0.12 && twice.write < 0.18, String(twice.write));
});
