/**
 * The page of all figures and runs: what it shows of which run, and that it works in a browser like
 * every other page.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '../../../engine/testing/temporary-folder.ts';
import { type Point, pointsOf, pointsTable } from '../figure-7/points.ts';
import { readRunRecord } from '../record-file.ts';
import { REFERENCE_FOLDER } from '../run-folders.ts';
import type { ResultTable, RunRecord } from '../run-record.ts';
import { openBrowser, type OpenBrowser } from '../testing/browser.ts';
import { createFindingsRun } from '../testing/sample-findings.ts';
import { createSampleRun } from '../testing/sample-run.ts';
import { buildAll } from './all-page.ts';
import { claimsOf, type Finding } from './claims.ts';

const FIGURES = readdirSync(REFERENCE_FOLDER).filter((name) => /^figure-|^web-index$/.test(name));
const root = temporaryFolder();
let count = 0;

/** An empty folder for runs. */
function newRuns(): string {
  const folder = path.join(root, `runs-${count++}`, 'runs');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The page over the reference and these runs; it is next to the folder of runs. */
function pageOf(runs: string): { readonly file: string; readonly text: string } {
  const file = buildAll(path.dirname(runs), { runs, reference: REFERENCE_FOLDER });
  return { file, text: readFileSync(file, 'utf8') };
}

/** A copy of a reference run as if it were measured later. */
function addRun(runs: string, from: string, fields: Partial<RunRecord> = {}): string {
  const folder = path.join(runs, `copy-${count++}`);
  const reference = path.join(REFERENCE_FOLDER, from);
  cpSync(reference, folder, { recursive: true });
  const record = { ...readRunRecord(reference), startedAt: '2027-05-05T00:00:00.000Z', ...fields };
  writeFileSync(path.join(folder, 'run.json'), JSON.stringify(record));
  return path.basename(folder);
}

/** The record of figure 7 with other points; any other record as it is. */
function withPoints(
  record: RunRecord,
  change: (points: readonly Point[]) => readonly Point[],
): RunRecord {
  const { findings } = record;
  const tables = findings.tables.map((table) =>
    table.name === 'points' ? pointsTable(change(pointsOf(record))) : table,
  );
  return { ...record, findings: { ...findings, tables } };
}

describe('the page of all figures', () => {
  test('shows the reference where nothing was measured', () => {
    const { text } = pageOf(path.join(newRuns(), 'no-such-folder'));
    for (const name of FIGURES) {
      assert.ok(text.includes(`<section id="${name}">`), name);
      assert.match(text, new RegExp(`<canvas\\s+id="${name}-reference"`));
    }
    assert.equal(text.match(/It has not been measured here yet/g)?.length, FIGURES.length);
    assert.ok(!text.includes('Latest run here'));
  });

  test('shows the latest finished run of a figure, and its verdicts unless it is a smoke run', () => {
    const runs = newRuns();
    addRun(runs, 'figure-7', { startedAt: '2027-01-01T00:00:00.000Z' });
    const latest = addRun(runs, 'figure-7', { startedAt: '2027-02-01T00:00:00.000Z' });
    addRun(runs, 'figure-7', { startedAt: '2027-03-01T00:00:00.000Z', state: 'interrupted' });
    const { text } = pageOf(runs);
    assert.match(text, new RegExp(`<a href="runs/${latest}/report\\.html">Its page</a>`));
    assert.equal(text.match(/-latest"\s+role="img"/g)?.length, 1);
    assert.match(text, /<th scope="col"[^>]*>Latest judged run here<\/th>/);

    const smoke = newRuns();
    addRun(smoke, 'figure-7', { profile: 'smoke' });
    assert.match(pageOf(smoke).text, /<h3>Latest run here<\/h3>/);
    assert.doesNotMatch(pageOf(smoke).text, /<th scope="col"[^>]*>Latest judged run here<\/th>/);
  });

  test('judges the claims by the latest run that is not a smoke run', () => {
    const runs = newRuns();
    addRun(runs, 'figure-7', { startedAt: '2027-01-01T00:00:00.000Z' });
    const smoke = addRun(runs, 'figure-7', {
      startedAt: '2027-02-01T00:00:00.000Z',
      profile: 'smoke',
    });
    const { text } = pageOf(runs);
    assert.match(text, new RegExp(`<a href="runs/${smoke}/report\\.html">Its page</a>`));
    assert.match(text, /<th scope="col"[^>]*>Latest judged run here<\/th>/);
    assert.match(
      text,
      /The verdicts of this machine are those of each experiment’s latest run that is not a smoke run\./,
    );
  });

  test('lists damaged runs with the reason, and shows the run before them', () => {
    const runs = newRuns();
    const good = addRun(runs, 'figure-7', { startedAt: '2027-01-01T00:00:00.000Z' });
    const damaged = addRun(runs, 'figure-7', { startedAt: '2027-02-01T00:00:00.000Z' });
    writeFileSync(path.join(runs, damaged, 'run.json'), '{}');
    mkdirSync(path.join(runs, 'half'));
    writeFileSync(path.join(runs, 'half', 'run.json'), '{');
    const { text } = pageOf(runs);
    assert.match(text, new RegExp(`href="runs/${good}/report\\.html">Its page`));
    assert.match(text, /half[^]*?damaged[^]*?The run record .*half.* cannot be used/);
  });

  test('does not count a wall that no rate reached as a claim that does not hold', () => {
    const reference = newRuns();
    const record = readRunRecord(path.join(REFERENCE_FOLDER, 'figure-7'));
    const { findings } = withPoints(record, (points) =>
      points.filter(({ verdict }) => verdict === 'sustained'),
    );
    const copy = addRun(reference, 'figure-7', { findings });
    renameSync(path.join(reference, copy), path.join(reference, 'figure-7'));
    const file = buildAll(path.dirname(reference), { runs: newRuns(), reference });
    const [headline = ''] = /Of the paper’s [^<]*/.exec(readFileSync(file, 'utf8')) ?? [];
    assert.match(
      headline,
      /confirm 1 as stated and 1 in part .*; 0 do not hold here, and 8 are still open/,
    );
  });

  test('is the same, byte for byte, when it is made again', () => {
    const runs = newRuns();
    addRun(runs, 'figure-8');
    assert.equal(pageOf(runs).text, pageOf(runs).text);
  });

  test('links only to files that exist, also from folders with odd names', () => {
    const runs = newRuns();
    createFindingsRun(path.join(runs, 'a name? with #signs & 100 %')).finish();
    createSampleRun(path.join(runs, 'crawl')).finish();
    const { file, text } = pageOf(runs);
    const links = [...text.matchAll(/ href="([^"]+)"/g)].flatMap(([, link = '']) => link);
    const files = links.filter((link) => !/^(?:#|data:|https:)/.test(link));
    assert.ok(files.some((link) => link.includes('%3F')));
    for (const link of files) {
      const target = fileURLToPath(new URL(link, pathToFileURL(file)));
      assert.ok(readFileSync(target).length > 0, link);
    }
    for (const link of links.filter((one) => one.startsWith('#'))) {
      assert.ok(text.includes(`id="${link.slice(1)}"`), link);
    }
  });

  test('has every id once', () => {
    const runs = newRuns();
    for (const figure of FIGURES) addRun(runs, figure);
    const [body = ''] = pageOf(runs).text.split('<script');
    const ids = [...body.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(
      ids.filter((id, i) => ids.indexOf(id) < i),
      [],
    );
  });
});

describe('a verdict on a claim follows the number:', () => {
  const reference = new Map(
    FIGURES.map((name) => readRunRecord(path.join(REFERENCE_FOLDER, name))).map((record) => [
      record.experiment,
      record,
    ]),
  );
  const verdictsOf = (change: (record: RunRecord) => RunRecord): readonly (string | undefined)[] =>
    claimsOf(new Map([...reference].map(([name, record]) => [name, change(record)]))).map(
      ({ finding }) => finding?.verdict,
    );

  /** What the claims find in a record of the experiment with these tables. */
  const foundIn = (
    experiment: string,
    tables: readonly ResultTable[],
  ): readonly Omit<Finding, 'numbers'>[] => {
    const base = reference.get('micro');
    const findings = { ...base?.findings, tables };
    const record = { ...base, experiment, findings } as RunRecord;
    return claimsOf(new Map([[experiment, record]])).flatMap(({ finding }) =>
      finding === null ? [] : { measured: finding.measured, verdict: finding.verdict },
    );
  };

  test('nothing measured is no verdict', () => {
    assert.ok(claimsOf(new Map()).every(({ finding }) => finding === null));
    const empty = { tables: [], charts: [] };
    assert.ok(
      verdictsOf((record) => ({ ...record, findings: { ...record.findings, ...empty } })).every(
        (v) => !v,
      ),
    );
  });

  test('a Percolator slower than the batch, and a batch that slows down with the rate, do not hold', () => {
    const [wait, , flat] = verdictsOf((record) =>
      withPoints(record, (points) =>
        points.map((point) => {
          const { latency, system, ratePercentPerHour: rate } = point;
          if (latency === null) return point;
          const medianMs = system === 'percolator' ? 5000 : 1000 + 10 * rate;
          return { ...point, latency: { ...latency, medianMs } };
        }),
      ),
    );
    assert.deepEqual([wait, flat], ['does not hold', 'does not hold']);
  });

  test('a Percolator that keeps up at every rate has not reached its wall', () => {
    const [, wall] = verdictsOf((record) =>
      withPoints(record, (points) => points.filter(({ verdict }) => verdict === 'sustained')),
    );
    assert.equal(wall, 'not reached');
  });

  test('an invalid point of Percolator gives no verdict on its wall, or on the batch at that rate', () => {
    const [, wall, flat] = verdictsOf((record) =>
      withPoints(record, (points) =>
        points.map((point) =>
          point.system === 'percolator' ? { ...point, latency: null, verdict: 'invalid' } : point,
        ),
      ),
    );
    assert.deepEqual([wall, flat], [undefined, undefined]);
  });

  for (const { dip, back, found } of [
    { dip: 4.2, back: 18, found: ['a dip to 4 %, back after 18 s', 'holds'] },
    { dip: 0, back: 40.4, found: ['a dip to 0 %, back after 40 s', 'holds, later'] },
    { dip: 0, back: null, found: ['a dip to 0 %', 'does not hold'] },
  ]) {
    test(`a rate that is back ${back} s after a failure: ${found[1]}`, () => {
      const rows = [
        ['detected, after the failure', 6],
        ['95 % of the rate is back, after the failure', back],
        ['lowest second', dip],
      ] as const;
      const failure = { name: 'failure', title: '', caption: '', columns: ['what', 'value'], rows };
      const [claim] = foundIn('failover', [failure]);
      assert.deepEqual([claim?.measured, claim?.verdict], found);
    });
  }

  for (const { ratios, verdict } of [
    { ratios: [14.9, 0.9], verdict: 'holds, by less' },
    { ratios: [1, 0.9], verdict: 'does not hold' },
    { ratios: [15, 0.9], verdict: 'holds on the embedded store' },
  ]) {
    test(`a brokerage with ${ratios.join(' and ')} times a database's processor: ${verdict}`, () => {
      const columns = ['system', 'relative to functions'];
      const rows = ['embedded', 'emulator'].map((store, i) => [
        `Percolator, ${store}`,
        ratios[i] ?? null,
      ]);
      const cost = { name: 'cost', title: '', caption: '', columns, rows };
      const found = foundIn('brokerage', [cost]).map((finding) => finding.verdict);
      assert.deepEqual(found, [verdict]);
    });
  }

  for (const { noDelay, most, verdict } of [
    { noDelay: 4, most: 50, verdict: 'holds, by less' },
    { noDelay: 5, most: 38, verdict: 'not judged' },
  ]) {
    test(`results a quarter younger, with no delay ${most} %: ${verdict}; 300 operations a recrawl do not hold`, () => {
      const table = (name: string, columns: string[], rows: (string | number)[][]) => {
        return { name, title: '', caption: '', columns, rows };
      };
      const tables = [
        table(
          'age',
          ['system', 'mean age'],
          [
            ['observers', 6],
            ['batch', 8],
            ['no delay', noDelay],
          ],
        ),
        table(
          'cost',
          ['work', 'operations'],
          [
            ['observers, load', 400],
            ['observers, recrawls', 300],
          ],
        ),
      ];
      assert.deepEqual(foundIn('web-index', tables), [
        { measured: `by 25 %; with no delay by ${most} %`, verdict },
        { measured: '300 for a recrawl, 400 in a load', verdict: 'does not hold' },
      ]);
    });
  }

  test('what an operation costs next to a raw one is told of HBase first, then of the others', () => {
    const ratios = (stores: readonly string[], of: number): RunRecord => {
      const columns = ['store', 'operation', 'relative'];
      const rows = stores.map((store) => [store, 'read', of]);
      const table = { name: 'figure-8', title: '', caption: '', columns, rows };
      const base = reference.get('micro');
      const findings = { ...base?.findings, tables: [table] };
      return { ...base, findings } as RunRecord;
    };
    const micro = ratios(['embedded', 'emulator'], 0.7);
    const found = (records: readonly (readonly [string, RunRecord])[]) =>
      claimsOf(new Map(records)).flatMap(({ finding }) => finding ?? [])[0];
    assert.deepEqual(found([['micro', micro]]), {
      measured: 'emulator 0.70, embedded 0.70',
      verdict: 'does not hold on one machine',
      numbers: { emulator: 0.7, embedded: 0.7 },
    });
    const hbase = ['micro-hbase', ratios(['hbase'], 0.9)] as const;
    assert.deepEqual(found([['micro', micro], hbase]), {
      measured: 'HBase 0.90, emulator 0.70, embedded 0.70',
      verdict: 'holds on HBase',
      numbers: { hbase: 0.9, emulator: 0.7, embedded: 0.7 },
    });
  });
});

describe('index.html in a browser', () => {
  let opened: OpenBrowser;
  let file: string;
  before(async () => {
    const runs = newRuns();
    for (const figure of FIGURES) addRun(runs, figure);
    createSampleRun(path.join(runs, 'crawl')).finish();
    ({ file } = pageOf(runs));
    opened = await openBrowser();
  });
  after(() => opened[Symbol.asyncDispose]());

  async function withPage(
    options: { readonly width: number; readonly colorScheme: 'light' | 'dark' },
    look: (page: Page) => Promise<void>,
  ): Promise<void> {
    const { width, colorScheme } = options;
    await using context = await opened.browser.newContext({
      viewport: { width, height: 800 },
      colorScheme,
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!/^(?:file|data):/.test(request.url())) complaints.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    await page.evaluate('document.fonts.ready');
    await look(page);
    assert.deepEqual(complaints, []);
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`draws both runs of each figure, without a request, in ${colorScheme}`, async () => {
      await withPage({ width: 1400, colorScheme }, async (page) => {
        const drawn = await page.locator('canvas').evaluateAll(colorCounts);
        assert.equal(drawn.length, 2 * FIGURES.length);
        for (const { id, colors } of drawn) assert.ok(colors > 10, `${id} is drawn`);
      });
    });
  }

  test('switches a series of one run, not that of the other', async () => {
    await withPage({ width: 1400, colorScheme: 'light' }, async (page) => {
      const pictures = (): Promise<readonly string[]> =>
        page
          .locator('#figure-7 canvas')
          .evaluateAll((all) =>
            all.map((canvas) => (canvas as unknown as { toDataURL(): string }).toDataURL()),
          );
      const [reference, latest] = await pictures();
      await page.locator('input[data-chart="figure-7-latest"]').first().click();
      await page.waitForTimeout(300);
      const [sameReference, otherLatest] = await pictures();
      assert.equal(sameReference, reference);
      assert.notEqual(otherLatest, latest);
    });
  });

  test('fits on a telephone, where only tables scroll', async () => {
    await withPage({ width: 360, colorScheme: 'light' }, async (page) => {
      for (const fold of await page.locator('summary').all()) await fold.click();
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    });
  });
});

/** Runs in the browser. */
function colorCounts(canvases: readonly unknown[]): { id: string; colors: number }[] {
  interface Canvas {
    readonly id: string;
    readonly width: number;
    readonly height: number;
    getContext(kind: '2d'): {
      getImageData(...box: readonly number[]): { readonly data: Uint8ClampedArray };
    };
  }
  return (canvases as readonly Canvas[]).map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set<number>();
    for (let at = 0; at < data.length; at += 4) {
      colors.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
    }
    return { id: canvas.id, colors: colors.size };
  });
}
