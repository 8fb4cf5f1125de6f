/** The search on functions whose best settings are known. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine';
import { DEFAULTS, drawCandidates, nameOf, WORKLOADS } from './tuned-workloads.ts';
import { asConfig, ENGINE_OPTIONS, type EngineValues } from '../../harness/engine-settings.ts';
import {
  type Objective,
  type SearchResult,
  isSignificant,
  paretoFront,
  search,
  type Trial,
  trialsOf,
} from './search.ts';
import { certaintyOf, configText, recommended } from './tune-findings.ts';

/**
 * Searches settings whose throughput is 100 times their `goodness`, or whose latency is 1 divided
 * by it, give or take a share of `noise` / 2.
 */
async function find(
  goodness: (values: EngineValues) => number,
  {
    noise = 0.02,
    seed = 1,
    objective = 'throughput',
  }: { readonly noise?: number; readonly seed?: number; readonly objective?: Objective } = {},
): Promise<
  SearchResult & {
    readonly lengths: number;
    readonly trials: number;
    /** Of each trial. */
    readonly dataSeeds: readonly number[];
  }
> {
  const random = createRandom(seed);
  const chance = random.fork('noise');
  const candidates = drawCandidates(12, random.fork('candidates'));
  const dataSeeds: number[] = [];
  let [lengths, trials] = [0, 0];
  const found = await search({
    candidates,
    objective,
    seconds: 1,
    repeats: 5,
    random,
    measure: async (values, { seconds, seed: dataSeed }): Promise<Trial> => {
      dataSeeds.push(dataSeed);
      lengths += seconds;
      trials++;
      const luck = 1 + noise * (chance.fraction() - 0.5);
      const good = goodness(values) * luck;
      return objective === 'throughput'
        ? { perSecond: 100 * good, latencyMs: 1 }
        : { perSecond: 100, latencyMs: 1 / good };
    },
  });
  return { ...found, lengths, trials, dataSeeds };
}

function certainty(found: SearchResult): string {
  return certaintyOf({ found, objective: 'throughput', unit: 'things', workload: 'test' });
}

describe('the search', () => {
  test('finds the better settings, with certainty', async () => {
    const found = await find(({ batching }) => (batching === 'on' ? 1.5 : 1));
    assert.equal(found.winner.batching, 'on');
    assert.ok(found.gain !== null && isSignificant(found.gain));
    assert.ok((found.gain.low ?? 0) > 1.4 && (found.gain.high ?? 0) < 1.6);
    assert.equal(recommended(found), found.winner);
    assert.match(certainty(found), /^The best candidate reached 1\.\d\d times \(95 %: 1\.\d\d to/);
  });

  test('finds the settings with the lower latency, if that is the objective', async () => {
    const found = await find(({ batching }) => (batching === 'on' ? 1.5 : 1), {
      objective: 'latency',
    });
    assert.equal(found.winner.batching, 'on');
    assert.ok((found.gain?.low ?? 0) > 1.4 && (found.gain?.high ?? Infinity) < 1.6);
    assert.equal(recommended(found), found.winner);
  });

  test('reports no significant difference if there is none, even if a candidate was lucky', async () => {
    let [unsure, unclear] = [0, 0];
    for (let seed = 1; seed <= 40; seed++) {
      const found = await find(() => 1, { noise: 0.4, seed });
      if (recommended(found) !== DEFAULTS) continue;
      unsure++;
      const { low, high } = found.gain ?? {};
      const holdsOne = (low ?? Infinity) <= 1 && (high ?? 0) >= 1;
      if (holdsOne) unclear++;
      assert.match(
        certainty(found),
        holdsOne ? /^No significant difference: .* Keep/ : /Keep the defaults\.$/,
      );
      assert.deepEqual(JSON.parse(configText(found)), asConfig(DEFAULTS));
    }
    // Of 40 intervals of 95 %, one that is above 1 is expected; five are very unlikely.
    assert.ok(unsure >= 36, `${40 - unsure} of 40 recommended settings that are not better`);
    assert.ok(unclear > 0, 'no interval held 1');
  });

  test('keeps the defaults if nothing is better', async () => {
    const found = await find((values) => (values === DEFAULTS ? 1 : 0.5));
    assert.equal(found.winner, DEFAULTS);
    assert.equal(found.gain, null);
    assert.match(certainty(found), /did better than the defaults\. Keep the defaults/);
  });

  test('gives all trials of a round, and of a final pair, the same data; the seed decides it', async () => {
    const goodness = ({ batching }: EngineValues): number => (batching === 'on' ? 1.5 : 1);
    const { dataSeeds } = await find(goodness);
    const rounds = [12, 6, 3, 2, 2, 2, 2, 2, 2];
    const expected = [...new Set(dataSeeds)].flatMap((seed, i) => Array(rounds[i]).fill(seed));
    assert.deepEqual(dataSeeds, expected);
    assert.equal(new Set(dataSeeds).size, rounds.length);
    assert.deepEqual((await find(goodness)).dataSeeds, dataSeeds);
    const { dataSeeds: others } = await find(goodness, { seed: 2 });
    assert.deepEqual(
      others.filter((seed) => dataSeeds.includes(seed)),
      [],
    );
  });

  test('takes the number of trials, and the time, announced in advance', async () => {
    const { trials, lengths } = await find(({ batchRows }) => batchRows);
    assert.deepEqual({ trials, lengths }, trialsOf(12, 5));
  });
});

test('the front holds the trials that no other one beats, in the order of throughput', () => {
  const tried = (
    [
      [20, 2],
      [10, 1],
      [15, 3],
      [20, 5],
      [5, 1],
    ] as const
  ).map(([perSecond, latencyMs]) => ({
    values: DEFAULTS,
    trial: { perSecond, latencyMs },
    seconds: 1,
  }));
  assert.deepEqual(
    paretoFront(tried).map(({ trial }) => trial.perSecond),
    [10, 20],
  );
});

test('no candidates differ only in a setting that has no effect', () => {
  const candidates = drawCandidates(50, createRandom(3), WORKLOADS.micro.fixed);
  assert.deepEqual([...new Set(candidates.map(({ scanners }) => scanners))], [DEFAULTS.scanners]);
  assert.equal(new Set(candidates.map(nameOf)).size, 50);
});

test('candidates are different from one another, and begin with the defaults', () => {
  const candidates = drawCandidates(50, createRandom(3));
  assert.equal(candidates[0], DEFAULTS);
  assert.equal(new Set(candidates.map(nameOf)).size, 50);
});

test('the defaults are those of the options', () => {
  for (const [name, option] of Object.entries(ENGINE_OPTIONS)) {
    assert.equal(option.fallback(), DEFAULTS[name as keyof EngineValues]);
  }
});
