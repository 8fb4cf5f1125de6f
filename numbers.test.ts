/**
 * Measured numbers in the documents come from run records in results/reference: each text below is made from a record, and
 * the document must contain it. A new reference run makes this test fail until the documents say what it measured.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { readRunRecord, type RunRecord } from '#results';

type Value = string | number | null;

const ROOT = import.meta.dirname;
const figure7 = readRunRecord(path.join(ROOT, 'results/reference/figure-7'));
const figure8 = readRunRecord(path.join(ROOT, 'results/reference/figure-8'));
const figure9 = readRunRecord(path.join(ROOT, 'results/reference/figure-9'));

describe('README.md says what was measured:', () => {
  const ratio = medianMs('mapreduce', 1) / medianMs('percolator', 1);
  const kept = figure7.points.filter(
    ({ system, verdict }) => system === 'percolator' && verdict === 'sustained',
  );
  const wall = Math.max(...kept.map(({ ratePercentPerHour }) => ratePercentPerHour));
  const batch = [1, 10, 100, 400, 800].map((rate) => medianMs('mapreduce', rate) / 1000);
  const rows = {
    'latency at 1 %': `about 1,000 times | ${ratio.toFixed(0)} times`,
    'the wall': `40 %/hour | above ${wall} %/hour`,
    'the flat batch': `flat      | ${Math.min(...batch).toFixed(1)} to ${Math.max(...batch).toFixed(1)} s`,
    reads: `0.94      | ${relative('embedded', 'read')}, emulator ${relative('emulator', 'read')}`,
    writes: `0.23      | ${relative('embedded', 'write')}, emulator ${relative('emulator', 'write')}`,
    'the cost of a brokerage': `30 times  | ${cost('Percolator, embedded')}, emulator ${cost('Percolator, emulator')} times`,
    'the straight line': `yes       | R² ${rSquared('Percolator, embedded')}, emulator ${rSquared('Percolator, emulator')} |`,
  };
  for (const [what, text] of Object.entries(rows)) {
    test(what, () => contains('README.md', text));
  }
});

describe('docs/figure-7.md says what was measured:', () => {
  const { percolatorDocumentsPerSecond } = figure7.capacity ?? {};
  const texts = {
    medians: `${(medianMs('mapreduce', 1) / 1000).toFixed(1)} s for the batch and ${medianMs('percolator', 1).toFixed(1)} ms for Percolator`,
    capacity: `${rounded(percolatorDocumentsPerSecond ?? 0)} documents a second`,
  };
  for (const [what, text] of Object.entries(texts)) {
    test(what, () => contains('docs/figure-7.md', text));
  }
});

describe('docs/figure-9.md says what was measured:', () => {
  for (const system of ['Percolator, embedded', 'Percolator, emulator', 'PostgreSQL, functions']) {
    test(system, () => {
      const [, , rate = 0] = row(figure9, 'unpaced', system) as number[];
      const [, , , ms = 0, times = 0] = row(figure9, 'cost', system) as number[];
      const cells = [rate.toFixed(0), ms.toFixed(1), times.toFixed(2), rSquared(system)];
      contains('docs/figure-9.md', `${system} | ${cells.join(' | ')} |`);
    });
  }
});

function medianMs(system: string, rate: number): number {
  const point = figure7.points.find(
    (one) => one.system === system && one.ratePercentPerHour === rate,
  );
  const ms = point?.latency?.medianMs;
  assert.ok(ms !== undefined && ms !== null, `${system} at ${rate} %/hour has a median`);
  return ms;
}

function relative(store: string, operation: string): string {
  const found = tableOf(figure8, 'figure-8').find(
    ([first, second]) => first === store && second === operation,
  );
  return Number(found?.[4]).toFixed(2);
}

function cost(system: string): string {
  return Number(row(figure9, 'cost', system)[4]).toFixed(1);
}

function rSquared(system: string): string {
  return Number(row(figure9, 'lines', system)[5]).toFixed(3);
}

function row(record: RunRecord, table: string, system: string): readonly Value[] {
  const found = tableOf(record, table).find(([first]) => first === system);
  assert.ok(found !== undefined, `${table} has a row of ${system}`);
  return found;
}

function tableOf({ findings }: RunRecord, name: string): readonly (readonly Value[])[] {
  const table = findings?.tables.find((one) => one.name === name);
  assert.ok(table !== undefined, `the record has a table ${name}`);
  return table.rows;
}

function rounded(count: number): string {
  return (Math.round(count / 100) * 100).toLocaleString('en');
}

/** Columns of tables are padded to any width. */
function contains(file: string, text: string): void {
  const squeeze = (given: string): string => given.replaceAll(/\s+/g, ' ');
  const document = squeeze(readFileSync(path.join(ROOT, file), 'utf8'));
  assert.ok(document.includes(squeeze(text)), `${file} should say: ${squeeze(text)}`);
}
