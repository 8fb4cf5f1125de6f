/**
 * The pages in a real browser: they draw every chart without complaint, make no request, answer to
 * mouse and keyboard, and fit on a telephone.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import path from 'node:path';
import type { RunRecord } from './run-record.ts';
import { openBrowser, type OpenBrowser } from './testing/browser.ts';
import { createFindingsRun } from './testing/sample-findings.ts';
import { createSampleRun, SAMPLE_FIGURE_7 } from './testing/sample-run.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

const CHARTS = {
  crawlRate: ['figure-7', 'normalised', 'distribution', 'cost', 'backlog'],
  findings: ['relative', 'kinds'],
};
const WIDE = { width: 1400, height: 900 };
const NARROW = { width: 360, height: 740 };

describe('report.html in a browser', () => {
  const folder = temporaryFolder();
  let opened: OpenBrowser;
  let record: RunRecord;
  const files = { crawlRate: '', findings: '' };
  before(async () => {
    opened = await openBrowser();
    const run = createSampleRun(path.join(folder, 'crawl-rate'));
    files.crawlRate = run.finish().page;
    files.findings = createFindingsRun(path.join(folder, 'findings')).finish().page;
    ({ record } = run);
  });
  after(() => opened[Symbol.asyncDispose]());

  /** Opens a page, runs `look`, and fails on anything the browser complained about. */
  async function withPage(
    kind: 'crawlRate' | 'findings',
    options: { colorScheme?: 'light' | 'dark'; viewport: typeof WIDE },
    look: (page: Page) => Promise<void>,
  ): Promise<void> {
    const context = await opened.browser.newContext(options);
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(`console: ${message.text()}`));
      page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      const address = pathToFileURL(files[kind]).href;
      await page.goto(address);
      await page.evaluate('document.fonts.ready');
      await look(page);
      assert.deepEqual(complaints, []);
      const others = requests.filter((url) => url !== address && !url.startsWith('data:'));
      assert.deepEqual(others, []);
    } finally {
      await context.close();
    }
  }

  for (const kind of ['crawlRate', 'findings'] as const) {
    test(`draws every chart, in light and in dark (${kind})`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await withPage(kind, { colorScheme, viewport: WIDE }, async (page) => {
          const canvases = await page.locator('canvas').all();
          const drawn = canvases.map(async (canvas) => [
            await canvas.getAttribute('id'),
            await canvas.evaluate(colorsOf),
          ]);
          const found = Object.fromEntries(await Promise.all(drawn)) as Record<string, string[]>;
          assert.deepEqual(Object.keys(found), CHARTS[kind]);
          for (const [id, [background, ...others]] of Object.entries(found)) {
            assert.equal(background, colorScheme === 'dark' ? '22,25,31' : '255,255,255', id);
            assert.ok(others.length > 20, `${id} is drawn`);
          }
        });
      }
    });

    test(`fits on a telephone, where only tables scroll (${kind})`, async () => {
      await withPage(kind, { viewport: NARROW }, async (page) => {
        for (const fold of await page.locator('summary').all()) await fold.click();
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), NARROW.width);
        // A table of targets does not even scroll: its verdicts must not be cut off.
        for (const part of await page.locator('caption, .cards td').all()) {
          const box = await part.boundingBox();
          assert.ok(box !== null && box.x + box.width <= NARROW.width, await part.innerText());
        }
        // Labels that overlap cannot be read: no label of an axis may touch the next one.
        assert.deepEqual(await page.evaluate(CROWDED_AXES), []);
      });
    });
  }

  test('has a row for each rate, target and fact of the record', async () => {
    await withPage('crawlRate', { viewport: WIDE }, async (page) => {
      const rates = new Set(SAMPLE_FIGURE_7.points.map((point) => point.ratePercentPerHour));
      assert.equal(await page.locator('#table-figure-7 tbody tr').count(), rates.size);
      assert.equal(await page.locator('#table-targets tbody tr').count(), record.targets.length);
      const saturated = await page.locator('#table-figure-7 tbody tr').last().textContent();
      assert.match(saturated ?? '', /Percolator: saturated/);
      assert.equal(await page.locator('#table-duplicates tbody tr').count(), 2);
      const duplicates = await page.locator('#table-duplicates').textContent();
      assert.match(duplicates ?? '', /<\/script><script>alert\(1\)/);
      assert.match(await page.locator('#run').innerText(), /run\.sh .* --label '<b>&'/);
    });
  });

  test('shows the value and the sample count of the mark that the reader points at', async () => {
    await withPage('crawlRate', { viewport: WIDE }, async (page) => {
      assert.deepEqual(await hover(page, 'figure-7', 'Percolator, median', 0), [
        'Percolator, median',
        '0.00341 at 1',
        '0.0033 to 0.00354',
        '6,000 samples',
      ]);
    });
    await withPage('findings', { viewport: WIDE }, async (page) => {
      assert.deepEqual(await hover(page, 'relative', 'embedded', 0), [
        'embedded',
        '0.5 at one',
        '0.4 to 0.6',
        '40 samples',
      ]);
    });
  });

  test('switches a series with the keyboard, and saves the chart as a picture', async () => {
    await withPage('findings', { viewport: WIDE }, async (page) => {
      const canvas = page.locator('#relative');
      const picture = (): Promise<string> =>
        canvas.evaluate((element) => (element as unknown as Canvas).toDataURL());
      const all = await picture();
      await page.getByLabel('embedded').first().focus();
      await page.keyboard.press('Space');
      const without = await picture();
      assert.notEqual(without, all);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as PNG' }).first().click();
      assert.equal((await download).suggestedFilename(), 'relative.png');
      await page.keyboard.press('Shift+Tab');
      await page.getByLabel('embedded').first().focus();
      await page.keyboard.press('Space');
      assert.equal(await picture(), all);
    });
  });
});

/** The members of a browser's canvas that the functions sent to the page use. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  toDataURL(): string;
  getContext(kind: '2d'): {
    getImageData(x: number, y: number, width: number, height: number): { data: Uint8Array };
  };
}

/** The colours of a canvas, the most frequent one first. Runs in the page. */
function colorsOf(element: unknown): readonly string[] {
  const canvas = element as Canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const counts = new Map<string, number>();
  for (let at = 0; at < data.length; at += 4) {
    const color = `${data[at]},${data[at + 1]},${data[at + 2]}`;
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([color]) => color);
}

/** The charts whose labels of the horizontal axis overlap: measured as chart.js draws them. */
const CROWDED_AXES = `[...document.querySelectorAll('canvas')].flatMap((canvas) => {
  const { ctx, scales: { x } } = Chart.getChart(canvas);
  ctx.font = '600 13px Inter';
  const titles = [x.options.title.text].flat();
  if (titles.some((line) => ctx.measureText(line).width > x.width)) return [canvas.id + ' title'];
  ctx.font = '12px Inter';
  if (x.labelRotation > 0) return [];
  const boxes = x.ticks.map(({ label }, i) => {
    const widths = [label].flat().map((line) => ctx.measureText(line).width);
    const middle = x.getPixelForTick(i);
    return [middle - Math.max(...widths) / 2, middle + Math.max(...widths) / 2];
  });
  const crowded = boxes.some(([left], i) => i > 0 && left < boxes[i - 1][1] + 2);
  return crowded ? [canvas.id] : [];
})`;

/** Points at a mark of a series, and returns the words shown. */
async function hover(
  page: Page,
  id: string,
  series: string,
  mark: number,
): Promise<readonly string[]> {
  const canvas = page.locator(`#${id}`);
  await canvas.scrollIntoViewIfNeeded();
  const chart = `Chart.getChart(${JSON.stringify(id)})`;
  const position = await page.evaluate<{ x: number; y: number }>(`(() => {
    const index = ${chart}.data.datasets.findIndex(({ label }) => label === ${JSON.stringify(series)});
    const { x, y } = ${chart}.getDatasetMeta(index).data[${mark}];
    return { x, y };
  })()`);
  await canvas.hover({ position });
  // chart.js draws the words in the next frame.
  await page.waitForFunction(`${chart}.tooltip.opacity > 0`);
  return page.evaluate<readonly string[]>(
    `(({ title, body }) => [...title, ...body[0].lines])(${chart}.tooltip)`,
  );
}
