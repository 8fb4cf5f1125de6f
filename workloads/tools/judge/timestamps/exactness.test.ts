/**
 * The judge of histories with timestamps compared with the definition of snapshot isolation, on
 * thousands of small random histories. The definition tries every possibility for each unknown.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '#engine/base';
import { shuffled } from '../../../harness/chance.ts';
import { judgeSnapshotIsolation } from '../../../verification/judges/index.ts';
import { Collector } from './collect.ts';
import { WithoutEqualSnapshots } from './judge-timestamps.ts';
import { parseTransaction } from './transaction.ts';

interface SmallTransaction {
  readonly start: number;
  readonly commit?: number;
  readonly outcome: 'ok' | 'fail' | 'info';
  /** In real time. */
  readonly begin?: number;
  readonly end?: number;
  readonly reads: Readonly<Record<string, number | null>>;
  readonly writes: Readonly<Record<string, number | null>>;
}

const KEYS = ['x', 'y'];
const TIMES = 9;

test('a history is clean if and only if some choice of its unknowns fits snapshot isolation', () => {
  const counts = { clean: 0, violated: 0, unknownSeen: 0 };
  for (let seed = 1; seed <= 6000; seed++) {
    const history = randomHistory(createRandom(seed), { unique: true });
    const { found, unknownSeen } = judge(history);
    const note = `seed ${seed}: ${JSON.stringify(history)}`;
    assert.equal(found === 0, isPossible(history), note);
    counts[found === 0 ? 'clean' : 'violated']++;
    if (found === 0) counts.unknownSeen += unknownSeen;
  }
  const { clean, violated, unknownSeen } = counts;
  assert.ok(Math.min(clean, violated, unknownSeen) > 500, JSON.stringify(counts));
});

test('with real time, a history is clean if and only if some choice of its unknowns fits', () => {
  const counts = { clean: 0, violated: 0, byTime: 0 };
  for (let seed = 1; seed <= 6000; seed++) {
    const random = createRandom(seed);
    const history = inRealTime(random, randomHistory(random, { unique: true }));
    const { found } = judge(history, { strict: true });
    const note = `seed ${seed}: ${JSON.stringify(history)}`;
    assert.equal(found === 0, isPossible(history), note);
    counts[found === 0 ? 'clean' : 'violated']++;
    if (found > 0 && judge(history).found === 0) counts.byTime++;
  }
  const { clean, violated, byTime } = counts;
  assert.ok(Math.min(clean, violated) > 500 && byTime > 166, JSON.stringify(counts));
});

test('a possible history is never called violated, even if values repeat and unknown outcomes delete', () => {
  const counts = { clean: 0, violated: 0, missed: 0 };
  for (let seed = 1; seed <= 6000; seed++) {
    const history = randomHistory(createRandom(seed), { unique: false });
    const { found } = judge(history);
    const possible = isPossible(history);
    const note = `seed ${seed}: ${JSON.stringify(history)}`;
    if (found > 0) assert.equal(possible, false, note);
    counts[found === 0 ? 'clean' : 'violated']++;
    if (found === 0 && !possible) counts.missed++;
  }
  assert.ok(Math.min(counts.clean, counts.violated) > 500, JSON.stringify(counts));
});

/** A history like a store's: mostly right reads, with some mistakes. */
function randomHistory(
  random: Random,
  { unique }: { readonly unique: boolean },
): readonly SmallTransaction[] {
  const times = shuffled(
    random,
    Array.from({ length: TIMES }, (_, i) => i + 1),
  );
  let value = 0;
  const writers = Array.from({ length: random.integer(2, 4) }, () => {
    const [one = 0, other = 0] = [times.pop(), times.pop()];
    const outcome = random.pick(['ok', 'ok', 'ok', 'fail', 'info', 'info'] as const);
    const isTold = outcome === 'ok' && random.fraction() < 0.7;
    const isDeletion = (): boolean =>
      unique ? isTold && random.fraction() < 0.1 : random.fraction() < 0.2;
    const keys = KEYS.filter(() => random.fraction() < 0.6);
    const newValue = (): number => (unique ? ++value : random.integer(1, 3));
    const writes = Object.fromEntries(keys.map((key) => [key, isDeletion() ? null : newValue()]));
    const [start, commit] = [Math.min(one, other), Math.max(one, other)];
    const swapped = random.fraction() < 0.02 ? { start: commit, commit: start } : { start, commit };
    return {
      outcome,
      reads: {},
      writes,
      start: swapped.start,
      ...(isTold && { commit: swapped.commit }),
    };
  });
  const readers = times.slice(0, 3).map((start): SmallTransaction => {
    const reads = Object.fromEntries(
      KEYS.map((key) => {
        const values = writers
          .filter((one) => key in one.writes)
          .filter(
            (one) => random.fraction() < (one.start < start && one.outcome !== 'fail' ? 0.9 : 0.05),
          )
          .toSorted((a, b) => (a.commit ?? a.start) - (b.commit ?? b.start))
          .map(({ writes }) => writes[key] ?? null);
        return [key, values.at(-1) ?? null];
      }),
    );
    return { start, outcome: random.pick(['ok', 'ok', 'fail']), reads, writes: {} };
  });
  return shuffled(random, [...writers, ...readers]);
}

/**
 * Many transactions run when their timestamps say so; the others earlier or later, or longer. Some
 * do not read what shows that a transaction of unknown outcome has committed.
 */
function inRealTime(
  random: Random,
  history: readonly SmallTransaction[],
): readonly SmallTransaction[] {
  const often = (least: number, most: number): number =>
    random.fraction() < 0.5 ? random.integer(least, most) : 0;
  return history.map((one) => {
    const begin = 10 + one.start + often(-4, 4);
    const lasts = Math.max(0, (one.commit ?? one.start) - one.start) + 0.5;
    const keys = KEYS.filter((key) => key in one.reads && random.fraction() < 0.6);
    const reads = Object.fromEntries(keys.map((key) => [key, one.reads[key] ?? null]));
    return { ...one, reads, begin, end: begin + lasts + often(1, 8) };
  });
}

function judge(
  history: readonly SmallTransaction[],
  { strict = false } = {},
): { readonly found: number; readonly unknownSeen: number } {
  const collector = new Collector({ ownWritesSeen: true });
  for (const [i, { reads, writes, ...rest }] of history.entries()) {
    const ops = [
      ...Object.entries(reads).map(([key, value]) => ({ read: key, value })),
      ...Object.entries(writes).map(([key, value]) =>
        value === null ? { delete: key } : { write: key, value },
      ),
    ];
    collector.add(parseTransaction(JSON.stringify({ ...rest, ops })), i + 1);
  }
  const collected = collector.finish(strict);
  const findings = new WithoutEqualSnapshots(collected, Infinity);
  judgeSnapshotIsolation(collected.history, findings);
  return { found: findings.kept.length + collected.own.length, unknownSeen: collected.unknownSeen };
}

/**
 * Tries every commit timestamp for a transaction without one: one in each gap between timestamps,
 * and, if its outcome is unknown, none.
 */
function isPossible(
  history: readonly SmallTransaction[],
  decided: readonly (number | undefined)[] = [],
): boolean {
  if (decided.length === history.length) return isSnapshotIsolated(history, decided);
  const { start, commit, outcome, writes } = history[decided.length] ?? failed();
  const isWriter = Object.keys(writes).length > 0;
  if (!isWriter || outcome === 'fail') return isPossible(history, [...decided, undefined]);
  if (commit !== undefined) return isPossible(history, [...decided, commit]);
  const gaps = Array.from({ length: TIMES + 1 }, (_, i) => i + 0.5).filter((gap) => gap > start);
  const choices = outcome === 'info' ? [undefined, ...gaps] : gaps;
  return choices.some((choice) => isPossible(history, [...decided, choice]));
}

function isSnapshotIsolated(
  history: readonly SmallTransaction[],
  commits: readonly (number | undefined)[],
): boolean {
  const committed = history.flatMap((one, i) => {
    const commit = commits[i];
    return commit === undefined ? [] : [{ ...one, commit }];
  });
  if (committed.some(({ start, commit }) => commit <= start)) return false;
  if (!isInRealTime(history, commits)) return false;
  return KEYS.every((key) => {
    const writers = committed.filter(({ writes }) => key in writes);
    const overlap = writers.some((one) =>
      writers.some(
        (other) => one !== other && one.start < other.commit && other.start < one.commit,
      ),
    );
    if (overlap) return false;
    return history.every(({ start, reads }) => {
      if (!(key in reads)) return true;
      const visible = writers
        .filter(({ commit }) => commit <= start)
        .toSorted((a, b) => a.commit - b.commit)
        .at(-1);
      return (visible?.writes[key] ?? null) === reads[key];
    });
  });
}

/**
 * Whether each transaction that began after an `ok` one had ended has a snapshot that holds every
 * commit that the `ok` one saw, and the commit of the `ok` one.
 */
function isInRealTime(
  history: readonly SmallTransaction[],
  commits: readonly (number | undefined)[],
): boolean {
  return history.every(({ start, outcome, end = Infinity }, i) => {
    if (outcome !== 'ok') return true;
    const had = commits.filter((commit = Infinity, j) => commit <= start || j === i);
    const newest = Math.max(0, ...had.map((commit = 0) => commit));
    return history.every((other) => (other.begin ?? 0) <= end || other.start >= newest);
  });
}

function failed(): SmallTransaction {
  return { start: 0, outcome: 'fail', reads: {}, writes: {} };
}
