/**
 * Typed tables: what is written is read, by the same codecs; what is wrong is refused before
 * anything is written; and the compiler knows rows and columns.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type Codec,
  codecs,
  openPercolator,
  type Percolator,
  type StandardSchema,
} from '../index.ts';
import { createMemoryBigtable } from '../testing/index.ts';

interface Profile {
  readonly name: string;
  readonly tags: readonly string[];
}

/** As the validators of users do it: it checks, and it fills in a default. */
const PROFILE: StandardSchema<{ name: string; tags?: readonly string[] }, Profile> = {
  '~standard': {
    version: 1,
    vendor: 'this test',
    validate: (value) => {
      const { name, tags = [] } = value as { name: unknown; tags?: readonly string[] };
      if (typeof name === 'string') return { value: { name, tags } };
      return { issues: [{ message: 'a name is a text', path: [{ key: 'profile' }, 'name'] }] };
    },
  },
};

const COLUMNS = {
  balance: codecs.number,
  owner: codecs.text,
  picture: codecs.bytes,
  settings: codecs.json<{ readonly dark: boolean }>(),
  profile: PROFILE,
  born: {
    encode: (value: Date) => value.toISOString(),
    decode: (stored: Uint8Array) => new Date(Buffer.from(stored).toString()),
  },
};

async function open() {
  const percolator = await openPercolator({ store: createMemoryBigtable() });
  const accounts = percolator.table('accounts', COLUMNS);
  await accounts.create({ observedColumns: ['balance'], sharedColumns: ['owner'] });
  return { percolator, accounts };
}

async function rawOf(percolator: Percolator, column: string): Promise<string | undefined> {
  await using snapshot = await percolator.snapshot();
  return (await snapshot.get({ table: 'accounts', row: 'Bob', column }))?.toString();
}

describe('a typed table', () => {
  test('reads what was written, and leaves the other columns as they are', async () => {
    const { percolator, accounts } = await open();
    assert.equal(await accounts.get('Bob'), undefined);
    const born = new Date(0);
    await accounts.set('Bob', { balance: 0.5, owner: 'é', settings: { dark: true }, born });
    await accounts.set('Bob', { picture: 'abc', profile: { name: 'B' } });
    assert.deepEqual(await accounts.get('Bob'), {
      balance: 0.5,
      owner: 'é',
      picture: Buffer.from('abc'),
      settings: { dark: true },
      profile: { name: 'B', tags: [] },
      born,
    });
    assert.equal(await rawOf(percolator, 'profile'), '{"name":"B"}', 'what was given is stored');
    assert.deepEqual(await accounts.get('Bob', ['owner']), { owner: 'é' });
    await accounts.delete('Bob', ['owner', 'picture', 'profile', 'born', 'settings']);
    assert.deepEqual(await accounts.get('Bob'), { balance: 0.5 });
    await accounts.delete('Bob');
    assert.equal(await accounts.get('Bob'), undefined);
  });

  test('writes each column its own value, also if a codec uses one buffer for all', async () => {
    const { percolator } = await open();
    const buffer = new Uint8Array(1);
    const digit: Codec<number> = {
      encode: (value) => {
        buffer[0] = value;
        return buffer;
      },
      decode: (stored) => stored[0] ?? NaN,
    };
    const digits = percolator.table('accounts', { one: digit, other: digit, text: codecs.text });
    await digits.set('Bob', { one: 1, other: 2 });
    assert.deepEqual(await digits.get('Bob'), { one: 1, other: 2 });
    await percolator.transact(async (transaction) => {
      const set = (): void => digits.in(transaction).set('Bob', { one: 3, text: '\uD800' });
      assert.throws(set, { code: 'INVALID_ARGUMENT' });
    });
    assert.deepEqual(await digits.get('Bob'), { one: 1, other: 2 }, 'it was refused whole');
  });

  test('shares a lock as its transaction does, and refuses what that refuses', async () => {
    const { percolator, accounts } = await open();
    const [one, other] = [await percolator.begin(), await percolator.begin()];
    for (const transaction of [one, other]) {
      const inside = accounts.in(transaction);
      await inside.lock('Bob', 'owner', { shared: true });
      inside.set(String(transaction.startTimestamp), { balance: 1 });
      await assert.rejects(inside.lock('Bob', 'owner', { share: true } as never), {
        code: 'INVALID_ARGUMENT',
        message: 'lock has no option share; it has shared',
      });
    }
    await one.commit();
    await assert.doesNotReject(other.commit());
  });

  test('is typed in transactions, snapshots, scans and observers', async () => {
    const { percolator, accounts } = await open();
    await percolator.transact(async (transaction) => {
      const inside = accounts.in(transaction);
      for (const row of ['a1', 'a2', 'b1']) inside.set(row, { balance: 5, owner: row });
      const { balance = 0 } = (await inside.get('a1', ['balance'])) ?? {};
      inside.set('a1', { balance: balance + 1 }); // Does not compile with a text.
      await inside.lock('b1', 'owner');
    });
    await using snapshot = await percolator.snapshot();
    const seen = await Array.fromAsync(accounts.in(snapshot).scan({ prefix: 'a' }));
    assert.deepEqual(seen, [
      { row: 'a1', values: { balance: 6, owner: 'a1' } },
      { row: 'a2', values: { balance: 5, owner: 'a2' } },
    ]);
    const inReverse = accounts.in(snapshot).scan({ prefix: 'a', reverse: true });
    assert.deepEqual(await Array.fromAsync(inReverse), seen.toReversed());
    const [one] = await Array.fromAsync(
      accounts.in(snapshot).scan({ columns: ['balance'], limit: 1 }),
    );
    assert.equal((one?.values.balance ?? 0) * 2, 12);
    const doubled = accounts.observer({
      name: 'double',
      column: 'balance',
      run: async (inside, row) => {
        const { balance = 0 } = (await inside.get(row)) ?? {};
        inside.set(row, { settings: { dark: balance > 5 } });
      },
    });
    await using worker = percolator.startWorker([doubled]);
    await worker.idle();
    assert.deepEqual((await accounts.get('a1'))?.settings, { dark: true });
  });

  test('tells its observers what was before a change, by the codec of the column', async () => {
    const { percolator, accounts } = await open();
    const changes: (readonly [before: number | undefined, now: number | undefined])[] = [];
    const noting = accounts.observer({
      name: 'note',
      column: 'balance',
      run: async (inside, row, _, change) => {
        const known = await change.before();
        assert.ok(known !== undefined, 'nothing is collected here');
        changes.push([known.value, (await inside.get(row, ['balance']))?.balance]);
      },
    });
    await using worker = percolator.startWorker([noting]);
    for (const balance of [5, 7]) {
      await accounts.set('Bob', { balance });
      await worker.idle();
    }
    await accounts.delete('Bob', ['balance']);
    await worker.idle();
    assert.deepEqual(changes, [
      [undefined, 5],
      [5, 7],
      [7, undefined],
    ]);
  });

  test('without columns has any column, of bytes', async () => {
    const { percolator } = await open();
    const accounts = percolator.table('accounts');
    await accounts.set('Bob', { anything: 'x', other: new Uint8Array([1]) });
    const found = await accounts.get('Bob');
    assert.deepEqual(found, { anything: Buffer.from('x'), other: Buffer.from([1]) });
    assert.deepEqual(await accounts.get('Bob', ['anything']), { anything: Buffer.from('x') });
    await accounts.delete('Bob', ['anything', 'other']);
    assert.equal(await accounts.get('Bob'), undefined);
    await assert.rejects(accounts.delete('Bob'), {
      code: 'INVALID_ARGUMENT',
      message: /^table acc/,
    });
  });

  test('round trips of all that the codecs take', async () => {
    const { accounts } = await open();
    const fields = {
      balance: fc.double().filter((value) => !Object.is(value, -0)),
      owner: fc.string({ unit: 'grapheme' }),
    };
    const values = fc.record(fields, { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(values, async (given) => {
        await accounts.set('Bob', given);
        assert.deepEqual(await accounts.get('Bob'), given);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a typed table refuses', () => {
  test('a row with a name that no column can have, as a whole', async () => {
    const percolator = await openPercolator({ store: createMemoryBigtable() });
    const anything = percolator.table('anything');
    await anything.create();
    const code = 'INVALID_ARGUMENT';
    const wrong = '\ud800';
    await percolator.transact(async (transaction) => {
      const inside = anything.in(transaction);
      assert.throws(() => inside.set('Bob', { good: '1', [wrong]: '2' }), { code });
    });
    assert.equal(await anything.get('Bob'), undefined, 'nothing was written');
    await anything.set('Bob', { good: '1' });
    await percolator.transact(async (transaction) => {
      const inside = anything.in(transaction);
      assert.throws(() => inside.delete('Bob', ['good', wrong]), { code });
    });
    assert.equal((await anything.get('Bob'))?.['good']?.toString(), '1');
  });

  const cases: readonly (readonly [what: string, values: object, message: RegExp | string])[] = [
    [
      'a column that it was not given',
      { balanse: 1 },
      'table accounts was given no column balanse; it has balance, owner, picture, settings, profile, born',
    ],
    [
      'a text for a number',
      { balance: '5' },
      'the value of accounts/Bob/balance is refused: it must be a number, not a string',
    ],
    [
      'null for a text',
      { owner: null },
      'the value of accounts/Bob/owner is refused: it must be a text, not null',
    ],
    [
      'undefined',
      { owner: undefined },
      'the value of accounts/Bob/owner is undefined; delete removes a value',
    ],
    [
      'what JSON has not',
      { settings: () => 5 },
      'the value of accounts/Bob/settings is refused: JSON has no function',
    ],
    [
      'what its schema refuses',
      { profile: { name: 5 } },
      'the value of accounts/Bob/profile is refused: profile.name: a name is a text',
    ],
    [
      'what its codec throws for',
      { born: new Date(NaN) },
      /^the value of accounts\/Bob\/born is refused: Invalid time value/,
    ],
    [
      'a number for bytes',
      { picture: 5 },
      'the value of accounts/Bob/picture is refused: it must be a text or bytes, not a number',
    ],
  ];
  for (const [what, values, message] of cases) {
    test(`${what}, and writes nothing`, async () => {
      const { percolator, accounts } = await open();
      const transaction = await percolator.begin();
      const set = (): void => accounts.in(transaction).set('Bob', { owner: 'B', ...values });
      assert.throws(set, { code: 'INVALID_ARGUMENT', message });
      assert.equal(await accounts.in(transaction).get('Bob'), undefined);
    });
  }

  test('a validator that answers by a promise', async () => {
    const { percolator } = await open();
    const late = {
      '~standard': { ...PROFILE['~standard'], validate: () => Promise.reject(new Error('late')) },
    };
    const accounts = percolator.table('accounts', { late });
    await assert.rejects(accounts.set('Bob', { late: 5 } as never), { code: 'INVALID_ARGUMENT' });
  });

  test('a stored value that its codec cannot read', async () => {
    const { percolator, accounts } = await open();
    const raw = percolator.table('accounts');
    for (const [column, value] of Object.entries({ balance: 'x', settings: '{', profile: '{}' })) {
      await raw.set(column, { [column]: value });
      await assert.rejects(accounts.get(column), {
        code: 'TABLE_MISMATCH',
        message: /^the value of/,
      });
    }
  });

  test('columns that are no columns', async () => {
    const { percolator } = await open();
    const refuse = (columns: unknown, message: RegExp): void =>
      assert.throws(() => percolator.table('accounts', columns as never), {
        code: 'INVALID_ARGUMENT',
        message,
      });
    refuse(['a'], /^the columns of a table must be an object/);
    refuse({ a: 5 }, /^the column a must be a codec, or a validator of Standard Schema, not 5/);
    refuse({ ack_o: codecs.text }, /^column ack_o: names that begin with ack_/);
    assert.throws(() => percolator.table('a b'), { code: 'INVALID_ARGUMENT' });
    const inside = percolator.table('accounts').in(await percolator.begin());
    await assert.rejects(Array.fromAsync(inside.scan({ table: 't' } as never)), {
      code: 'INVALID_ARGUMENT',
    });
  });
});
