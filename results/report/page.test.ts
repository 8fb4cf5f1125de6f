/** The page in a real browser: it draws every chart without complaint, and makes no request. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import type { RunRecord } from './run-record.ts';
import { openBrowser, type OpenBrowser } from './testing/browser.ts';
import { createSampleRun } from './testing/sample-run.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

const CHARTS = ['figure-7', 'normalised', 'distribution', 'cost', 'backlog'];

describe('report.html in a browser', () => {
  let opened: OpenBrowser;
  before(async () => {
    opened = await openBrowser();
  });
  after(() => opened[Symbol.asyncDispose]());

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`draws every chart without complaint (${colorScheme})`, async () => {
      await withReport(opened.browser, colorScheme, async ({ page }) => {
        const canvases = await page.locator('canvas').evaluateAll((all) => all.map(({ id }) => id));
        assert.deepEqual(canvases, CHARTS);
        for (const id of CHARTS) assert.ok((await inkOf(page, id)) > 5, `${id} is drawn`);
      });
    });
  }

  test('has a row for each rate, target and fact of the record', async () => {
    await withReport(opened.browser, 'light', async ({ page, record }) => {
      const rates = new Set(record.points.map((point) => point.ratePercentPerHour));
      assert.equal(await page.locator('#latencies tbody tr').count(), rates.size);
      assert.equal(await page.locator('#targets tbody tr').count(), record.targets.length);
      const saturated = page.locator('#latencies tbody tr').last();
      assert.match(await saturated.innerText(), /\u221e backlog grows 413 documents\/s/);
      assert.equal(await page.locator('.duplicates li').count(), 2);
      assert.match(await page.locator('.duplicates').innerText(), /<\/script><script>alert\(1\)/);
      assert.match(await page.locator('#run').innerText(), /--label '<b>&'/);
    });
  });

  test('redraws figure 7 when a box is unticked', async () => {
    await withReport(opened.browser, 'light', async ({ page }) => {
      const picture = (): Promise<string> =>
        page.locator('#figure-7').evaluate((canvas) => (canvas as unknown as Canvas).toDataURL());
      const all = await picture();
      await page.locator('#show-paper').uncheck();
      const withoutPaper = await picture();
      assert.notEqual(withoutPaper, all);
      await page.locator('#show-p99').uncheck();
      assert.notEqual(await picture(), withoutPaper);
      await page.locator('#show-median').uncheck();
    });
  });
});

/** Opens the sample's page, runs `look`, and fails on anything the browser complained about. */
async function withReport(
  browser: Browser,
  colorScheme: 'light' | 'dark',
  look: (opened: { page: Page; record: RunRecord }) => Promise<void>,
): Promise<void> {
  const folder = temporaryFolder();
  const run = createSampleRun(folder);
  const { page: file } = run.finish();
  const context = await browser.newContext({ colorScheme });
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));

    const address = pathToFileURL(file).href;
    await page.goto(address);
    await page.evaluate('document.fonts.ready');
    await look({ page, record: run.record });

    assert.deepEqual(complaints, []);
    assert.deepEqual(
      requests.filter((url) => url !== address && !url.startsWith('data:')),
      [],
    );
  } finally {
    await context.close();
  }
}

/** The members of a browser's canvas that the functions sent to the page use. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  toDataURL(): string;
  getContext(kind: '2d'): {
    getImageData(x: number, y: number, width: number, height: number): { data: Uint8Array };
  };
}

/** The share of the canvas's pixels that are drawn, in thousandths. */
function inkOf(page: Page, id: string): Promise<number> {
  return page.locator(`#${id}`).evaluate((element) => {
    const canvas = element as unknown as Canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const inked = data.filter((value, index) => index % 4 === 3 && value > 0).length;
    return (1000 * inked) / (canvas.width * canvas.height);
  });
}
