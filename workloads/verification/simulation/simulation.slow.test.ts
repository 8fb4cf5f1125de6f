/**
 * The simulator in every test run: 220 seeds of the unchanged engine, and the simulator's own
 * promises. The test of the seeds names each one that fails: `./run.sh simulate --seed <seed>
 * --seeds 1` shrinks the run and prints its story.
 *
 * The seeds run in threads, to use several cores.
 */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { describe, test } from 'node:test';
import { Transaction } from '../../../engine/transaction/transaction.ts';
import {
  NOTHING,
  notCovered,
  notStoppedAt,
  planOf,
  shrink,
  simulate,
  simulateSeeds,
  tellStory,
} from './index.ts';

const SEEDS = 220;
const REVERSE_SEEDS = 50;
/** Runs that have failed once: all but the last because of the world, not of the engine. */
const FAILED_ONCE = [
  [295, 'a client exits when all transactions have ended: it had the only worker'],
  [663, "the second database's oracle is hit by faults, and must not die of them"],
  [1988, 'the run lasts longer than a process may wait'],
  [5457, 'a collection hears an answer after its database was closed'],
] as const;

describe('no rule is broken', () => {
  let tally = NOTHING;

  test(`in the runs of ${SEEDS} seeds`, async () => {
    tally = await simulateSeeds({ from: 1, to: SEEDS, jobs: 2 }, () => {});
    assert.deepEqual(tally.failed, []);
  });

  test(`nor when half of the scans are in reverse, in the runs of ${REVERSE_SEEDS} seeds`, async () => {
    const seeds = { from: 1, to: REVERSE_SEEDS, jobs: 2, reverses: true };
    const reversed = await simulateSeeds(seeds, () => {});
    assert.deepEqual(reversed.failed, []);
    assert.equal(reversed.runs, REVERSE_SEEDS);
  });

  for (const [seed, what] of FAILED_ONCE) {
    test(`in the run of seed ${seed}: ${what}`, async () => {
      assert.deepEqual((await simulate(planOf(seed))).violations, []);
    });
  }

  test('and every fault has occurred', () => {
    assert.equal(tally.runs, SEEDS);
    assert.deepEqual(notCovered(tally), []);
    for (const [what, count] of Object.entries(tally.counts)) assert.ok(count > 0, what);
  });

  test('and processes have stopped at most places where work outside of transactions waits', () => {
    const [stopped, never] = [Object.keys(tally.stopped), notStoppedAt(tally)];
    assert.ok(stopped.length > never.length, `never at ${never.join(', ')}`);
    for (const folder of ['garbage-collection', 'leases', 'observer', 'tables', 'oracle']) {
      assert.ok(
        stopped.some((place) => place.startsWith(`${folder}/`)),
        folder,
      );
    }
  });
});

test('a plan with reverse scans has whole ones and short ones, and forward ones, too', () => {
  const plan = planOf(2, { reverses: true });
  const scans = plan.processes
    .flatMap(({ transactions }) => transactions.flatMap(({ operations }) => operations))
    .filter((operation) => operation.do === 'scan');
  assert.ok(scans.some(({ reverse, limit }) => reverse === true && limit === undefined));
  assert.ok(scans.some(({ reverse, limit }) => reverse === true && limit === 1));
  assert.ok(scans.some(({ reverse }) => reverse === undefined));
});

describe('the simulator', () => {
  const digests = new Set<number>();

  test('repeats a run bit for bit for the same seed', async () => {
    for (const seed of [3, 5, 8]) {
      const [first, second] = [await simulate(planOf(seed)), await simulate(planOf(seed))];
      digests.add(first.digest);
      assert.equal(first.digest, second.digest);
      assert.equal(JSON.stringify(first.history), JSON.stringify(second.history));
      assert.deepEqual(first.counts, second.counts);
      assert.deepEqual(first.faults, second.faults);
    }
  });

  test('makes a different run for another seed', () => {
    assert.equal(digests.size, 3);
  });

  test('replays a plan that has been through a file', async () => {
    const plan = planOf(13);
    const read = JSON.parse(JSON.stringify(plan)) as typeof plan;
    assert.equal((await simulate(read)).digest, (await simulate(plan)).digest);
  });

  test('tells the same story each time, with the names of the processes', async () => {
    const plan = { ...planOf(13), processes: planOf(13).processes.slice(0, 1) };
    // The identity of a database comes from the system, never from the seed (oracle-row.ts).
    const tell = async (): Promise<readonly string[]> => {
      const lines = await tellStory(plan);
      const [, identity] = /set oracle:identity@1=(\S+)/.exec(lines.join('\n')) ?? [];
      assert.ok(identity !== undefined);
      return lines.map((line) => line.replaceAll(identity, 'the identity'));
    };
    const story = await tell();
    assert.deepEqual(await tell(), story);
    assert.ok(story.some((line) => /ms {2}client 0: .*set \S+:lock@/.test(line)));
  });

  test('does not report a lost commit if a run for a weak notification wrote nothing', async () => {
    const operations = [
      { do: 'set', cell: 't/a:c' } as const,
      { do: 'weak', cell: 't/d:also' } as const,
    ];
    const process = {
      transactions: [{ kind: 'begin', operations } as const],
      concurrency: 1,
      worker: true,
    };
    const knobs = { ...planOf(13).knobs, messages: {}, groups: {}, events: {} };
    const plan = { seed: 13, knobs, processes: [process], observerFailures: 0 };
    const { violations, history } = await simulate(plan);
    assert.ok(history.transactions.some(({ run }) => run !== undefined));
    assert.deepEqual(violations, []);
  });

  test('reports an error in a run of an observer that no fault explains', async (t) => {
    const { mock } = t.mock.method(Transaction.prototype, 'acknowledge');
    mock.mockImplementationOnce(() => {
      throw new Error('a bug');
    }, 4);
    const { violations } = await simulate(planOf(13));
    assert.deepEqual(
      violations.map(({ claim }) => claim),
      ['engine: unexpected error'],
    );
  });

  test('counts only faults that hit something', async () => {
    const { knobs, processes } = planOf(13);
    const events = { oracleFailOver: 50, oracleRestart: 50, collectorCrash: 50, expireLease: 50 };
    const quiet = { ...knobs, messages: {}, groups: {}, events, drops: false };
    const none = { ...quiet, oracleProcesses: false, collector: false };
    const clients = processes.slice(0, 1); // Not the collector.
    const plan = { seed: 13, knobs: none, processes: clients, observerFailures: 0 };
    assert.deepEqual(Object.keys((await simulate(plan)).faults), ['expireLease']);
  });

  test('simulates nothing if it is interrupted before it starts', async () => {
    const seeds = { from: 1, to: 2, jobs: 1 };
    const { runs } = await simulateSeeds(seeds, () => {}, AbortSignal.abort());
    assert.equal(runs, 0);
  });

  test('shrinks to the one transaction that fails, and does not start again after each success', async (t) => {
    t.mock.method(Transaction.prototype, 'delete', () => {
      throw new Error('a bug');
    });
    let runs = 0;
    const plan = { ...planOf(13), knobs: { ...planOf(13).knobs, messages: {}, events: {} } };
    const onRun = (): void => void runs++;
    const { processes } = await shrink(plan, 'engine: unexpected error', { onRun });
    const all = processes.flatMap(({ transactions }) => transactions);
    assert.deepEqual(
      all.map(({ operations }) => operations.map((one) => one.do)),
      [['delete']],
    );
    assert.ok(runs < 400, `${runs} runs`);
  });

  test('does not shrink to a run that does not fail', async () => {
    const plan = planOf(13);
    assert.equal(await shrink(plan, 'no such claim', { runsMax: 3 }), plan);
  });

  test('does not shrink any further once it is interrupted', async () => {
    const plan = planOf(13);
    const before = cpuUsage();
    assert.equal(await shrink(plan, 'no such claim', { signal: AbortSignal.abort() }), plan);
    assert.ok(cpuUsage(before).user < 2e6, 'two seconds of the processor');
  });
});
