/** The page of the committed figure 9 states nothing that its own numbers contradict. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { correctedRecord } from './older-records.ts';
import { readRunRecord } from './record-file.ts';
import { createFindingsRun, SAMPLE_FINDINGS } from './testing/sample-findings.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

const COLUMNS = ['system', 'TR/s offered', 'seconds', 'TR/s', 'TR, 90 % within ms', 'kept up'];

test('a ladder without counts is judged by the rule of today', () => {
  const rows = [
    ['emulator', 15.15, 10, 11.9, 70, 'yes'],
    ['emulator', 15.15, 10, 15, 70, 'yes'],
    ['emulator', 1.165, 20, 0.8, 70, 'yes'],
    ['emulator', 20, 10, 5, 70, '900 more transactions were waiting at the end'],
  ];
  const ladder = { name: 'ladder', title: 'Ladder', caption: '', columns: COLUMNS, rows };
  const record = {
    ...createFindingsRun(temporaryFolder()).record,
    experiment: 'brokerage',
    findings: { ...SAMPLE_FINDINGS, tables: [ladder] },
    limitations: ['here it is 1000 customers, 1 days, 60 days.'],
  };
  const { findings, limitations } = correctedRecord(record);
  assert.deepEqual(
    findings?.tables[0]?.rows.map((row) => row.at(-1)),
    ['no: only 119 of 151.5 Trade-Results', 'yes', 'yes', rows[3]?.at(-1)],
  );
  assert.match(limitations[0] ?? '', /customers, 1 day, 60 days/);
  assert.match(limitations[1] ?? '', /did not at 1 more of the 4 points/);

  assert.deepEqual(findings?.tables[0]?.columns.slice(2, 6), [
    'seconds',
    'TR offered',
    'TR',
    'TR/s',
  ]);
  assert.deepEqual(findings?.tables[0]?.rows[0]?.slice(2, 6), [10, 151.5, 119, 11.9]);
  assert.deepEqual(
    findings?.tables[0]?.rows.map((row) => row.at(-2)),
    [70, 70, null, null],
  );

  const counted = { ...ladder, columns: [...COLUMNS.slice(0, -1), 'TR'] };
  const today = { ...record, findings: { ...SAMPLE_FINDINGS, tables: [counted] } };
  assert.deepEqual(correctedRecord(today).findings?.tables[0]?.rows, rows);
});

test('the committed runs hold no such statement when they are reported', () => {
  for (const figure of ['figure-7', 'figure-8', 'figure-9']) {
    const folder = path.join(import.meta.dirname, '../reference', figure);
    const text = JSON.stringify(correctedRecord(readRunRecord(folder)));
    assert.ok(!/dumb function|\b1 (?:days|repeats)\b/.test(text), figure);
    const ladder = correctedRecord(readRunRecord(folder)).findings?.tables.find(
      ({ name }) => name === 'ladder',
    );
    const [low] = ladder?.rows.filter((row) => row.includes(11.9)) ?? [[]];
    if (ladder !== undefined) assert.match(String(low?.at(-1)), /^no: only 119 of 151\.5/);
  }
});

test('the committed figure 9 has a count next to every percentile and mark', () => {
  const folder = path.join(import.meta.dirname, '../reference/figure-9');
  const { tables = [], charts = [] } = correctedRecord(readRunRecord(folder)).findings ?? {};
  for (const [name, count, percentile] of [
    ['ladder', 'TR', 'TR, 90 % within ms'],
    ['transactions', 'transactions', '90 % within ms'],
  ]) {
    const { columns = [], rows = [] } = tables.find((table) => table.name === name) ?? {};
    assert.ok(rows.length > 40);
    for (const row of rows) {
      assert.equal(row.length, columns.length);
      const samples = Number(row[columns.indexOf(count ?? '')]);
      assert.equal(
        row[columns.indexOf(percentile ?? '')] === null,
        samples < 100,
        `${name}: ${row.join()}`,
      );
    }
  }
  const samples = charts[0]?.series.flatMap(({ points }) => points.map((mark) => mark.samples));
  assert.equal(samples?.length, 24);
  assert.ok(samples.every((count) => typeof count === 'number' && count > 0));
});
