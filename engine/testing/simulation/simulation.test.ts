/**
 * The simulator in every test run: 500 seeds of the engine as it is, and the simulator's own promises.
 * A test that fails names its seed: `npm run simulate -- --from <seed> --seeds 1` shrinks and tells it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { add, NOTHING, notCovered, planOf, simulate, type Tally, tallyOf } from './index.ts';

const SEEDS = 500;
/** Seeds in one test: a test's name is the place to look for the seed. */
const SEEDS_PER_TEST = 50;

Error.stackTraceLimit = 4; // Conflicts are errors; there will be a hundred thousand.

describe('no rule is broken', () => {
  let tally: Tally = NOTHING;
  for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
    test(`in the runs of seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, async () => {
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        const result = await simulate(planOf(seed));
        assert.deepEqual(result.violations, [], `seed ${seed}`);
        tally = add(tally, tallyOf(result));
      }
    });
  }

  test('and all that could go wrong has gone wrong', () => {
    assert.equal(tally.runs, SEEDS);
    assert.deepEqual(notCovered(tally), []);
    for (const [what, count] of Object.entries(tally.counts)) assert.ok(count > 0, what);
  });
});

describe('the simulator', () => {
  test('does the same again, bit for bit, for the same seed', async () => {
    for (const seed of [3, 5, 8]) {
      const [first, second] = [await simulate(planOf(seed)), await simulate(planOf(seed))];
      assert.equal(first.digest, second.digest);
      assert.equal(JSON.stringify(first.history), JSON.stringify(second.history));
      assert.deepEqual(first.counts, second.counts);
      assert.deepEqual(first.faults, second.faults);
    }
  });

  test('does something else for another seed', async () => {
    const digests = new Set<number>();
    for (const seed of [3, 5, 8]) digests.add((await simulate(planOf(seed))).digest);
    assert.equal(digests.size, 3);
  });

  test('replays a plan that has been through a file', async () => {
    const plan = planOf(13);
    const read = JSON.parse(JSON.stringify(plan)) as typeof plan;
    assert.equal((await simulate(read)).digest, (await simulate(plan)).digest);
  });
});
