/**
 * The claims of the judge of list append: it finds what snapshot isolation forbids, and does not
 * object to what is allowed.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, type Random } from '../../../engine/base/index.ts';
import {
  type HistoricTransaction,
  judgeListAppend,
  type ListCells,
  type ListOperation,
  listTransactions,
  type ListTransaction,
} from './index.ts';

/** `a 1` appends, `a 1 2` appends two elements in a row, `a =` and `a = 1 2` read. */
function transaction(
  text: string,
  { outcome = 'ok', at = 0 }: { outcome?: ListTransaction['outcome']; at?: number } = {},
): ListTransaction {
  const operations = text.split(', ').map((one): ListOperation => {
    const [key = '', ...words] = one.split(' ');
    const isRead = words[0] === '=';
    const elements = (isRead ? words.slice(1) : words).map(Number);
    return { kind: isRead ? 'read' : 'append', key, elements };
  });
  return { name: text, process: 'A', outcome, beganAt: at, endedAt: at + 0.5, operations };
}

function claimsOf(transactions: readonly ListTransaction[], strict = false): readonly string[] {
  const { violations } = judgeListAppend(transactions, { strict });
  return [...new Set(violations.map(({ claim }) => claim.replace('list append: ', '')))];
}

/** Transactions that committed one after the other. */
function inOrder(...texts: readonly string[]): readonly ListTransaction[] {
  return texts.map((text, at) => transaction(text, { at }));
}

const fail = { outcome: 'fail' } as const;
const info = { outcome: 'info' } as const;

const ALLOWED: Record<string, readonly ListTransaction[]> = {
  'one after the other': inOrder('a =, a 1', 'a = 1, a 2', 'a = 1 2, b =, b 1', 'b = 1, a = 1 2'),
  'a read of the past': inOrder('a 1', 'a = 1, a 2', 'a ='),
  'a failed append that was never read': [transaction('a 1', fail), transaction('a =')],
  'an unknown append that was read': [transaction('a 1', info), transaction('a = 1')],
  'an unknown append that was never read, and another append to the same list': [
    ...inOrder('a 1', 'a = 1, a 2'),
    transaction('a = 1, a 3', info),
  ],
  'an unknown append that was not read': [transaction('a 1', info), transaction('a =')],
  'a contradiction in the reads of a failed transaction': [transaction('a = 9, a = 8', fail)],
  'own appends in the middle': inOrder(
    'a 1',
    'a = 1, a 2, a = 1 2, a 3 4, a = 1 2 3 4',
    'a = 1 2 3 4',
  ),
  'own appends before the first read': inOrder('a 1', 'a 2, a = 1 2', 'a = 1 2'),
};

const FORBIDDEN: Record<
  string,
  readonly [claims: readonly string[], history: readonly ListTransaction[]]
> = {
  'a read of a failed append': [['G1a'], [transaction('a 1', fail), transaction('a = 1')]],
  'a read of one half of a failed append': [
    ['G1a'],
    [transaction('a 1, b 1', fail), ...inOrder('a = 1, b =', 'b = 1')],
  ],
  'a read of half of an append': [['G1b', 'G-single'], inOrder('a 1 2', 'a = 1')],
  'a read of an element that was never appended': [
    ['read of an element never appended'],
    inOrder('a = 1'),
  ],
  'an element that two transactions appended': [['element appended twice'], inOrder('a 1', 'a 1')],
  'an element that is in a list twice': [['element read twice'], inOrder('a 1', 'a = 1 1')],
  'lists that fit no order': [['incompatible orders'], inOrder('a 1', 'a 2', 'a = 1', 'a = 2')],
  'lists that fit no order, one of them with a failed append': [
    ['incompatible orders', 'G1a'],
    [...inOrder('a 1'), transaction('a 2', fail), ...inOrder('a = 1', 'a = 2')],
  ],
  'a longer list that fits no order and begins with a failed append': [
    ['incompatible orders', 'G1a'],
    [...inOrder('a 1', 'a 3'), transaction('a 2', fail), ...inOrder('a = 1', 'a = 2 3')],
  ],
  'two transactions that appended to lists that fit no order': [
    ['incompatible orders'],
    inOrder('a 1', 'a 2', 'a = 1, a 3', 'a = 2, a 4'),
  ],
  'an unknown transaction that was seen, and had read an element that was never appended': [
    ['read of an element never appended'],
    [transaction('a = 9, b 1', info), transaction('b = 1')],
  ],
  'two reads that differ': [['internal contradiction'], inOrder('a 1', 'a =, a = 1')],
  'an own append that is not read': [['internal contradiction'], inOrder('a 1, a =')],
  'an own append that is read too early': [['internal contradiction'], inOrder('a = 1, a 1')],
  'two transactions that appended after each other': [
    ['G0'],
    inOrder('a 1, b 1', 'a 2, b 2', 'a = 1 2', 'b = 2 1'),
  ],
  'two transactions that read from each other': [['G1c'], inOrder('a 1, b = 1', 'b 1, a = 1')],
  'an append in the middle of those of another transaction': [
    ['G0'],
    inOrder('a 1 3', 'a 2', 'a = 1 2 3'),
  ],
  'a read of one half of a transaction': [['G-single'], inOrder('a 1, b 1', 'a = 1, b =', 'b = 1')],
  'a long fork': [
    ['G-nonadjacent'],
    inOrder('a 1', 'b 1', 'a = 1, b =', 'a =, b = 1', 'a = 1, b = 1'),
  ],
  'two transactions that appended to one list, where one append is gone': [
    ['lost update', 'G-single'],
    inOrder('a 1', 'a = 1, a 2', 'a = 1, a 3', 'a = 1 3'),
  ],
  'two transactions that appended to one list that was never read again': [
    ['lost update'],
    inOrder('a 1', 'a = 1, a 2', 'a = 1, a 3'),
  ],
  'an unknown transaction that was seen, and had read too little': [
    ['lost update', 'G-single'],
    [...inOrder('a 1', 'a = 1, a 2'), transaction('a = 1, a 3', info), transaction('a = 1 2 3')],
  ],
};

describe('the judge of list append', () => {
  for (const [what, history] of Object.entries(ALLOWED)) {
    test(`acquits ${what}`, () => assert.deepEqual(claimsOf(history), []));
  }
  for (const [what, [claims, history]] of Object.entries(FORBIDDEN)) {
    test(`convicts ${what}: ${claims.join(' and ')}`, () => {
      assert.deepEqual(claimsOf(history), claims);
    });
  }

  test('lists write skew as allowed, once', () => {
    const history = inOrder('a =, b 1', 'b =, a 1', 'a = 1, b = 1');
    const { violations, allowed } = judgeListAppend(history, { strict: false });
    assert.deepEqual(violations, []);
    assert.deepEqual(allowed, [
      {
        claim: 'list append: G2-item',
        message:
          'Ta =, b 1 did not see Tb =, a 1 append 1 to a; Tb =, a 1 did not see Ta =, b 1 append 1 to b',
      },
    ]);
  });

  test('tells a cycle in words', () => {
    const history = inOrder('a 1, b 1', 'a = 1, b =', 'b = 1');
    assert.deepEqual(judgeListAppend(history, { strict: false }).violations, [
      {
        claim: 'list append: G-single',
        message:
          'Ta = 1, b = read what Ta 1, b 1 appended, 1 to a; ' +
          'Ta = 1, b = did not see Ta 1, b 1 append 1 to b',
      },
    ]);
  });

  test('convicts a read that misses what had been appended before it began, if time counts', () => {
    const history = inOrder('a 1', 'a =', 'a = 1');
    assert.deepEqual(claimsOf(history), []);
    const { violations } = judgeListAppend(history, { strict: true });
    assert.deepEqual(violations, [
      {
        claim: 'list append: G-single-realtime',
        message: 'Ta 1 had ended when Ta = began; Ta = did not see Ta 1 append 1 to a',
      },
    ]);
  });

  test('tells one clause for real time, also if many transactions ended meanwhile', () => {
    const others = Array.from({ length: 2000 }, (_, i) => i + 2);
    const appends = others.map((element) => `a ${element}`);
    const all = `a = 1 ${others.join(' ')}, b = 1`;
    const history = inOrder('a 1, b 1', ...appends, 'b =', all);
    const { violations } = judgeListAppend(history, { strict: true });
    assert.deepEqual(
      violations.map(({ message }) => message),
      ['Ta 1, b 1 had ended when Tb = began; Tb = did not see Ta 1, b 1 append 1 to b'],
    );
  });

  test('convicts a commit that no transaction ever sees, if time counts', () => {
    assert.deepEqual(claimsOf(inOrder('a 1', 'a = 1', 'a 2', 'a = 1'), true), [
      'G-single-realtime',
    ]);
  });

  test('does not order by time an end and a beginning at one moment, or an unknown end', () => {
    const before = transaction('a 1');
    const after = transaction('a =', { at: 0.5 });
    const seen = transaction('a = 1', { at: 3 });
    assert.deepEqual(claimsOf([before, after, seen], true), []);
    const unknown = { ...before, outcome: 'info' } as const;
    const later = transaction('a =', { at: 2 });
    assert.deepEqual(claimsOf([before, later, seen], true), ['G-single-realtime']);
    assert.deepEqual(claimsOf([unknown, later, seen], true), []);
    assert.deepEqual(claimsOf([{ ...before, endedAt: undefined }, later, seen], true), []);
  });

  test('keeps the first twenty findings', () => {
    const history = Array.from({ length: 100 }, (_, i) => transaction(`k${i} = 1`));
    assert.equal(judgeListAppend(history, { strict: true }).violations.length, 20);
  });
});

/**
 * Four clients at a time. Each reads some lists and appends to some of them; it fails if one that
 * it appends to has changed meanwhile. A tenth of the clients that commit die before they hear so.
 */
function idealLists(random: Random, count: number): readonly HistoricTransaction[] {
  const lists = new Map<string, string>();
  const changedAt = new Map<string, number>();
  const transactions: HistoricTransaction[] = [];
  const open: HistoricTransaction[] = [];
  for (let now = 1; transactions.length < count; now++) {
    const one = open.length < 4 ? undefined : open.splice(random.integer(0, 3), 1)[0];
    if (one === undefined) {
      const cells = [...new Set(Array.from({ length: 3 }, () => `t/${random.integer(1, 4)}:list`))];
      const reads = cells.map((cell) => ({ cell, value: lists.get(cell) }));
      const writes = reads
        .filter(() => random.fraction() < 0.4)
        .map(({ cell, value }) => ({ cell, value: `${value ?? ''} ${now}` }));
      const begun = { process: 'A', startTimestamp: now, beganAt: now, locks: [] };
      open.push({ ...begun, outcome: 'unknown', reads, writes });
    } else if (one.writes.some(({ cell }) => (changedAt.get(cell) ?? 0) > one.startTimestamp)) {
      transactions.push({ ...one, outcome: 'failed', endedAt: now });
    } else {
      for (const { cell, value = '' } of one.writes) {
        lists.set(cell, value);
        changedAt.set(cell, now);
      }
      const died = random.fraction() < 0.1;
      transactions.push(died ? one : { ...one, outcome: 'committed', endedAt: now });
    }
  }
  return transactions;
}

const LISTS: ListCells = {
  isList: (cell) => cell.endsWith(':list'),
  elementsOf: (value) => value.trim().split(' ').map(Number),
};

describe('on random histories, the judge of list append', () => {
  test('acquits an ideal database, including its write skew', () => {
    let allowed = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const history = listTransactions(idealLists(createRandom(seed), 60), LISTS);
      const opinion = judgeListAppend(history, { strict: true });
      assert.deepEqual(opinion.violations, [], `seed ${seed}`);
      allowed += opinion.allowed.length;
    }
    assert.ok(allowed > 100, `${allowed} cycles of write skew were there`);
  });

  test('convicts histories in which one reader missed the newest elements, unless a dead client appended them', () => {
    let convicted = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const history = [...idealLists(createRandom(seed), 60)];
      const i = history.findLastIndex(
        ({ outcome, reads }) => outcome === 'committed' && reads.some(({ value }) => value),
      );
      const spoilt = history[i];
      assert.ok(spoilt !== undefined);
      const reads = spoilt.reads.map(({ cell, value }) => ({
        cell,
        value: value?.replace(/ ?\d+$/, '') || undefined,
      }));
      history[i] = { ...spoilt, reads, writes: [] };
      const { violations } = judgeListAppend(listTransactions(history, LISTS), { strict: true });
      if (violations.length > 0) convicted++;
    }
    assert.ok(convicted > 190, `${convicted} of 200`);
  });

  test('convicts histories in which a failed transaction is reported as committed', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const history = [...idealLists(createRandom(seed), 60)];
      const i = history.findIndex(({ outcome }) => outcome === 'failed');
      const spoilt = history[i];
      assert.ok(spoilt !== undefined);
      history[i] = { ...spoilt, outcome: 'committed' };
      const claims = claimsOf(listTransactions(history, LISTS));
      assert.ok(claims.includes('lost update') || claims.includes('G-single'), `seed ${seed}`);
    }
  });
});

test('the lists of a history are split into reads and appends', () => {
  const read = [
    { cell: 't/1:list', value: '1 2' },
    { cell: 't/1:c', value: 'x' },
    { cell: 't/2:list' },
  ];
  const written = [
    { cell: 't/1:list', value: '1 2 3 4' },
    { cell: 't/2:list', value: '5' },
    { cell: 't/1:c' },
  ];
  const begun = { process: 'A', startTimestamp: 7, beganAt: 3, locks: [] };
  const transactions = listTransactions(
    [
      { ...begun, outcome: 'unknown', reads: read, writes: written },
      { ...begun, outcome: 'committed', reads: [], writes: [{ cell: 't/1:c' }] },
      { ...begun, outcome: 'committed', reads: read, writes: [], past: true },
    ],
    LISTS,
  );
  const name = {
    name: '7',
    process: 'A',
    outcome: 'info',
    beganAt: 3,
    endedAt: undefined,
  } as const;
  const operations: readonly ListOperation[] = [
    { kind: 'read', key: 't/1:list', elements: [1, 2] },
    { kind: 'read', key: 't/2:list', elements: [] },
    { kind: 'append', key: 't/1:list', elements: [3, 4] },
    { kind: 'append', key: 't/2:list', elements: [5] },
  ];
  assert.deepEqual(transactions, [{ ...name, operations }]);
});
