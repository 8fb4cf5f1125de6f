/** Tables declared by column, and charts by series. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  column,
  dots,
  higher,
  line,
  lower,
  pair,
  resultTable,
  rowName,
  series,
} from './columns-and-series.ts';

const ABOUT = { name: 'rates', title: 'Rates', caption: 'As measured.' };
const ROWS = [
  { callers: 8, perSecond: 1_000, ms: 2, samples: 900 },
  { callers: 16, perSecond: 1_500, ms: null, samples: 40 },
];

describe('a table declared by column', () => {
  test('says title, value and metric of a column, and names its rows', () => {
    const table = resultTable(ABOUT, ROWS, [
      rowName('callers', ({ callers }) => callers),
      column('per second', ({ perSecond }) => perSecond, higher('1/s')),
      column('ms', ({ ms }) => ms, lower('ms')),
      column('samples', ({ samples }) => samples),
    ]);
    assert.deepEqual(table, {
      ...ABOUT,
      columns: ['callers', 'per second', 'ms', 'samples'],
      rows: [
        [8, 1_000, 2, 900],
        [16, 1_500, null, 40],
      ],
      metrics: {
        rowNames: 1,
        columns: [
          { column: 'per second', unit: '1/s', better: 'higher' },
          { column: 'ms', unit: 'ms', better: 'lower' },
        ],
      },
    });
  });

  test('finds the interval of a value in its row, or in two columns', () => {
    const { metrics } = resultTable(ABOUT, ROWS, [
      column(
        'per second',
        ({ perSecond }) => perSecond,
        higher('1/s', ({ ms }) => (ms === null ? null : { low: ms, high: 9 })),
      ),
      column('ms', ({ ms }) => ms, lower('ms', ['low', 'high'])),
    ]);
    assert.deepEqual(metrics?.columns, [
      {
        column: 'per second',
        unit: '1/s',
        better: 'higher',
        intervals: [{ low: 2, high: 9 }, null],
      },
      { column: 'ms', unit: 'ms', better: 'lower', intervalColumns: ['low', 'high'] },
    ]);
  });

  test('may have a first row of its own, by titles, which has no interval', () => {
    const columns = [
      rowName<(typeof ROWS)[number]>('callers', ({ callers }) => callers),
      column<(typeof ROWS)[number]>(
        'per second',
        ({ perSecond }) => perSecond,
        higher('1/s', ({ perSecond }) => ({ low: perSecond - 1, high: perSecond + 1 })),
      ),
    ];
    const table = resultTable(ABOUT, ROWS, columns, { callers: 'paper' });
    assert.deepEqual(table.rows, [
      ['paper', null],
      [8, 1_000],
      [16, 1_500],
    ]);
    assert.deepEqual(table.metrics?.columns[0]?.intervals, [
      null,
      { low: 999, high: 1_001 },
      { low: 1_499, high: 1_501 },
    ]);
    assert.throws(() => resultTable(ABOUT, ROWS, columns, { caller: 'paper' }), /title caller$/);
  });

  test('may have rows of a name and a value', () => {
    const { columns, rows } = resultTable(ABOUT, [['commits', 3]], pair('what', 'count'));
    assert.deepEqual([columns, rows], [['what', 'count'], [['commits', 3]]]);
  });

  test('has no metrics if no two runs are compared by it', () => {
    const table = resultTable(ABOUT, ROWS, [rowName('callers', ({ callers }) => callers)]);
    assert.equal('metrics' in table, false);
  });
});

test('a series leaves out the rows that it has no value for', () => {
  const made = series(ROWS, ({ callers, samples }) => ({ x: callers, samples }), [
    line('median', 'percolator', ({ ms }) => ms),
    dots('spread', 'other', ({ ms }) => (ms === null ? null : { y: ms, low: 1, high: 3 })),
  ]);
  const mark = { x: 8, y: 2, samples: 900 };
  assert.deepEqual(made, [
    {
      name: 'median',
      look: 'percolator',
      isLine: true,
      points: [{ ...mark, low: null, high: null }],
    },
    { name: 'spread', look: 'other', isLine: false, points: [{ ...mark, low: 1, high: 3 }] },
  ]);
});
