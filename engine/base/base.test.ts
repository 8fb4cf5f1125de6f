/** Claims of the base layer: seeds, forks, retries, sleeping, warnings, messages about options. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import process from 'node:process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  BoundedMap,
  compareTexts,
  createRandom,
  entropyName,
  isFinal,
  isRetryable,
  PercolatorError,
  systemClock,
  Warnings,
} from './index.ts';
import { check, TEXT, TEXTS } from './options.ts';

test('a bounded map forgets what was set the longest ago, however often that was read', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  assert.equal(map.get('b'), 2);
  map.set('c', 4);
  assert.deepEqual([...map], Object.entries({ a: 3, c: 4 }));
});

test('a bounded map never holds more than its maximum', () => {
  const map = new BoundedMap<number, true>(3);
  for (let i = 0; i < 10; i++) assert.equal(map.set(i, true).size, Math.min(i + 1, 3));
  assert.deepEqual([...map.keys()], [7, 8, 9]);
});

test('texts are compared as their bytes in UTF-8 are', () => {
  const random = createRandom(3);
  const characters = [
    '\0',
    'a',
    'b',
    'é',
    '中',
    '\u{D7FF}',
    '\u{E000}',
    '\u{FFFF}',
    '\u{10000}',
    '😀',
  ];
  const text = (): string =>
    Array.from({ length: random.integer(0, 4) }, () => random.pick(characters)).join('');
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [text(), text()];
    const expected = Buffer.compare(Buffer.from(a), Buffer.from(b));
    assert.equal(Math.sign(compareTexts(a, b)), expected, JSON.stringify([a, b]));
  }
});

test('the same seed gives the same stream', () => {
  const draw = (): number[] => {
    const random = createRandom(7);
    return Array.from({ length: 20 }, () => random.integer(0, 1_000_000));
  };
  assert.deepEqual(draw(), draw());
});

test('names from the operating system have one length, and none comes twice', () => {
  const names = Array.from({ length: 2_000 }, entropyName);
  assert.deepEqual([...new Set(names.map(({ length }) => length))], [13]);
  assert.equal(new Set(names).size, names.length);
});

test('a fork depends on the seed and its name, not on what was drawn before', () => {
  const early = createRandom(7).fork('worker-1');
  const late = createRandom(7);
  late.fraction();
  const afterDraw = late.fork('worker-1');
  assert.equal(early.integer(0, 1 << 30), afterDraw.integer(0, 1 << 30));
  assert.notEqual(
    createRandom(7)
      .fork('worker-1')
      .integer(0, 1 << 30),
    createRandom(7)
      .fork('worker-2')
      .integer(0, 1 << 30),
  );
  assert.notEqual(
    createRandom(7)
      .fork('worker-1')
      .integer(0, 1 << 30),
    createRandom(8)
      .fork('worker-1')
      .integer(0, 1 << 30),
  );
});

test('a conflict is retryable; an unknown commit, a mutation in doubt and a foreign error are not', () => {
  assert.equal(isRetryable(new PercolatorError('WRITE_CONFLICT', 'x')), true);
  assert.equal(isRetryable(new PercolatorError('COMMIT_UNKNOWN', 'x')), false);
  assert.equal(isRetryable(new PercolatorError('STORE_IN_DOUBT', 'x')), false);
  assert.equal(isRetryable(new Error('x')), false);
});

test('an aborted sleep ends at once and does not reject', async () => {
  const controller = new AbortController();
  const started = systemClock.monotonicMs();
  const slept = systemClock.sleep(3_600_000, controller.signal);
  controller.abort();
  await slept;
  await systemClock.sleep(3_600_000, controller.signal);
  assert.ok(systemClock.monotonicMs() - started < 3_600_000);
});

test('a sleep of 2^31 ms, too long for one timer, does not end at once', async () => {
  const controller = new AbortController();
  let isOver = false;
  const sleeping = systemClock.sleep(2 ** 31, controller.signal).then(() => {
    isOver = true;
  });
  await systemClock.sleep(20);
  assert.equal(isOver, false);
  controller.abort();
  await sleeping;
});

test('background work ends with a closed store, an invalid argument or a bug, and with nothing else', () => {
  assert.equal(isFinal(new PercolatorError('STORE_CLOSED', 'x')), true);
  assert.equal(isFinal(new PercolatorError('INVALID_ARGUMENT', 'x')), true);
  assert.equal(isFinal(new TypeError('x')), true);
  assert.equal(isFinal(new PercolatorError('STORE_UNAVAILABLE', 'x')), false);
  assert.equal(isFinal(new PercolatorError('TABLE_NOT_FOUND', 'x')), false);
});

test('a callback for warnings that throws or rejects harms nothing', async () => {
  const failing = [
    () => {
      throw new Error('x');
    },
    () => Promise.reject(new Error('x')), // Unhandled, it would fail this file.
  ];
  for (const onWarning of failing) {
    const warnings = new Warnings(onWarning);
    warnings.begin('one', { kind: 'step', sentence: 'It fails.' });
    await systemClock.yield();
    assert.deepEqual(warnings.current, [{ kind: 'step', sentence: 'It fails.', isOver: false }]);
  }
});

test('without a callback for warnings, the first one of each kind and column is on standard error', async () => {
  const program = `
    import { Warnings } from ${JSON.stringify(new URL('warnings.ts', import.meta.url).href)};
    for (const onWarning of [undefined, () => {}]) {
      const warnings = new Warnings(onWarning);
      for (const kind of ['step', 'step', 'table']) {
        warnings.begin(kind, { kind, sentence: 'A ' + kind + ' fails' });
        warnings.end(kind);
      }
      for (const [column, row] of [['a', 'x'], ['b', 'x'], ['a', 'y']]) {
        const sentence = 'A ' + column + ' fails';
        warnings.begin(column + row, { kind: 'column', sentence, table: 't', column, row });
      }
    }`;
  const flags = ['--input-type=module', '--eval', program];
  const { stderr } = await promisify(execFile)(process.execPath, flags);
  const told = [...stderr.matchAll(/\[(\w+)\] PercolatorWarning: A (\w+) fails \(give onWarning/g)];
  assert.deepEqual(
    told.map(([, code, what]) => [code, what]),
    [
      ['step', 'step'],
      ['table', 'table'],
      ['column', 'a'],
      ['column', 'b'],
    ],
    stderr,
  );
});

test('the message about a wrong option is one line, whatever the value is', () => {
  const failure = new PercolatorError('STORE_CLOSED', 'first\nsecond');
  for (const [value, shown] of [
    [[1, 20, 3, 4, 5, 6, 7, 8], '[ 1, 20, 3, 4, 5, 6, 7, 8 ]'],
    [failure, 'PercolatorError: first second'],
    [[failure], '[ '],
    ['a\nb', String.raw`'a\nb'`],
  ] as const) {
    const isOneLine = ({ message }: Error): boolean =>
      message.startsWith(`splits must be a list of texts, not ${shown}`) && !message.includes('\n');
    assert.throws(() => check('splits', value, TEXTS), isOneLine);
  }
});

test('the message about a wrong option cuts a long value short', () => {
  const long = Array.from({ length: 90 }, (_, i) => `value ${i}`);
  const isShort = ({ message }: Error): boolean => message.length < 260;
  assert.throws(() => check('name', long, TEXT), isShort);
});
