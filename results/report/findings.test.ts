/** Findings: tables and charts of an experiment without crawl rates, made from the record alone. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { chartConfiguration } from './charts/draw-chart.ts';
import { findingsChart, tableOf } from './charts/findings-chart.ts';
import { chartTheme } from './charts/theme.ts';
import { buildReport, findingsContent } from './report.ts';
import { readRunRecord } from './record-file.ts';
import type { Findings, ResultTable } from './run-record.ts';
import { createFindingsRun, SAMPLE_FINDINGS } from './testing/sample-findings.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

// One chart is enough for most claims.
const FINDINGS: Findings = { ...SAMPLE_FINDINGS, charts: SAMPLE_FINDINGS.charts.slice(0, 1) };

describe('findings', () => {
  test('are read back as written, and make one file for each table and chart', () => {
    const folder = temporaryFolder();
    const files = createFindingsRun(folder, FINDINGS).finish();
    assert.deepEqual(readRunRecord(folder).findings, FINDINGS);
    const names = [...files.tables, ...files.figures, files.page].map((file) =>
      path.relative(folder, file),
    );
    assert.deepEqual(names, [
      'figure-8.csv',
      'relative.png',
      'relative.svg',
      'relative-dark.png',
      'report.html',
    ]);
    assert.equal(
      readFileSync(files.tables[0] ?? '', 'utf8'),
      'store,raw/s,relative\nembedded,1234.5,0.5\n"emulator, ""official""",,0.25\n',
    );
  });

  test('give the same report, byte for byte, when it is built again', () => {
    const folder = temporaryFolder();
    const made = createFindingsRun(folder, FINDINGS).finish();
    const files = [...made.tables, ...made.figures, made.page];
    const before = files.map((file) => readFileSync(file));
    buildReport(folder);
    for (const [i, file] of files.entries()) assert.ok(before[i]?.equals(readFileSync(file)), file);
  });

  test('are on a page that makes no network request, and escapes its texts', () => {
    const folder = temporaryFolder();
    const page = readFileSync(createFindingsRun(folder, FINDINGS).finish().page, 'utf8');
    assert.match(page, /default-src 'none'|default-src &#39;none&#39;/);
    assert.ok(!/src="(?!data:)|<link[^>]* href="(?!data:)/.test(page));
    assert.ok(page.includes('Raw &lt;store&gt; against Percolator'));
    assert.match(page, /<td class="number">1,235<\/td>/);
  });

  test('of a proof keep their tables when a rule was broken; those of a measurement do not', () => {
    const check = { passed: false, detail: 'seed 17 breaks a rule' };
    const folder = temporaryFolder();
    assert.throws(() => createFindingsRun(folder, { ...FINDINGS, check }), /check failed/);
    const other = temporaryFolder();
    const proof = createFindingsRun(other, { ...FINDINGS, kind: 'proof', check }).finish();
    assert.match(readFileSync(proof.page, 'utf8'), /NOT proven: seed 17 breaks a rule/);
    assert.equal(proof.tables.length, 1);
  });

  test('never write outside of their folder, whatever a record of another owner says', () => {
    for (const name of ['../../.bashrc', '/etc/passwd', '..', '', 'a\0b', 'a/b/c']) {
      const named = <T extends object>(list: readonly T[]): T[] =>
        list.map((one) => ({ ...one, name }));
      for (const findings of [
        { ...FINDINGS, tables: named(FINDINGS.tables) },
        { ...FINDINGS, charts: named(FINDINGS.charts) },
      ]) {
        const refused = /name must be the name of a file in the folder, but is/;
        assert.throws(() => createFindingsRun(temporaryFolder(), findings), refused);
      }
    }
  });

  test('have no tables if their check failed', () => {
    const folder = temporaryFolder();
    const failed = { ...FINDINGS, check: { passed: false, detail: 'a row is missing' } };
    assert.throws(() => createFindingsRun(folder, failed), /tables although their check failed/);
    const without = { ...failed, tables: [], charts: [] };
    const run = createFindingsRun(path.join(folder, 'other'), without);
    assert.match(readFileSync(run.finish().page, 'utf8'), /THE CHECK FAILED.*a row is missing/);
  });

  test('declare only metrics that their tables have', () => {
    const folder = temporaryFolder();
    const run = createFindingsRun(folder);
    const [table] = FINDINGS.tables;
    const [column] = table?.metrics?.columns ?? [];
    assert.ok(table !== undefined && column !== undefined);
    const refused = (metrics: NonNullable<typeof table.metrics>, why: RegExp): void => {
      const findings = { ...FINDINGS, tables: [{ ...table, metrics }] };
      assert.throws(() => run.describe({ findings }), why);
    };
    refused({ rowNames: 0, columns: [column] }, /figure-8 name rows by 0 columns, not by 1 to 3/);
    refused({ rowNames: 1, columns: [{ ...column, column: 'p99' }] }, /has no column p99/);
    refused(
      { rowNames: 1, columns: [{ ...column, intervalColumns: ['low', 'high'] }] },
      /has no column low/,
    );
    refused({ rowNames: 1, columns: [{ ...column, intervals: [] }] }, /intervals of raw\/s do not/);
  });

  test('are drawn with an interval and a sample count if they have them', () => {
    const [chart] = FINDINGS.charts;
    assert.ok(chart !== undefined);
    const drawn = findingsChart(chart);
    assert.deepEqual(drawn.series[0]?.marks, [
      {
        x: 1,
        y: 0.5,
        low: 0.4,
        high: 0.6,
        samples: 40,
        words: ['0.5 at one', '0.4 to 0.6', '40 samples'],
        label: ['half'],
      },
      { x: 2, y: 0.3, low: null, high: null, samples: null, words: ['0.3 at 2'] },
    ]);
    const { datasets } = chartConfiguration(drawn, chartTheme(false), () => false).data;
    assert.deepEqual(
      datasets.map(({ label, data }) => ({ label, ys: data.map(({ y }) => y) })),
      [{ label: 'embedded', ys: [0.5, 0.3] }],
    );
  });

  test('have a table of each chart, made from the chart where the record has none', () => {
    const [chart] = FINDINGS.charts;
    assert.ok(chart !== undefined);
    const { columns, rows } = tableOf(chart);
    assert.deepEqual(columns, ['series', 'cells', 'relative', 'from', 'to', 'samples']);
    assert.deepEqual(rows, [
      ['embedded', 'one', 0.5, 0.4, 0.6, 40],
      ['embedded', '2', 0.3, null, null, null],
    ]);
    const inRecord = { ...FINDINGS, tables: [{ ...firstTable(), name: 'relative' }] };
    const { charts, tables } = findingsContent(inRecord, 'finished');
    assert.deepEqual([charts[0]?.table.title, tables.length], ['Rates', 0]);
    assert.equal(findingsContent(FINDINGS, 'finished').charts[0]?.table.title, 'Relative');
  });

  test('are on a page where every table has a caption and every header a scope', () => {
    const folder = temporaryFolder();
    const page = readFileSync(createFindingsRun(folder, FINDINGS).finish().page, 'utf8');
    const tables = page.match(/<table[^]*?<\/table>/g) ?? [];
    assert.equal(tables.length, 2);
    for (const one of tables) assert.match(one, /<caption>\s*\S/);
    assert.deepEqual(page.match(/<th(?! scope="(?:col|row)")[ >]/g), null);
  });

  test('put a long table after the short ones, folded', () => {
    const folder = temporaryFolder();
    const rows = Array.from({ length: 72 }, (_, i) => ['embedded', i, i]);
    const ladder = { ...firstTable(), name: 'ladder', title: 'The ladder', rows, metrics: null };
    const findings = { ...FINDINGS, tables: [ladder, firstTable()] };
    const page = readFileSync(createFindingsRun(folder, findings).finish().page, 'utf8');
    const short = page.indexOf('id="table-figure-8"');
    assert.ok(short >= 0 && short < page.indexOf('id="table-ladder"'));
    assert.match(page, /<details[^>]*>\s*<summary>\s*Table: The ladder \(72 rows\)/);
  });

  test('are drawn with the fitted line and its band', () => {
    const folder = temporaryFolder();
    const [chart] = FINDINGS.charts;
    const [series] = chart?.series ?? [];
    assert.ok(chart !== undefined && series !== undefined);
    const fit = [
      { x: 1, y: 0.5, low: 0.4, high: 0.7, samples: null, label: null },
      { x: 2, y: 0.4, low: 0.3, high: 0.6, samples: null, label: null },
    ];
    const fitted = { ...chart, series: [{ ...series, points: [], fit }] };
    createFindingsRun(folder, { ...FINDINGS, charts: [fitted] });
    const [read] = readRunRecord(folder).findings?.charts ?? [];
    assert.ok(read !== undefined);
    assert.deepEqual(read.series[0]?.fit, fit);
    assert.deepEqual(findingsChart(read).series[0]?.band, [
      { x: 1, y: 0.5, low: 0.4, high: 0.7 },
      { x: 2, y: 0.4, low: 0.3, high: 0.6 },
    ]);
  });

  test('have a different colour and mark for every series', () => {
    const [chart] = FINDINGS.charts;
    const [one] = chart?.series ?? [];
    assert.ok(chart !== undefined && one !== undefined);
    const looks = ['percolator', 'percolator', 'other', 'paper', 'other', 'percolator'] as const;
    const series = looks.map((look) => Object.assign({}, one, { look }));
    const drawn = findingsChart({ ...chart, series }).series;
    assert.equal(new Set(drawn.map(({ color }) => color)).size, looks.length);
    const marks = drawn.map(({ marker, isHollow }) => `${marker} ${isHollow ?? false}`);
    assert.equal(new Set(marks).size, looks.length);
    assert.deepEqual([drawn[0]?.color, drawn[2]?.color, drawn[3]?.color], [0, 1, 'paper']);
  });
});

function firstTable(): ResultTable {
  const [first] = FINDINGS.tables;
  assert.ok(first !== undefined);
  return first;
}
