/** The report states the measured numbers: no more, no less, and the same each time. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { GlobalFonts } from '@napi-rs/canvas';
import * as fc from 'fast-check';
import { formatDuration, formatMeasured } from './charts/format.ts';
import { chartTheme } from './charts/theme.ts';
import { formatJudged } from './thresholds.ts';
import { limitations } from './page/run-page.ts';
import { html, inlineJson, inlineScript } from './page/html.ts';
import { buildReport, subtitle } from './report.ts';
import { createRun } from './run-in-progress.ts';
import { UsageError } from './usage-error.ts';
import { createSampleRun } from './testing/sample-run.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

describe('a report', () => {
  test('is the same, byte for byte, when it is built again', () => {
    const folder = temporaryFolder();
    const made = createSampleRun(folder).finish();
    const files = [...made.tables, ...made.figures, made.page];
    assert.equal(files.length, 9 + 5 + 5 + 1 + 1); // Tables, pictures twice, a dark one, the page.
    const before = files.map((file) => readFileSync(file));
    buildReport(folder);
    for (const [index, file] of files.entries()) {
      assert.ok(before[index]?.equals(readFileSync(file)), file);
    }
  });

  test('says under each picture whether this machine was measured, or virtual time', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    assert.match(subtitle(record), /^On this machine: .* store, \d+ cores, \d/);
    const both = { name: 'embedded, functions', durability: 'of each' };
    const compared = subtitle({ ...record, store: both });
    assert.match(compared, /^On this machine: .*embedded, functions, \d+ cores, \d/);
    const store = { name: 'virtual', durability: 'none' };
    const virtual = { ...record, store, parameters: { calibration: 'paper-2010' } };
    assert.match(subtitle(virtual), /^In virtual time: costs of paper-2010, \d/);
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
      const run = createRun(folder, { ...header, subject: texts, seed: 1, repeats: 1, store });
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

  test('links only to files that are in its folder', () => {
    const folder = temporaryFolder();
    const { page } = createSampleRun(folder).finish();
    const text = readFileSync(page, 'utf8');
    const links = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, to]) => to ?? '');
    const local = links.filter((to) => !/^(?:https:|#)/.test(to));
    for (const file of local) assert.ok(existsSync(path.join(folder, file)), file);
    for (const part of ['run.json', 'points.csv']) {
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

  test('says a judged number with so many digits that it shows its verdict', () => {
    const isMet = (value: number): boolean => value >= 0.98;
    assert.equal(formatJudged(0.97997, 3, isMet), '0.97997');
    assert.equal(formatJudged(0.9801, 3, isMet), '0.980');
    assert.equal(formatJudged(0.948, 3, isMet), '0.948');
    assert.equal(formatJudged(Number.NaN, 1, isMet), 'NaN');
  });

  test('names its limitations right after its main chart, before all else that was found', () => {
    const folder = temporaryFolder();
    const run = createSampleRun(folder);
    const words = limitations({ ...run.record, label: 'exploratory' }).join('\n');
    for (const part of ['did not finish', 'exploratory', 'One machine of two cores']) {
      assert.ok(words.includes(part), part);
    }
    const page = readFileSync(run.finish().page, 'utf8');
    const at = page.indexOf('<h2>Limitations</h2>');
    const [main = -1, second = -1] = Array.from(page.matchAll(/<canvas/g), ({ index }) => index);
    assert.ok(main >= 0 && main < at && at < second);
    assert.ok(at < page.indexOf('id="table-targets"'));
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
