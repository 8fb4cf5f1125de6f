/**
 * Claims about the bytes of callers (P76): what was given is what is stored, whatever the caller
 * does with its bytes afterwards; and who gives bytes that cannot be stored fails alone.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { openBulkLoader, openEmbedded, openPercolator, type Percolator } from './index.ts';
import { createMemoryBigtable, temporaryFolder } from './testing/index.ts';

const cellOf = (row: string) => ({ table: 't', row, column: 'c' });

const open = async (): Promise<Percolator> => {
  const percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable('t');
  return percolator;
};

const read = (percolator: Percolator, row: string): Promise<string | undefined> =>
  percolator.transact(async (transaction) => (await transaction.get(cellOf(row)))?.toString());

/** Bytes, and what their owner does with them after it has given them. */
const USED_AGAIN: Readonly<Record<string, () => readonly [Uint8Array, () => void]>> = {
  overwritten: () => {
    const bytes = Buffer.from('1234');
    return [bytes, () => bytes.fill('x')];
  },
  transferred: () => {
    const { buffer } = new Uint8Array(Buffer.from('1234'));
    return [new Uint8Array(buffer), () => structuredClone(buffer, { transfer: [buffer] })];
  },
  shrunk: () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
    const bytes = new Uint8Array(buffer, 4, 4);
    bytes.set(Buffer.from('1234'));
    return [bytes, () => buffer.resize(2)];
  },
  'made longer': () => {
    const buffer = new ArrayBuffer(4, { maxByteLength: 1 << 20 });
    const bytes = new Uint8Array(buffer);
    bytes.set(Buffer.from('1234'));
    return [bytes, () => buffer.resize(1 << 20)];
  },
  'shared and changed': () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(4));
    bytes.set(Buffer.from('1234'));
    return [bytes, () => bytes.fill(0)];
  },
  'of another realm': () => {
    const bytes = runInNewContext('new Uint8Array([49, 50, 51, 52])') as Uint8Array;
    return [bytes, () => bytes.fill(0)];
  },
};

describe('P76: what was given is stored, although the bytes are then', () => {
  for (const [what, give] of Object.entries(USED_AGAIN)) {
    test(what, async () => {
      await using percolator = await openPercolator({ folder: temporaryFolder(), fsync: false });
      await percolator.createTable('t');
      const set = (row: string): Promise<void> =>
        percolator.transact(async (transaction) => {
          const [bytes, use] = give();
          transaction.set(cellOf(row), bytes);
          use();
        });
      const rows = ['a', 'b', 'c'];
      await Promise.all(rows.map(set)); // One group.
      assert.deepEqual(await Promise.all(rows.map((row) => read(percolator, row))), [
        '1234',
        '1234',
        '1234',
      ]);
    });
  }
});

test('P76: a bulk load has taken its row before `add` returns', async () => {
  await using percolator = await open();
  const loader = await openBulkLoader(percolator);
  const scratch = Buffer.alloc(2);
  const cells = [{ column: 'c', value: scratch }];
  const added = ['v0', 'v1', 'v2'].map((value, i) => {
    scratch.write(value);
    return loader.add({ table: 't', row: `r${i}`, cells });
  });
  cells.pop();
  await Promise.all(added);
  await loader.finish();
  const rows = await Promise.all([0, 1, 2].map((i) => read(percolator, `r${i}`)));
  assert.deepEqual(rows, ['v0', 'v1', 'v2']);
});

function detached(): Uint8Array {
  const bytes = new Uint8Array(4);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

function outOfBounds(): Uint8Array {
  const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
  const bytes = new Uint8Array(buffer, 4, 4);
  buffer.resize(2);
  return bytes;
}

const LOST = /has lost its bytes: their ArrayBuffer was transferred or shrunk$/;

/** Values that cannot be stored, and what the refusal says. */
const BAD: readonly (readonly [what: string, value: unknown, message: RegExp])[] = [
  ['detached bytes', detached(), LOST],
  ['bytes out of bounds', outOfBounds(), LOST],
  [
    'more bytes than a value may have',
    new Uint8Array(100_000_001),
    /has 100000001 bytes; at most /,
  ],
  [
    'numbers of two bytes',
    new Uint16Array(2),
    /must be .*bytes in a Uint8Array.*, not Uint16Array/,
  ],
  ['a proxy of bytes', new Proxy(Buffer.from('1'), {}), /must be .*bytes in a Uint8Array/],
];

describe('a value that cannot be stored is refused in a sentence', () => {
  const refusal = (message: RegExp): object => ({ code: 'INVALID_ARGUMENT', message });

  for (const [what, value, message] of BAD) {
    test(`${what}: by set, and by a bulk load`, async () => {
      await using percolator = await open();
      await using transaction = await percolator.begin();
      assert.throws(() => transaction.set(cellOf('r'), value as never), refusal(message));
      const loader = await openBulkLoader(percolator);
      const cells = [{ column: 'c', value: value as never }];
      await assert.rejects(loader.add({ table: 't', row: 'r', cells }), refusal(message));
    });

    test(`${what}: by a storage, and the others of the group are stored`, async () => {
      await using store = await openEmbedded({ folder: temporaryFolder(), fsync: false });
      await store.createTable('t', { families: ['f'] });
      const set = (row: string, given: unknown): Promise<void> => {
        const cell = { family: 'f', qualifier: 'c', timestamp: 1, value: given as Uint8Array };
        return store.mutateRows([{ table: 't', row, mutations: [{ kind: 'set', ...cell }] }]);
      };
      const good = [set('a', Buffer.from('1'))];
      const bad = set('b', value);
      good.push(set('c', Buffer.from('2')));
      await assert.rejects(bad, refusal(message));
      await Promise.all(good);
      assert.equal((await store.readRange('t', { limit: 9 }, [{ family: 'f' }])).length, 2);
    });
  }

  test('half of a surrogate pair in a text', async () => {
    await using percolator = await open();
    await using transaction = await percolator.begin();
    const message = /^the value of a cell is a text with half of a surrogate pair/;
    assert.throws(() => transaction.set(cellOf('r'), 'a\ud800b'), refusal(message));
    transaction.set(cellOf('r'), 'a\u{1f600}b');
    await transaction.commit();
    assert.equal(await read(percolator, 'r'), 'a\u{1f600}b');
  });

  test('an empty value is a value', async () => {
    await using percolator = await open();
    await percolator.transact(async (transaction) => {
      transaction.set(cellOf('r'), new Uint8Array());
    });
    assert.equal(await read(percolator, 'r'), '');
  });
});
