/**
 * The recipes: pairs that many write, a queue that exports the newest value, and one that combines
 * what many have added; each while several workers and writers are at it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, openPercolator, type Percolator, type Snapshot } from '../index.ts';
import { type Codec, codecs } from '../typed/index.ts';
import { createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import {
  areEqual,
  CombineQueue,
  type Exported,
  ExportQueue,
  jsonColumn,
  pairRow,
  readPairs,
  writePairs,
} from './index.ts';

async function open(table: string, observedColumns: readonly string[] = []): Promise<Percolator> {
  const percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable(table, { observedColumns });
  return percolator;
}

async function reading<T>(
  percolator: Percolator,
  read: (from: Snapshot) => Promise<T>,
): Promise<T> {
  await using snapshot = await percolator.snapshot();
  return await read(snapshot);
}

/** A codec for texts of one letter that encodes each into the same buffer. */
function reusing(): Codec<string> {
  const buffer = new Uint8Array(1);
  const encode = (value: string): Uint8Array => {
    buffer[0] = value.charCodeAt(0);
    return buffer;
  };
  return { encode, decode: (stored) => codecs.text.decode(stored) };
}

describe('pairs', () => {
  const LINKS = jsonColumn<string>('links', 'text');

  test('are written by their second halves and read by their first, and no other is found', async () => {
    const percolator = await open('links');
    const write = (second: string, before: object, after: object): Promise<readonly string[]> =>
      percolator.transact(async (transaction) =>
        writePairs(transaction, LINKS, second, {
          before: new Map(Object.entries(before)),
          after: new Map(Object.entries(after)),
        }),
      );
    await Promise.all(['a', 'b', 'c'].map((page) => write(page, {}, { home: page, homes: 'x' })));
    assert.deepEqual(await write('b', { home: 'b', homes: 'x' }, { home: 'new', homes: 'x' }), [
      'home',
    ]);
    assert.deepEqual(await write('c', { home: 'c', homes: 'x' }, { homes: 'x' }), ['home']);
    const found = await reading(percolator, (from) => readPairs(from, LINKS, 'home'));
    assert.deepEqual(found, [
      ['a', 'a'],
      ['b', 'new'],
    ]);
    const [first] = await reading(percolator, (from) =>
      readPairs(from, LINKS, 'homes', { limit: 1 }),
    );
    assert.deepEqual(first, ['a', 'x']);
    assert.throws(() => pairRow('a\0b', 'c'), { code: 'INVALID_ARGUMENT' });
    const inside = reading(percolator, (from) => readPairs(from, LINKS, 'home\0a'));
    await assert.rejects(inside, { code: 'INVALID_ARGUMENT' });
  });

  test('that have changed are written, also if the codec uses one buffer for all', async () => {
    const percolator = await open('links');
    const column = { table: 'links', name: 'text', ...reusing() };
    const write = (before: string, after: string): Promise<readonly string[]> =>
      percolator.transact(async (transaction) =>
        writePairs(transaction, column, 'a', {
          before: new Map([['home', before]]),
          after: new Map([['home', after]]),
        }),
      );
    assert.deepEqual(await write('x', 'y'), ['home']);
    assert.deepEqual(await write('y', 'y'), []);
    const found = await reading(percolator, (from) => readPairs(from, column, 'home'));
    assert.deepEqual(found, [['a', 'y']]);
  });
});

describe('an export queue', () => {
  /** A target as it must be: what is not newer changes nothing. */
  class Target {
    readonly held = new Map<string, Exported<string>>();
    calls = 0;

    async tell(change: Exported<string>): Promise<void> {
      this.calls++;
      await Promise.resolve();
      if ((this.held.get(change.key)?.version ?? 0) >= change.version) return;
      this.held.set(change.key, change);
    }

    get values(): object {
      const there = [...this.held.values()].filter(({ value }) => value !== undefined);
      return Object.fromEntries(there.map(({ key, value }) => [key, value]));
    }
  }

  const QUEUE = new ExportQueue(jsonColumn<string>('exports', 'value'));
  const offer = (percolator: Percolator, key: string, value?: string): Promise<boolean> =>
    percolator.transact((transaction) => QUEUE.offer(transaction, key, value));

  test('tells of each change, once at rest, and of none that changes nothing', async () => {
    const percolator = await open('exports', ['entry']);
    const target = new Target();
    assert.equal(await offer(percolator, 'a', '1'), true);
    assert.equal(await offer(percolator, 'a', '2'), true);
    assert.equal(await offer(percolator, 'b', '1'), true);
    assert.equal(await offer(percolator, 'never'), false);
    assert.equal(await reading(percolator, (from) => QUEUE.isExported(from, 'a')), false);
    await using worker = percolator.startWorker([QUEUE.exporter((change) => target.tell(change))]);
    await worker.idle();
    assert.deepEqual([target.values, target.calls], [{ a: '2', b: '1' }, 2]);
    assert.equal(await reading(percolator, (from) => QUEUE.isExported(from, 'a')), true);
    assert.equal(await offer(percolator, 'a', '2'), false);
    assert.equal(await offer(percolator, 'b'), true);
    await worker.idle();
    assert.deepEqual([target.values, target.calls], [{ a: '2' }, 3]);
    const contents = await reading(percolator, (from) => Array.fromAsync(QUEUE.contents(from)));
    assert.deepEqual(
      contents,
      [...target.held.values()].toSorted((x, y) => (x.key < y.key ? -1 : 1)),
    );
  });

  test('refuses a column of values that is one of its own', () => {
    for (const name of ['entry', 'exported']) {
      const make = () => new ExportQueue(jsonColumn('exports', name));
      assert.throws(make, { code: 'INVALID_ARGUMENT', message: /must have another name/ });
    }
  });

  test('offers each its own value, also if the codec uses one buffer for all', async () => {
    const percolator = await open('exports', ['entry']);
    const queue = new ExportQueue({ table: 'exports', name: 'value', ...reusing() });
    await percolator.transact(async (transaction) => {
      await Promise.all(['a', 'b'].map((key) => queue.offer(transaction, key, key)));
    });
    const contents = await reading(percolator, (from) => Array.fromAsync(queue.contents(from)));
    assert.deepEqual(
      contents.map(({ key, value }) => [key, value]),
      [
        ['a', 'a'],
        ['b', 'b'],
      ],
    );
  });

  test('ends at the newest values, whatever workers and writers overlap', async () => {
    const percolator = await open('exports', ['entry']);
    const target = new Target();
    const observers = [QUEUE.exporter((change) => target.tell(change))];
    const workers = [1, 2, 3].map(() => percolator.startWorker(observers, { idleMs: 1 }));
    const random = createRandom(7);
    const writers = Array.from({ length: 4 }, async (_, i) => {
      for (let step = 0; step < 25; step++) {
        const key = `k${Math.floor(random.fraction() * 3)}`;
        await offer(percolator, key, random.fraction() < 0.2 ? undefined : `${i}/${step}`);
      }
    });
    await Promise.all(writers);
    for (const worker of workers) await worker.idle();
    for (const worker of workers) await worker.stop();
    const wanted = await reading(percolator, (from) => Array.fromAsync(QUEUE.contents(from)));
    const values = wanted.filter(({ value }) => value !== undefined);
    assert.deepEqual(
      target.values,
      Object.fromEntries(values.map(({ key, value }) => [key, value])),
    );
  });
});

describe('a combine queue', () => {
  const COUNTER = {
    table: 'counters',
    codec: codecs.number,
    combine: (a: number, b: number) => a + b,
  };

  test('loses no addition and makes none, and its readers see each at every moment', async () => {
    const percolator = await open('counters', ['combine']);
    const counter = new CombineQueue({ ...COUNTER, deltasMax: 3 });
    const workers = [1, 2].map(() => percolator.startWorker([counter.combiner()], { idleMs: 1 }));
    let added = 0;
    const writers = Array.from({ length: 4 }, async () => {
      for (let step = 0; step < 20; step++) {
        await percolator.transact(async (transaction) => {
          counter.add(transaction, 'n', 1);
          counter.add(transaction, 'n', 2);
          counter.add(transaction, 'other', 1);
        });
        added += 3;
        const before = added;
        const seen = await reading(percolator, (from) => counter.read(from, 'n'));
        assert.ok((seen ?? 0) >= before, `${seen} of ${before}`);
        assert.equal((seen ?? 0) % 3, 0);
      }
    });
    await Promise.all(writers);
    for (const worker of workers) await worker.idle();
    for (const worker of workers) await worker.stop();
    const totals = await reading(percolator, (from) =>
      Array.fromAsync(percolator.table('counters', { total: codecs.number }).in(from).scan()),
    );
    assert.deepEqual(totals, [
      { row: 'n', values: { total: 240 } },
      { row: 'other', values: { total: 80 } },
    ]);
    const left = await reading(percolator, (from) =>
      Array.fromAsync(from.scan({ table: 'counters' })),
    );
    assert.equal(left.length, 2, 'every delta is combined');
    assert.equal(await reading(percolator, (from) => counter.read(from, 'never')), undefined);
  });

  test('is one queue for all handles of its table, and keeps what was added as it was', async () => {
    const percolator = await open('sets', ['combine']);
    const options = {
      table: 'sets',
      codec: codecs.json<readonly string[]>(),
      combine: (a: readonly string[], b: readonly string[]) => [...a, ...b],
    };
    const [one, other] = [new CombineQueue(options), new CombineQueue(options)];
    await percolator.transact(async (transaction) => {
      const value = ['x'];
      one.add(transaction, 'n', value);
      value.push('not added');
      other.add(transaction, 'n', ['y']);
      assert.throws(() => one.add(transaction, '', ['z']), { code: 'INVALID_ARGUMENT' });
      assert.throws(() => one.add(transaction, 'a\0b', ['z']), { code: 'INVALID_ARGUMENT' });
    });
    const read = (key: string) => reading(percolator, (from) => one.read(from, key));
    assert.deepEqual(await read('n'), ['x', 'y']);
    const rows = await reading(percolator, (from) => Array.fromAsync(from.scan({ table: 'sets' })));
    assert.equal(rows.length, 1, 'what was refused is not added');
    assert.throws(() => new CombineQueue({ ...options, deltasMax: 0 }), /deltasMax must be/);
  });

  test('lets a hundred transactions that overlap count without one conflict', async () => {
    const clock = new VirtualClock();
    const percolator = await openPercolator({ store: createMemoryBigtable(), clock });
    await percolator.createTable('counters', { observedColumns: ['combine'] });
    const counter = new CombineQueue(COUNTER);
    const open100 = await Promise.all(Array.from({ length: 100 }, () => percolator.begin()));
    for (const transaction of open100) counter.add(transaction, 'n', 1);
    await clock.runUntil(Promise.all(open100.map((transaction) => transaction.commit())));
    assert.equal(percolator.counters.conflicts, 0);
    assert.equal(await reading(percolator, (from) => counter.read(from, 'n')), 100);
  });
});

test('bytes are compared with texts as what is stored of them', () => {
  assert.ok(areEqual('é', Buffer.from('é')));
  assert.ok(!areEqual('é', Buffer.from('e')));
  assert.ok(!areEqual('', undefined));
  assert.ok(areEqual(undefined, undefined));
});
