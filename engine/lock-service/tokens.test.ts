/**
 * Claims of tokens and range locks, without a network: which workers count as dead, and how long a
 * scanner holds its rows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { VirtualClock } from '../testing/index.ts';
import { RangeLockTable } from './index.ts';
import { Tokens } from './tokens.ts';

const TTL_MS = 1_000;
/** As in tokens.ts: how long a worker may take to reconnect. */
const GRACE_MS = 250;

test('P26: a worker that was never heard of is not reported dead', async () => {
  const { tokens, clock, changes } = scene();
  const unknown = session('x');
  tokens.leave(unknown);
  tokens.disconnect(unknown);
  await clock.advance(TTL_MS);
  tokens.expire();
  assert.deepEqual([tokens.dead, changes], [[], []]);
});

test('a worker that beats is alive; one that has stopped is dead after its time to live, not before', async () => {
  const { tokens, clock, changes } = scene();
  const [a, b] = [session('a'), session('b')];
  tokens.beat(a);
  tokens.beat(b);
  await clock.advance(TTL_MS - 1);
  tokens.beat(a);
  tokens.expire();
  assert.deepEqual(changes, []);
  await clock.advance(1);
  tokens.expire();
  assert.deepEqual(changes, ['b dead']);
  assert.deepEqual(tokens.dead, ['b']);
});

test('P26: a worker that was paused and comes back is alive again, and that is reported', async () => {
  const { tokens, clock, changes } = scene();
  const a = session('a');
  tokens.beat(a);
  await clock.advance(TTL_MS);
  tokens.expire();
  tokens.beat(a);
  assert.deepEqual(changes, ['a dead', 'a alive']);
  assert.deepEqual(tokens.dead, []);
});

test('a worker that leaves is dead at once; one whose connection breaks, after a moment', async () => {
  const { tokens, clock, changes } = scene();
  const [a, b] = [session('a'), session('b')];
  tokens.beat(a);
  tokens.beat(b);
  tokens.leave(a);
  assert.deepEqual(changes, ['a dead']);
  tokens.disconnect(b);
  tokens.expire();
  assert.deepEqual(changes, ['a dead']);
  await clock.advance(GRACE_MS);
  tokens.expire();
  assert.deepEqual(changes, ['a dead', 'b dead']);
});

test('a worker that comes back by a new connection does not die with the old one', async () => {
  const { tokens, clock, changes } = scene();
  const [before, after] = [session('a'), session('a')];
  tokens.beat(before);
  tokens.beat(after);
  tokens.disconnect(before);
  tokens.leave(before);
  await clock.advance(TTL_MS - 1);
  tokens.expire();
  assert.deepEqual(changes, []);
});

test('a late beat of the old connection does not tie the worker to it again', async () => {
  const { tokens, clock, changes } = scene();
  const [before, after] = [session('a'), session('a')];
  tokens.beat(before);
  tokens.beat(after);
  tokens.beat(before); // It waited in the socket until now.
  tokens.disconnect(before);
  await clock.advance(GRACE_MS); // The next beat of `after` comes later.
  tokens.expire();
  assert.deepEqual(changes, []);
});

test('a late beat of the old connection does not kill a worker that came back after its death', async () => {
  const { tokens, clock, changes } = scene();
  const [before, after] = [session('a'), session('a')];
  tokens.beat(before);
  await clock.advance(TTL_MS);
  tokens.expire();
  tokens.beat(after);
  tokens.beat(before); // It waited in the network until now.
  tokens.disconnect(before);
  tokens.beat(after);
  await clock.advance(GRACE_MS);
  tokens.expire();
  assert.deepEqual(changes, ['a dead', 'a alive']);
});

test('the oldest dead beyond 10,000 are forgotten, the latest are not', () => {
  const { tokens } = scene();
  for (let i = 0; i < 10_100; i++) {
    const one = session(String(i));
    tokens.beat(one);
    tokens.leave(one);
  }
  assert.equal(tokens.dead.length, 10_000);
  assert.equal(tokens.dead[0], '100');
  assert.equal(tokens.dead.at(-1), '10099');
});

test('"acquires a lock from a lightweight lock service": a range is one scanner’s until it is released', async () => {
  const [a, b] = scanners();
  const range = { table: 't', from: 'c', to: 'f' };
  const lock = await a.tryLock(range);
  assert.ok(lock !== undefined);
  for (const [from, to, isFree] of [
    ['a', 'b', true],
    ['a', 'c', false],
    ['d', 'e', false],
    ['a', 'z', false],
    ['f', 'z', false],
    ['g', 'z', true],
    ['b', 'b', true],
    ['a', 'bz', true],
    ['f\0', 'z', true], // The first key after the last one.
    ['f1', 'z', true],
    ['f', 'f', false],
    ['c', 'c', false],
  ] as const) {
    const other = await b.tryLock({ table: 't', from, to });
    assert.equal(other !== undefined, isFree, `${from} to ${to}`);
    other?.release();
  }
  assert.ok(await b.tryLock({ ...range, table: 'u' }), 'a range of another table');
  lock.release();
  lock.release();
  assert.ok(await b.tryLock(range));
});

test('a range ends at its last row: another scanner may lock the next', async () => {
  const [a, b] = scanners();
  assert.ok(await a.tryLock({ table: 't', from: 'b1', to: 'c' }));
  assert.ok(await b.tryLock({ table: 't', from: 'a', to: 'b' }));
});

test('a death is reported once, however often tokens are checked', async () => {
  const clock = new VirtualClock();
  const reported: string[] = [];
  const tokens = new Tokens(clock, (token, isDead) => reported.push(`${token} ${isDead}`));
  tokens.beat({ token: 'A', ttlMs: 10 });
  await clock.advance(11);
  tokens.expire();
  tokens.expire();
  assert.deepEqual(reported, ['A true']);
});

test('a scanner does not conflict with itself', async () => {
  const [a] = scanners();
  assert.ok(await a.tryLock({ table: 't', from: 'a', to: 'c' }));
  assert.ok(await a.tryLock({ table: 't', from: 'b', to: 'd' }));
});

test('a lock that was never released ends with its time to live', async () => {
  const [a, b, clock] = scanners();
  const range = { table: 't', from: 'a', to: 'b' };
  await a.tryLock(range);
  await clock.advance(TTL_MS - 1);
  assert.equal(await b.tryLock(range), undefined);
  await clock.advance(1);
  assert.ok(await b.tryLock(range));
});

test('releasing a lock that has ended does not release the next one', async () => {
  const [a, b, clock] = scanners();
  const range = { table: 't', from: 'a', to: 'b' };
  const late = await a.tryLock(range);
  await clock.advance(TTL_MS);
  assert.ok(await b.tryLock(range));
  late?.release();
  assert.equal(await a.tryLock(range), undefined);
});

test('at no time do two scanners hold one row, whatever they lock and release', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const step = fc.record({ who: fc.nat(2), a: key, b: key, release: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new RangeLockTable(new VirtualClock());
      const held: { who: number; number: number; from: string; to: string }[] = [];
      for (const { who, a, b, release } of steps) {
        const [from, to] = a < b ? [a, b] : [b, a];
        const isFree = !held.some((one) => one.who !== who && one.from <= to && from <= one.to);
        const number = table.lock(String(who), { table: 't', from, to });
        assert.equal(number !== undefined, isFree);
        if (number !== undefined) held.push({ who, number, from, to });
        const [gone] = held.splice(release, 1);
        if (gone !== undefined) table.unlock(gone.number);
      }
    }),
  );
});

function scene(): {
  readonly tokens: Tokens;
  readonly clock: VirtualClock;
  readonly changes: string[];
} {
  const clock = new VirtualClock();
  const changes: string[] = [];
  const tokens = new Tokens(clock, (token, isDead) => {
    changes.push(`${token} ${isDead ? 'dead' : 'alive'}`);
  });
  return { tokens, clock, changes };
}

function session(token: string): { readonly token: string; readonly ttlMs: number } {
  return { token, ttlMs: TTL_MS };
}

function scanners() {
  const clock = new VirtualClock();
  const table = new RangeLockTable(clock, TTL_MS);
  return [table.of('a'), table.of('b'), clock] as const;
}
