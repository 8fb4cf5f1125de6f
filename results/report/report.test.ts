/** The report states the measured numbers: no more, no less, and the same each time. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { GlobalFonts } from '@napi-rs/canvas';
import * as fc from 'fast-check';
import { formatDuration, formatMeasured } from './charts/format.ts';
import { chartTheme } from './charts/theme.ts';
import { headline } from './crawl-rate/headline.ts';
import { crawlRateContent } from './crawl-rate/page.ts';
import { readHistogram, percentileMs } from './histogram.ts';
import { pointsCsv } from './crawl-rate/csv.ts';
import { figure7 } from './crawl-rate/figure-7.ts';
import { latencyTable } from './crawl-rate/latency-table.ts';
import { isStated, tooFewSamples } from './samples.ts';
import { formatJudged } from './thresholds.ts';
import type { Point } from './run-record.ts';
import { readMeasuredRun } from './run-from-files.ts';
import { limitations } from './page/sections.ts';
import { html, inlineJson, inlineScript } from './page/html.ts';
import { buildReport, type ReportFiles, subtitle } from './report.ts';
import { createRun } from './run-in-progress.ts';
import { readTimeSeries } from './time-series.ts';
import { UsageError } from './usage-error.ts';
import { createSampleRun, SAMPLE_SATURATED_BACKLOG } from './testing/sample-run.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

describe('a report', () => {
  test('is the same, byte for byte, when it is built again', () => {
    const folder = temporaryFolder();
    const made = createSampleRun(folder).finish();
    const files = [...made.tables, ...made.figures, made.page];
    assert.equal(files.length, 4);
    const before = files.map((file) => readFileSync(file));
    buildReport(folder);
    for (const [index, file] of files.entries()) {
      assert.ok(before[index]?.equals(readFileSync(file)), file);
    }
  });

  test('says under each picture whether this machine was measured, or virtual time', () => {
    const folder = temporaryFolder();
    createSampleRun(folder).finish();
    const { record } = readMeasuredRun(folder);
    assert.match(subtitle(record), /^On this machine: .* documents, .* store, \d+ cores, \d/);
    const both = { name: 'embedded, functions', durability: 'of each' };
    const compared = subtitle({ ...record, store: both });
    assert.match(compared, /^On this machine: .* documents, embedded, functions, \d+ cores, \d/);
    const store = { name: 'virtual', durability: 'none' };
    const virtual = { ...record, store, parameters: { calibration: 'paper-2010' } };
    assert.match(subtitle(virtual), /^In virtual time: .* documents, costs of paper-2010, \d/);
  });

  test('of thousands of points says so before they are drawn', () => {
    const said: string[] = [];
    for (const count of [10, 4_000]) {
      const folder = temporaryFolder();
      const points = Array.from({ length: count }, (_, x) => ({
        x: x + 1,
        y: 1 + (x % 7),
        low: null,
        high: null,
      }));
      const axis = { title: 'of it', scale: 'linear', ticks: [] } as const;
      const series = [{ name: 's', look: 'other', isLine: false, points } as const];
      const chart = { name: 'c', title: 'C', caption: 'C.', x: axis, y: axis, series };
      const texts = { kicker: 'A bench', title: 'Rates', headline: 'A headline.' };
      const check = { passed: true, detail: 'all is there' };
      const header = {
        experiment: 'oracle',
        profile: 'smoke',
        commandLine: '',
        parameters: {},
      } as const;
      const store = { name: 'embedded', durability: 'each commit is on the disk' };
      const run = createRun(folder, { ...header, seed: 1, repeats: 1, store });
      run.describe({ findings: { ...texts, check, tables: [], charts: [chart] } });
      run.close('finished');
      buildReport(folder, (line) => said.push(line));
    }
    assert.deepEqual(said, ['drawing 4,000 points ...']);
  });

  test('does not judge a target that the load did not ask for', () => {
    const folder = temporaryFolder();
    const page = readFileSync(createSampleRun(folder).finish().page, 'utf8');
    assert.match(page, /Targets: 2 of 3 met, 1 not judged/);
    assert.match(page, /not judged: only 167 documents\/s were offered/);
    assert.equal(page.match(/<span class="bad">NOT met<\/span>/g)?.length, 1);
  });

  test('shows no latency of a saturated, failed or invalid point anywhere', () => {
    const folder = temporaryFolder();
    const files = createSampleRun(folder).finish();
    const bad = ['percolator,10000,', 'percolator,200,', 'percolator,500,'];

    const lines = readTable(files, 'points.csv').split('\n');
    const columns = lines[0]?.split(',') ?? [];
    for (const start of bad) {
      const cells = lines.find((line) => line.startsWith(start))?.split(',') ?? [];
      for (const [index, column] of columns.entries()) {
        if (column.startsWith('latency_')) assert.equal(cells[index], '', `${start} ${column}`);
      }
    }
    const percentiles = readTable(files, 'latency-percentiles.csv');
    for (const start of bad) assert.ok(!percentiles.includes(`\n${start}`));

    const { charts } = crawlRateContent(folder, readMeasuredRun(folder));
    for (const { chart } of charts.filter(({ chart: { name } }) => name !== 'backlog')) {
      for (const { name, marks, isOnEdge } of chart.series) {
        if (!name.startsWith('Percolator')) continue;
        const drawn = marks.filter(({ y }) => y !== null).map(({ words }) => words.join(' '));
        const among = drawn.filter((words) => /at (?:200|500|10,000) %\/h/.test(words));
        assert.deepEqual(chart.name === 'cost' || isOnEdge ? [] : among, [], chart.name);
        assert.doesNotMatch(name, /at (?:200|500|10,000) %\/h$/);
      }
    }
    const growth = `backlog grows ${Math.round(SAMPLE_SATURATED_BACKLOG)} documents/s`;
    assert.ok(readFileSync(files.page, 'utf8').includes(growth));
  });

  test('has the percentiles of its histograms in its CSV', () => {
    const folder = temporaryFolder();
    const files = createSampleRun(folder).finish();
    const rows = readTable(files, 'latency-percentiles.csv').trim().split('\n').slice(1);
    assert.ok(rows.length > 100);
    for (const row of rows) {
      const [system, rate, percentile, latency] = row.split(',');
      const file = `${system}-${rate}-percent-per-hour.hlog`;
      const histogram = readHistogram(path.join(folder, 'histograms', file));
      assert.equal(Number(latency), percentileMs(histogram, Number(percentile)), row);
    }
  });

  test('links only to files that are in its folder', () => {
    const folder = temporaryFolder();
    const { page } = createSampleRun(folder).finish();
    const text = readFileSync(page, 'utf8');
    const links = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, to]) => to ?? '');
    const local = links.filter((to) => !/^(?:https:|#)/.test(to));
    for (const file of local) assert.ok(existsSync(path.join(folder, file)), file);
    for (const part of [
      'run.json',
      'points.csv',
      'histograms/percolator-1-percent-per-hour.hlog',
    ]) {
      assert.ok(local.includes(part), part);
    }
    for (const [, id] of text.matchAll(/<a href="#([^"]*)"/g)) {
      assert.ok(text.includes(`id="${id}"`), id);
    }
    assert.ok(links.some((to) => to.endsWith('Peng.pdf')));
    for (const [file] of text.matchAll(/[\w-]+\.png/g)) {
      assert.ok(existsSync(path.join(folder, file)), file);
    }
  });

  test('of a damaged time series is refused in one sentence that names the file', () => {
    const folder = temporaryFolder();
    createSampleRun(folder).finish();
    const file = path.join(folder, 'time-series/percolator-1000-percent-per-hour.csv');
    const whole = readFileSync(file, 'utf8');
    const rows = whole.split('\n').length - 2;
    assert.equal(readTimeSeries(file).length, rows);
    const damaged = [
      '',
      'seconds,arrived,completed\n',
      '<html>\n',
      whole.slice(0, -3),
      `${whole}x,1,2`,
    ];
    for (const text of [...damaged, whole.replace('\n1,', '\n,'), whole.replace('\n1,', '\n\0,')]) {
      writeFileSync(file, text);
      assert.throws(
        () => buildReport(folder),
        (error) => error instanceof UsageError && error.message.includes(file),
        JSON.stringify(text.slice(-30)),
      );
    }
  });

  test('that cannot be written says so in one sentence, and names the file', () => {
    const folder = temporaryFolder();
    createSampleRun(folder);
    mkdirSync(path.join(folder, 'points.csv'));
    assert.throws(
      () => buildReport(folder),
      (error) =>
        error instanceof UsageError && /points\.csv cannot be written: E\w+/.test(error.message),
    );
  });

  test('says in its headline how the systems compare and where each stops', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    assert.match(
      headline(record),
      /At a crawl rate of 1 %\/h, .* 3\.41 ms .* 975 ms .* 290 times faster/,
    );
    assert.match(
      headline(record),
      /Percolator kept up with rates up to 1,000 %\/h; at 10,000 %\/h its backlog grew/,
    );
    assert.match(headline(record), /MapReduce kept up at every rate tried, up to 10,000 %\/h/);
    const stumbled = record.points.map((point) =>
      point.system === 'mapreduce' && point.ratePercentPerHour === 100
        ? { ...point, verdict: 'saturated' as const }
        : point,
    );
    assert.match(
      headline({ ...record, points: stumbled }),
      /MapReduce kept up with rates up to 10,000 %\/h, except at 100 %\/h\./,
    );
    const failed = record.points.map((point) =>
      point.system === 'mapreduce' && point.ratePercentPerHour === 10_000
        ? { ...point, check: { passed: false, detail: 'a document is missing' } }
        : point,
    );
    assert.match(
      headline({ ...record, points: failed }),
      /MapReduce kept up with rates up to 1,000 %\/h\.$/,
      'a rate whose check failed counts as neither kept up nor saturated',
    );
    assert.equal(headline({ ...record, points: [] }), 'Nothing was measured.');
    const batchOnly = record.points.filter((point) => point.system === 'mapreduce');
    assert.match(
      headline({ ...record, points: batchOnly }),
      /At no crawl rate do both systems have a checked latency/,
    );
  });

  test('makes no headline of fewer than 30 documents, and no percentile of fewer than 100', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    const few = (count: number) => (point: Point) =>
      point.latency === null ? point : { ...point, latency: { ...point.latency, count } };
    const points = record.points.map((point) =>
      few(point.ratePercentPerHour === 1 ? 8 : 99)(point),
    );
    assert.match(headline({ ...record, points }), /^At a crawl rate of 2 %\/h.*\(99 documents\)/);
    const eight = record.points.map(few(8));
    assert.match(
      headline({ ...record, points: eight }),
      /^At no crawl rate .* at least 30 documents/,
    );

    assert.ok(isStated(50, 1) && isStated(100, 1) && isStated(99, 100) && isStated(99.9, 1000));
    assert.equal(tooFewSamples(8), 'too few samples (8 of 30)');
    assert.deepEqual([tooFewSamples(30), tooFewSamples(null)], [null, null]);
    assert.ok(!isStated(99, 99) && !isStated(90, 99) && !isStated(5, 99) && !isStated(99.9, 999));
    const { rows } = latencyTable(points);
    for (const [, , batch, , , ours] of rows) assert.deepEqual([batch, ours], ['\u2013', '\u2013']);
    const drawn = figure7({ ...record, points }).series.map(({ name }) => name);
    assert.ok(!drawn.some((name) => name.includes('99th')), drawn.join());
    const [columns = '', first = ''] = pointsCsv(points).split('\n');
    const cells = first.split(',');
    for (const [i, column] of columns.split(',').entries()) {
      if (/p9[09]/.test(column)) assert.equal(cells[i], '', column);
    }
  });

  test('says a judged number with so many digits that it shows its verdict', () => {
    const isMet = (value: number): boolean => value >= 0.98;
    assert.equal(formatJudged(0.97997, 3, isMet), '0.97997');
    assert.equal(formatJudged(0.9801, 3, isMet), '0.980');
    assert.equal(formatJudged(0.948, 3, isMet), '0.948');
    assert.equal(formatJudged(Number.NaN, 1, isMet), 'NaN');
  });

  test('draws no line across a rate at which the system has no latency', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    const { series } = figure7(record);
    const median = series.find(({ name }) => name === 'Percolator, median');
    const gaps = median?.marks.filter(({ y }) => y === null).map(({ x }) => x);
    assert.deepEqual(gaps, [200, 500, 10_000]);
  });

  test('describes in its caption what is drawn, and nothing else', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    const all = figure7(record);
    assert.ok(all.series.some(({ line }) => line === 'dotted'));
    for (const part of ['dotted', 'arrow', 'bar', 'Grey']) assert.ok(all.caption.includes(part));
    const sustained = record.points.filter((point) => point.verdict === 'sustained');
    const bare = sustained.map((point) => Object.assign({}, point, { repeatMediansMs: [] }));
    const less = figure7({ ...record, mapreduceModel: null, points: bare });
    assert.ok(!less.series.some(({ line }) => line === 'dotted'));
    assert.equal(/dotted|arrow|bar/.exec(less.caption), null);
  });

  test('can be made from a run that was stopped before its first point', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(path.join(folder, 'sample'));
    const empty = createRun(path.join(folder, 'empty'), { ...record, limitations: [] });
    const files = empty.finish('interrupted');
    assert.equal(empty.record.state, 'interrupted');
    assert.equal(readTable(files, 'points.csv').trim().split('\n').length, 1);
    assert.match(headline(empty.record), /^Nothing was measured\.$/);
  });

  test('names its limitations first', () => {
    const folder = temporaryFolder();
    const run = createSampleRun(folder);
    const words = limitations({ ...run.record, label: 'exploratory' }).join('\n');
    for (const part of [
      'did not finish',
      'failed its check',
      'exploratory',
      'One machine of two cores',
    ]) {
      assert.ok(words.includes(part), part);
    }
    const page = readFileSync(run.finish().page, 'utf8');
    const at = page.indexOf('<h2>Limitations</h2>');
    assert.ok(at >= 0 && at < page.indexOf('<canvas'));
  });

  test('of a simulation with one seed says that other seeds may differ, and is not exploratory', () => {
    const { record } = createSampleRun(temporaryFolder());
    const store = { name: 'virtual', durability: 'none' };
    const words = limitations({ ...record, store, label: 'exploratory' }).join('\n');
    assert.match(words, /^Each point was simulated once: the same seed gives the same numbers, /m);
    assert.doesNotMatch(words, /exploratory/);
  });
});

describe('the page', () => {
  test('escapes every value put into its HTML', () => {
    const evil = `</script><b a='1' b="2">&amp;`;
    const escaped = '&lt;/script&gt;&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;amp;';
    assert.equal(html`<i>${evil}</i>`.text, `<i>${escaped}</i>`);
    assert.equal(html`${[html`${evil}`, html`<br />`]}${null}`.text, `${escaped}<br />`);
  });

  test('carries any text as data and does not end its script element', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('<', '/', '!', '-', 'script', '\u2028', '"', '\\', 'a'),
        }),
        (text) => {
          const inlined = inlineJson({ text }).text;
          assert.ok(!inlined.includes('<'));
          assert.deepEqual(JSON.parse(inlined), { text });
        },
      ),
    );
    assert.equal(inlineScript('"</script>"').text, '"<\\/script>"');
  });

  test('makes no network request', () => {
    const folder = temporaryFolder();
    const page = readFileSync(createSampleRun(folder).finish().page, 'utf8');
    assert.ok(page.includes('Content-Security-Policy" content="default-src &#39;none&#39;;'));
    assert.ok(!/src="(?!data:)|<link[^>]* href="(?!data:)/.test(page), 'nothing is loaded');
    assert.ok(!page.includes('</script><script>alert(1)'));
  });
});

describe('numbers', () => {
  test('are short on axes, and always have three digits in measurements', () => {
    assert.deepEqual([1e-6, 0.01, 1, 60, 1800, 3600].map(formatDuration), [
      '1 \u00b5s',
      '10 ms',
      '1 s',
      '1 min',
      '30 min',
      '1 h',
    ]);
    assert.deepEqual([0.0042, 0.9994, 0.9996, 59.96, 3599].map(formatMeasured), [
      '4.20 ms',
      '999 ms',
      '1.00 s',
      '1.00 min',
      '1.00 h',
    ]);
  });

  test('in the figure use the font that the project brings', () => {
    const folder = temporaryFolder();
    createSampleRun(folder).finish();
    assert.ok(GlobalFonts.has('Inter'));
    for (const dark of [false, true]) assert.match(chartTheme(dark).font, /^Inter,/);
  });
});

function readTable({ tables }: ReportFiles, name: string): string {
  const file = tables.find((table) => path.basename(table) === name);
  assert.ok(file !== undefined, name);
  return readFileSync(file, 'utf8');
}
