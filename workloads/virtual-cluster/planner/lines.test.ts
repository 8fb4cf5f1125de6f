/** The sentences and the JSON in which the planner answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noPlanWords, planJson, planLines, type Question } from './lines.ts';
import { FullBelowLoad, type ClusterPlan } from './plan.ts';
import { TooSlow } from './search.ts';
import { formula, loaded, planOf } from './testing.ts';
import type { Trial, Workload } from './trial.ts';

function questionOf(workload: Workload, given: Partial<Question> = {}): Question {
  return {
    loaded,
    workload,
    load: 10_000,
    inWords: `10,000 ${workload.unit} a second`,
    latencyMs: 1_000,
    percentile: '90',
    margin: 0.3,
    seed: 1,
    ...given,
  };
}

function textOf(question: Question, plan: ClusterPlan): string {
  return planLines(question, plan).join('\n');
}

test('a plan that the margin decides is told with its machines, its busiest part and its check', async () => {
  const workload = formula();
  const text = textOf(questionOf(workload), await planOf(workload));
  for (const sentence of [
    /^10,000 documents a second, 90 % of them clustered within 1,000 ms, at the costs of cloud-bigtable:$/m,
    /^15 tablet servers of 1 core, 8 worker machines of 4 cores:$/m,
    /^ {2}tablet servers: processors +15 +66\.7 % +66\.7 % +15,?000$/m,
    /^Full first: tablet servers: processors, at 15,000 documents a second, 1\.5 times the load\.$/m,
    /^Margin: tablet servers and workers are to be free 30 % of the time; /m,
    /^Checked by a simulation of the planned cluster: median 15 ms, 90 % 30 ms, 99 % 60 ms\.$/m,
    /^Not in it: .*, machines that fail, the machines that load documents\.$/m,
  ]) {
    assert.match(text, sentence);
  }
});

test('a brokerage has clients and loads no documents', async () => {
  const workload: Workload = { ...formula(), unit: 'Trade-Results', workerKind: 'client' };
  const question = questionOf(workload);
  const plan = await planOf(formula());
  const text = textOf(question, plan);
  assert.match(text, /^10,000 Trade-Results a second, 90 % of them done within 1,000 ms, /);
  assert.match(text, /^15 tablet servers of 1 core, 8 client machines of 4 cores:$/m);
  assert.match(text, /^Margin: tablet servers and clients are to be free 30 % of the time; /m);
  assert.match(text, /^Not in it: .*, machines that fail\.$/m);
  const found = new TooSlow(plan.check.outcome, workload);
  assert.match(noPlanWords(question, found), /: with tablet servers and clients busy for /);
});

test('a plan that the latency decides says so, and how free the machines have to be', async () => {
  const workload = formula();
  const given = { latencyMs: 20 };
  const text = textOf(questionOf(workload, given), await planOf(workload, given));
  assert.match(
    text,
    /^The latency decides, not the margin: .* free 30 % of the time, but 90 % within 20 ms ask for 47\.5 %\.$/m,
  );
});

test('a check of a part says which part, and that what all share was not checked', async () => {
  const workload = { ...formula(), simulatedPerSecond: 100 };
  const text = textOf(questionOf(workload), await planOf(workload));
  assert.match(
    text,
    /^Checked by a simulation of 40 % of it \(6 tablet servers of 1 core, 3 worker machines of 4 cores\) under that part of the load; what all share, such as the oracle, was not checked: median /m,
  );
  assert.match(text, /^ {2}oracle +1 +100 % +- /m);
});

test('a check of a smaller cluster under the whole load does not count as one of the plan', async () => {
  const serverPerUnit = ({ tabletServers }: Trial): number =>
    tabletServers === 4 ? 0.0025 : 0.00275;
  const workload = formula({ serverPerUnit });
  const plan = await planOf(workload, { load: 2_800, checkSeconds: 0 });
  assert.deepEqual(plan.size, { tabletServers: 11, workers: 2 });
  assert.match(
    textOf(questionOf(workload, { load: 2_800 }), plan),
    /^Checked by a simulation of 10 tablet servers of 1 core, 2 worker machines of 4 cores under the whole load: median /m,
  );
});

test('a check that failed says so, and the latency if there is one', async () => {
  const slow = formula({ latencyMs: (busy, { share }) => (share < 1 ? 10 : 5_000) / (1 - busy) });
  const text = textOf(questionOf(slow), await planOf(slow));
  assert.match(text, / 99 % [\d,]+ ms, which is NOT fast enough\.$/m);

  const over = formula({ serverPerUnit: ({ share }) => (share < 1 ? 0.001 : 0.01) });
  const plan = await planOf(over);
  assert.equal(plan.isFastEnough, false);
  assert.match(
    textOf(questionOf(over), plan),
    /^Checked by a simulation of the planned cluster: it does NOT keep up\.$/m,
  );
});

test('a part of the plan is compared with that of the same name in the trial, even if the trial had no observer run', async () => {
  const idle = formula();
  const workload: Workload = {
    ...idle,
    simulate: async (trial, signal) => {
      const outcome = await idle.simulate(trial, signal);
      return { ...outcome, runs: trial.share < 1 ? 0.2 : 0 };
    },
  };
  const text = textOf(questionOf(workload), await planOf(workload));
  assert.match(text, /^ {2}workers: observer runs +8 +\d+(\.\d)? % +- /m);
  assert.match(text, /^ {2}lock service +1 +\d+(\.\d+)? % +\d+(\.\d+)? % /m);
});

test('the range of plans, and no more than eight of the numbers that change it most', async () => {
  const workload = formula();
  const plan = await planOf(workload);
  const size = { tabletServers: 20, workers: 8 };
  const alternatives = Array.from({ length: 10 }, (_, i) => ({
    place: `number ${i}`,
    halved: { tabletServers: 12, workers: 8 },
    doubled: size,
  }));
  const text = textOf(questionOf(workload), { ...plan, alternatives });
  const notVaried = / half or twice as much\. Not varied: .* caches, the oracle .* waits, .*\.$/m;
  assert.match(text, /^How sure: 20 to 28 machines, if one of the assumed numbers that were /m);
  assert.match(text, notVaried);
  assert.match(text, /^ {2}number 7 +12 \+ 8 +20 \+ 8$/m);
  assert.doesNotMatch(text, /number 8/);
  assert.match(text, /^Tablet servers \+ others \(8 of 10 numbers\):$/m);
  const same = textOf(questionOf(workload), { ...plan, alternatives: [] });
  assert.match(same, /^How sure: none of the assumed numbers that were varied changes the plan /m);
  assert.match(same, notVaried);
});

test('small numbers are not rounded to whole ones', async () => {
  const workload = formula({ latencyMs: () => 0.25 });
  const plan = await planOf(workload, { load: 0.5, latencyMs: 1.5 });
  const text = textOf(questionOf(workload, { load: 0.5, latencyMs: 1.5 }), {
    ...plan,
    parts: plan.parts.map(({ place, resource, machines, busy }) => {
      return { place, resource, machines, busy, fullAt: 0.75 };
    }),
  });
  assert.match(text, / within 1\.5 ms, /);
  assert.match(text, / at 0\.75 documents a second, 1\.5 times the load\.$/m);
  assert.match(text, /: median 0\.125 ms, 90 % 0\.25 ms, 99 % 0\.5 ms\.$/m);
});

test('where no cluster is fast enough, the sentence says what the last trial found', async () => {
  const workload = formula();
  const trial = { tabletServers: 4, workers: 2, perSecond: 80, share: 1, units: 1, seed: 1 };
  const { signal } = new AbortController();
  const outcome = await workload.simulate({ ...trial, calibration: loaded.calibration }, signal);
  assert.equal(
    noPlanWords(questionOf(workload), new TooSlow(outcome, workload)),
    'No cluster at the costs of cloud-bigtable does that: with tablet servers and workers busy for at most 2 % of the time, 90 % take up to 10.2 ms.',
  );
  assert.match(
    noPlanWords(questionOf(workload), new TooSlow({ ...outcome, keptUp: false }, workload)),
    / of the time, it does not keep up\.$/,
  );
});

test('where the one oracle is full below the load, the sentence says at which load', () => {
  const part = { place: 'oracle', resource: 'processors', machines: 1, busy: 1 } as const;
  assert.equal(
    noPlanWords(questionOf(formula()), new FullBelowLoad({ ...part, fullAt: 9_876.5 })),
    'No cluster at the costs of cloud-bigtable does that: its one oracle is full at 9,880 documents a second, so plan for a load below that, or with a calibration whose oracle is faster.',
  );
});

test('programs get numbers without rounding', async () => {
  const workload = formula();
  const plan = await planOf(workload);
  const json = JSON.parse(planJson(questionOf(workload), plan)) as Record<string, unknown>;
  assert.deepEqual(
    [json['perSecond'], json['tabletServers'], json['workerMachines'], json['decidedBy']],
    [10_000, 15, 8, 'margin'],
  );
  assert.deepEqual(json['wanted'], { percentile: 90, latencyMs: 1_000, margin: 0.3 });
  assert.deepEqual(json['parts'], JSON.parse(JSON.stringify(plan.parts)));
});
