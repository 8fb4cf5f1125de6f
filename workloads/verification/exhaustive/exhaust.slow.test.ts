/**
 * The exhaustive search: what it finds in the engine and in broken engines, and whether it is
 * complete.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importWith } from '../mutants/hunt.ts';
import { MUTANTS } from '../mutants/mutants.ts';
import { EndingJudge } from './ending.ts';
import {
  describeOutcomes,
  exhaust,
  type ExhaustOptions,
  type SearchReport,
  retell,
  setTheScene,
} from './exhaust.ts';
import { type Scenario, SCENARIOS } from './scenarios.ts';
import { choicesOf, isOver, take } from './world-state.ts';

interface Searcher {
  readonly exhaust: typeof exhaust;
  readonly retell: typeof retell;
}

const ALL_DEAD = { suspicion: 'all' } as const;
const CRASHED = { suspicion: 'crashed' } as const;

const SI = 'snapshot isolation';

const ALONE: Scenario = {
  name: 'alone',
  about: 'One writes.',
  initial: ['t/p:c'],
  processes: [{ name: 'A', transactions: [[{ do: 'set', cell: 't/p:c' }]] }],
};
const READ: Scenario = {
  ...ALONE,
  name: 'read',
  about: 'One writes, one reads.',
  processes: [
    ...ALONE.processes,
    { name: 'reader', transactions: [[{ do: 'getMany', cells: ['t/p:c'] }]] },
  ],
};
const WRITERS: Scenario = {
  ...ALONE,
  name: 'writers',
  about: 'Two write.',
  processes: [...ALONE.processes, { name: 'B', transactions: [[{ do: 'set', cell: 't/p:c' }]] }],
};

function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

describe('no interleaving breaks a rule, in the scenario', () => {
  const faulty = { crashes: 1, copies: 1 };
  const searches: readonly (readonly [string, ExhaustOptions])[] = [
    ['one-cell', { ...ALL_DEAD, ...faulty }],
    ['one-cell', { ...CRASHED, ...faulty }],
    ['again', { ...ALL_DEAD, ...faulty }],
    ['again', { ...CRASHED, ...faulty }],
    ['two-resolvers', { ...ALL_DEAD, ...faulty }],
    ['two-resolvers', { ...CRASHED, crashes: 1 }],
    ['observed', { ...CRASHED, crashes: 1 }],
    ['unknown', { ...CRASHED, lostAnswers: 1 }],
    ['disjoint', { ...CRASHED, copies: 1 }],
    ['lost-update', ALL_DEAD],
    ['delete', ALL_DEAD],
    ['one-row', ALL_DEAD],
    ['secondary-only', { ...CRASHED, crashes: 1 }],
    ['chain', CRASHED],
    ['crossed', CRASHED],
  ];
  for (const [name, options] of searches) {
    const { suspicion, crashes = 0, copies = 0, lostAnswers = 0 } = options;
    const faults = `${crashes} crashes, ${copies} copies, ${lostAnswers} lost answers`;
    test(`${name}, suspicion ${suspicion}, with ${faults}`, async () => {
      const report = await exhaust(scenarioOf(name), options);
      assert.equal(report.failure, undefined, tell(report));
      assert.ok(report.isExhausted);
      assert.ok(report.executions > report.states, 'many executions share a state');
    });
  }
});

describe('the search', () => {
  test('finds every possible outcome, and no other', async () => {
    const { outcomes } = await exhaust(scenarioOf('one-cell'), { ...CRASHED, crashes: 1 });
    const expected = [
      'A committed, B committed', // One after the other.
      'A committed, B failed',
      'A failed, B committed',
      // They never both fail: the first to lock the cell commits, unless it dies.
      'A committed, B unknown',
      'A failed, B unknown',
      'A unknown, B committed',
      'A unknown, B failed',
      // The other process died before it wrote anything.
      'A committed',
      'B committed',
    ];
    assert.deepEqual([...outcomes.keys()].toSorted(), expected.toSorted());
  });

  test('finds that of two transactions that read and write one cell, one fails or sees the other', async () => {
    const report = await exhaust(scenarioOf('lost-update'), ALL_DEAD);
    assert.equal(report.failure, undefined, tell(report));
    const expected = [
      'A committed, B committed', // One has seen the other.
      'A committed, B failed',
      'A failed, B committed',
      'A failed, B failed', // Each was presumed dead, by the reader or by the other writer.
    ];
    assert.deepEqual([...report.outcomes.keys()].toSorted(), expected);
  });

  // Compared with a naive search: each execution alone, on fresh processes.
  for (const options of [
    { ...ALL_DEAD },
    { ...ALL_DEAD, crashes: 1 },
    { ...CRASHED, crashes: 1 },
    { ...CRASHED, crashes: 2 },
    { ...CRASHED, copies: 1 },
    { ...ALL_DEAD, lostAnswers: 1 },
  ]) {
    test(`counts as many executions as a naive walk: ${JSON.stringify(options)}`, async () => {
      // Lost answers add so many branches that one process is enough.
      const small = 'lostAnswers' in options ? ALONE : READ;
      const report = await exhaust(small, options);
      const walked = await walkAll(small, options);
      assert.equal(report.executions, walked.executions);
      assert.deepEqual([...report.outcomes.keys()].toSorted(), walked.outcomes);
      assert.ok(report.states < walked.steps);
    });
  }

  test('gives up after the allowed number of states, and says so', async () => {
    const report = await exhaust(scenarioOf('crossed'), { statesMax: 500 });
    assert.equal(report.isExhausted, false);
    assert.equal(report.states, 500);
  });

  test('is complete if there are just as many states as are allowed', async () => {
    const { states } = await exhaust(ALONE, ALL_DEAD);
    const fitting = await exhaust(ALONE, { ...ALL_DEAD, statesMax: states });
    assert.deepEqual([fitting.states, fitting.isExhausted], [states, true]);
    const cut = await exhaust(ALONE, { ...ALL_DEAD, statesMax: states - 1 });
    assert.deepEqual([cut.states, cut.isExhausted], [states - 1, false]);
  });

  test('stops when it is asked to', async () => {
    const seen: number[] = [];
    const onProgress = (states: number): boolean => {
      seen.push(states);
      return seen.length < 2;
    };
    const report = await exhaust(scenarioOf('crossed'), { onProgress });
    assert.equal(report.isExhausted, false);
    assert.deepEqual(seen, [5_000, 10_000]);
  });

  test('delivers messages of dead processes after their death', async () => {
    const { story } = await retell(ALONE, { ...CRASHED, crashes: 1 }, [0, 1, 0]);
    assert.equal(story[1], 'A: dies');
    assert.match(story[2] ?? '', /^\(a late message\): t\/p: not found .* set c:lock@3=/);
  });

  test('lets a process die before its first step, if the others can know it', async () => {
    const { story } = await retell(READ, { ...CRASHED, crashes: 1 }, [2]);
    assert.equal(story[0], 'A: dies');
    // If all others are presumed dead anyway, dying equals being slow, so a process dies only when
    // the others have finished.
    await assert.rejects(retell(READ, { ...ALL_DEAD, crashes: 1 }, [2]), RangeError);
  });

  test('lets as many processes die as may die, even if all others are presumed dead', async () => {
    const { outcomes } = await exhaust(WRITERS, { ...ALL_DEAD, crashes: 2 });
    assert.ok(outcomes.has('A unknown, B unknown'), [...outcomes.keys()].join('; '));
  });

  test('retells an execution from the numbers of its choices', async () => {
    const { story, violations } = await retell(scenarioOf('one-cell'), ALL_DEAD, [0, 0, 2, 1, 1]);
    assert.match(story[0] ?? '', /^A: asks for a timestamp: 3$/);
    assert.match(story[1] ?? '', /^A: t\/p: not found c:write@3\.\. \| c:lock .* set c:lock@3=/);
    assert.match(story[2] ?? '', /^reader: asks for a timestamp: 4$/);
    assert.deepEqual(violations, []);
    await assert.rejects(retell(scenarioOf('one-cell'), ALL_DEAD, [99]), RangeError);
  });
});

describe('the search catches the mistake', () => {
  const copies = { ...ALL_DEAD, copies: 1 };
  const lost = { ...CRASHED, lostAnswers: 1 };
  const dying = { ...CRASHED, crashes: 1 };
  const mistakes: readonly (readonly [string, Scenario, ExhaustOptions, string])[] = [
    ['no-rollback-marker', scenarioOf('one-cell'), copies, SI],
    ['prewrite-ignores-marker', scenarioOf('one-cell'), copies, SI],
    ['no-write-check', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['writer-ignores-newer-locks', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['reader-ignores-locks', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['reader-ignores-locks', ALONE, dying, 'progress: lock left'],
    ['commit-without-lock', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['commit-without-lock', scenarioOf('unknown'), lost, 'outcome: wrong answer'],
    ['lock-and-record-read-apart', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['commit-timestamp-too-early', scenarioOf('one-cell'), ALL_DEAD, SI],
    ['roll-back-primary-only', scenarioOf('three-and-one'), CRASHED, 'debris: lock left'],
    ['row-of-primary-left-locked', scenarioOf('one-row'), CRASHED, 'debris: lock left'],
    ['delete-erases', scenarioOf('delete'), ALL_DEAD, SI],
    ['aborted-data-stays', scenarioOf('one-cell'), ALL_DEAD, 'audit: data-without-record'],
    ['check-then-act-clean-up', scenarioOf('two-resolvers'), ALL_DEAD, SI],
    ['primary-without-table', scenarioOf('two-tables'), ALL_DEAD, SI],
    ['blind-erase', scenarioOf('touch'), ALL_DEAD, 'engine: error'],
    ['echo-taken-for-conflict', scenarioOf('one-cell'), lost, SI],
    ['clean-up-after-lost-answer', scenarioOf('one-cell'), lost, SI],
    ['notify-after-commit', scenarioOf('observed'), dying, 'notifications: lost'],
    ['notify-at-start-timestamp', scenarioOf('observed'), CRASHED, 'notifications: lost'],
    ['sight-of-lock-remembered', scenarioOf('two-resolvers'), ALL_DEAD, 'progress: endless'],
  ];
  for (const [name, scenario, options, claim] of mistakes) {
    test(`${name}: ${claim}`, async () => {
      const broken = await searchWith(name);
      const { failure, executions } = await broken.exhaust(scenario, options);
      assert.ok(failure !== undefined, 'nothing was found');
      if (claim !== 'progress: endless') assert.ok(executions > 0, 'the search reached an ending');
      const claims = failure.violations.map((violation) => violation.claim);
      assert.ok(
        claims.some((one) => one.startsWith(claim)),
        claims.join(),
      );
      // The same choices lead to the same end again.
      const again = await broken.retell(scenario, options, failure.choices);
      assert.deepEqual(again, failure);
    });
  }
});

test('an error before the first transaction is told with the name of its process', async () => {
  const budget = { crashes: 0, copies: 0, lostAnswers: 0 };
  const { start, rules } = await setTheScene(ALONE, budget, 'all');
  const failed = start.processes.map((state) => ({
    ...state,
    phase: 'finished' as const,
    pending: [],
    observations: { ...state.observations, error: 'AssertionError: broken' },
  }));
  const violations = await new EndingJudge(rules).judge({ ...start, processes: failed });
  assert.deepEqual(violations, [
    { claim: 'engine: error', message: 'A failed with AssertionError: broken' },
  ]);
});

/** The search on an engine with the mistake in it. */
async function searchWith(name: string): Promise<Searcher> {
  const mutant = MUTANTS.find((one) => one.name === name);
  assert.ok(mutant !== undefined, name);
  return importWith<Searcher>(mutant, new URL('./exhaust.ts', import.meta.url));
}

/**
 * Walks every execution from the beginning, and remembers nothing of one in the next.
 */
async function walkAll(
  scenario: Scenario,
  { crashes = 0, copies = 0, lostAnswers = 0, suspicion = 'all' }: ExhaustOptions,
): Promise<{ executions: number; steps: number; outcomes: readonly string[] }> {
  const outcomes = new Set<string>();
  let executions = 0;
  let steps = 0;
  for (let next: number[] | undefined = []; next !== undefined;) {
    const { start, rules } = await setTheScene(
      scenario,
      { crashes, copies, lostAnswers },
      suspicion,
    );
    const endingJudge = new EndingJudge(rules);
    const taken: { choice: number; of: number }[] = [];
    let world = start;
    const end = async (): Promise<void> => {
      if (!isOver(world)) return;
      executions++;
      outcomes.add(describeOutcomes(world));
      assert.deepEqual(await endingJudge.judge(world), []);
    };
    for (let depth = 0; ; depth++) {
      if (depth >= next.length) await end();
      const choices = choicesOf(world, suspicion);
      if (choices.length === 0) break;
      const choice = next[depth] ?? 0;
      taken.push({ choice, of: choices.length });
      const chosen = choices[choice];
      assert.ok(chosen !== undefined);
      const after = await take(rules, world, chosen);
      if (after === undefined) break;
      world = after;
      steps++;
    }
    while (taken.length > 0 && isLast(taken.at(-1))) taken.pop();
    next = taken.length === 0 ? undefined : taken.map(({ choice }) => choice);
    if (next !== undefined) next.push((next.pop() ?? 0) + 1);
  }
  return { executions, steps, outcomes: [...outcomes].toSorted() };
}

function isLast(taken: { readonly choice: number; readonly of: number } | undefined): boolean {
  return taken !== undefined && taken.choice + 1 >= taken.of;
}

function tell({ failure }: SearchReport): string {
  if (failure === undefined) return '';
  const wrong = failure.violations.map(({ claim, message }) => `${claim}: ${message}`);
  return [...wrong, ...failure.story, failure.choices.join('.')].join('\n');
}
