/** Findings: tables and charts of an experiment without crawl rates, made from the record alone. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { chartTheme } from './charts/theme.ts';
import { findingsFigure } from './charts/findings-figure.ts';
import { readRunRecord } from './record-file.ts';
import { buildReport } from './report.ts';
import { recordFindings } from './record-findings.ts';
import { createRun, type Run } from './run.ts';
import type { Findings } from './run-record.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

const FINDINGS: Findings = {
  kind: 'measurement',
  kicker: 'Percolator paper, figure 8',
  title: 'Raw <store> against Percolator',
  headline: 'Half as fast.',
  check: { passed: true, detail: 'all is there' },
  tables: [
    {
      name: 'figure-8',
      title: 'Rates',
      caption: 'Of one machine.',
      columns: ['store', 'raw/s', 'relative'],
      rows: [
        ['embedded', 1234.5, 0.5],
        ['emulator, "official"', null, 0.25],
      ],
      metrics: {
        rowNames: 1,
        columns: [
          {
            column: 'raw/s',
            unit: 'operations/s',
            better: 'higher',
            intervalColumns: null,
            intervals: [{ low: 1200, high: 1300 }, null],
          },
        ],
      },
    },
  ],
  charts: [
    {
      name: 'relative',
      title: 'Relative',
      caption: 'With intervals.',
      x: { title: 'cells', scale: 'logarithmic', ticks: [{ at: 1, label: 'one' }] },
      y: { title: 'relative', scale: 'linear', ticks: [] },
      series: [
        {
          name: 'embedded',
          look: 'percolator',
          isLine: true,
          fit: null,
          points: [
            { x: 1, y: 0.5, low: 0.4, high: 0.6 },
            { x: 2, y: 0.3, low: null, high: null },
          ],
        },
      ],
    },
  ],
};

const HEADER = {
  experiment: 'micro',
  profile: 'smoke',
  commandLine: 'node main.ts',
  parameters: {},
  seed: 1,
  repeats: 3,
  store: { name: 'embedded', durability: 'Each commit is on the disk.' },
} as const;

function runWith(folder: string, findings: Findings): Run {
  const run = createRun(folder, HEADER);
  run.describe({ findings });
  return run;
}

describe('findings', () => {
  test('are read back as written, and make one file for each table and chart', () => {
    const folder = temporaryFolder();
    const files = runWith(folder, FINDINGS).finish();
    assert.deepEqual(readRunRecord(folder).findings, FINDINGS);
    const names = [...files.tables, ...files.figures, files.page].map((file) =>
      path.relative(folder, file),
    );
    assert.deepEqual(names, ['figure-8.csv', 'relative.png', 'report.html']);
    assert.equal(
      readFileSync(files.tables[0] ?? '', 'utf8'),
      'store,raw/s,relative\nembedded,1234.5,0.5\n"emulator, ""official""",,0.25\n',
    );
  });

  test('give the same report, byte for byte, when it is built again', () => {
    const folder = temporaryFolder();
    const made = runWith(folder, FINDINGS).finish();
    const files = [...made.tables, ...made.figures, made.page];
    const before = files.map((file) => readFileSync(file));
    buildReport(folder);
    for (const [i, file] of files.entries()) assert.ok(before[i]?.equals(readFileSync(file)), file);
  });

  test('are on a page that makes no network request, and escapes its texts', () => {
    const folder = temporaryFolder();
    const page = readFileSync(runWith(folder, FINDINGS).finish().page, 'utf8');
    assert.match(page, /default-src 'none'|default-src &#39;none&#39;/);
    assert.ok(!/(?:src|href)="(?!data:)/.test(page));
    assert.ok(page.includes('Raw &lt;store&gt; against Percolator'));
    assert.ok(page.includes('<td>1,235</td>'));
  });

  test('of a proof keep their tables when a rule was broken; those of a measurement do not', () => {
    const check = { passed: false, detail: 'seed 17 breaks a rule' };
    const folder = temporaryFolder();
    assert.throws(() => runWith(folder, { ...FINDINGS, check }), /check failed/);
    const other = temporaryFolder();
    const proof = runWith(other, { ...FINDINGS, kind: 'proof', check }).finish();
    assert.match(readFileSync(proof.page, 'utf8'), /NOT proven: seed 17 breaks a rule/);
    assert.equal(proof.tables.length, 1);
  });

  test('are missing after an interrupted measurement, and the record says so', async () => {
    const folder = temporaryFolder();
    const { kicker, title, ...found } = FINDINGS;
    const interrupted = new AbortController();
    const record = (name: string, measure: () => Promise<typeof found>): Promise<unknown> =>
      recordFindings(
        path.join(folder, name),
        { ...HEADER, kicker, title },
        interrupted.signal,
        async () => ({ ...(await measure()), targets: [] }),
      );
    const read = (name: string): unknown => {
      const { state, findings } = readRunRecord(path.join(folder, name));
      return [state, findings?.check.passed, findings?.tables.length];
    };
    await record('measured', async () => found);
    assert.deepEqual(read('measured'), ['finished', true, 1]);
    const ended = record('interrupted', async () => {
      interrupted.abort(new Error('ctrl-C'));
      interrupted.signal.throwIfAborted();
      return found;
    });
    await assert.rejects(ended, /ctrl-C/);
    assert.deepEqual(read('interrupted'), ['interrupted', false, 0]);
  });

  test('have no tables if their check failed', () => {
    const folder = temporaryFolder();
    const failed = { ...FINDINGS, check: { passed: false, detail: 'a row is missing' } };
    assert.throws(() => runWith(folder, failed), /tables although their check failed/);
    const without = { ...failed, tables: [], charts: [] };
    const run = runWith(path.join(folder, 'other'), without);
    assert.match(readFileSync(run.finish().page, 'utf8'), /THE CHECK FAILED.*a row is missing/);
  });

  test('declare only metrics that their tables have', () => {
    const folder = temporaryFolder();
    const run = createRun(folder, HEADER);
    const [table] = FINDINGS.tables;
    const [column] = table?.metrics?.columns ?? [];
    assert.ok(table !== undefined && column !== undefined);
    const refused = (metrics: NonNullable<typeof table.metrics>, why: RegExp): void => {
      const findings = { ...FINDINGS, tables: [{ ...table, metrics }] };
      assert.throws(() => run.describe({ findings }), why);
    };
    refused({ rowNames: 0, columns: [column] }, /figure-8 name rows by 0 columns/);
    refused({ rowNames: 1, columns: [{ ...column, column: 'p99' }] }, /has no column p99/);
    refused(
      { rowNames: 1, columns: [{ ...column, intervalColumns: ['low', 'high'] }] },
      /has no column low/,
    );
    refused({ rowNames: 1, columns: [{ ...column, intervals: [] }] }, /intervals of raw\/s do not/);
  });

  test('are drawn with an interval if they have one', () => {
    const [chart] = FINDINGS.charts;
    assert.ok(chart !== undefined);
    const { datasets } = findingsFigure(chart, chartTheme(false)).data;
    const drawn = datasets.map(({ label, data }) => ({ label, ys: data.map(({ y }) => y) }));
    assert.deepEqual(drawn, [
      { label: 'embedded', ys: [0.5, 0.3] },
      { label: undefined, ys: [0.4, 0.6] },
    ]);
  });

  test('are drawn with the fitted line and its band', () => {
    const folder = temporaryFolder();
    const [chart] = FINDINGS.charts;
    const [series] = chart?.series ?? [];
    assert.ok(chart !== undefined && series !== undefined);
    const fit = [
      { x: 1, y: 0.5, low: 0.4, high: 0.7 },
      { x: 2, y: 0.4, low: 0.3, high: 0.6 },
    ];
    const fitted = { ...chart, series: [{ ...series, points: [], fit }] };
    runWith(folder, { ...FINDINGS, charts: [fitted] });
    const [read] = readRunRecord(folder).findings?.charts ?? [];
    assert.deepEqual(read?.series[0]?.fit, fit);
    const { datasets } = findingsFigure(read, chartTheme(false)).data;
    const [, line, low, high] = datasets.map(({ data, fill }) => ({
      ys: data.map(({ y }) => y),
      fill,
    }));
    assert.deepEqual(
      [line?.ys, low?.ys],
      [
        [0.5, 0.4],
        [0.4, 0.3],
      ],
    );
    assert.deepEqual(high, { ys: [0.7, 0.6], fill: '-1' });
  });
});
