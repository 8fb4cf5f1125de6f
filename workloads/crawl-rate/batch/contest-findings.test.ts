/** The chart of a contest shows each run where it took place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ContestResult, findingsOf } from './contest.ts';

test('an engine that takes part in every fifth repeat has its marks at those repeats', () => {
  const contestant = (name: string, repeats: readonly number[]) => ({
    name,
    startUpSeconds: 1,
    runs: repeats.map((repeat) => {
      return { engine: name, repeat, seconds: 2, cpuSeconds: null, diskBytes: 0, digest: '' };
    }),
  });
  const contestants = [contestant('MapReduce', [0, 1, 2, 3, 4, 5]), contestant('Hadoop', [0, 5])];
  const result: ContestResult = { documents: 10, contestants, missing: [] };
  assert.deepEqual(
    findingsOf(result).charts[0]?.series.map(({ points }) => points.map(({ x }) => x)),
    [
      [1, 2, 3, 4, 5, 6],
      [1, 6],
    ],
  );
});
