/** The search page in a real browser, and its server, with a crawl that means harm. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '#engine/testing';
import { UsageError } from '#results';
import { type OpenBrowser, openBrowser } from '../../../results/report/testing/browser.ts';
import type { ServedPage } from '../model/index.ts';
import { openServingIndex } from '../serving/sqlite-index.ts';
import type { ServingIndex } from '../serving/serving-index.ts';
import { LoadProgress } from '../loading/load-status.ts';
import { openSearchServer, type SearchServer } from './search-server.ts';

const WIDE = { width: 1200, height: 900 };
const NARROW = { width: 360, height: 740 };
const MARKUP = `"'><script>window.harmed = true</script><img src=x onerror="window.harmed = true">&amp;`;
const ENDLESS = 'm'.repeat(3_000);
/** Turns the direction of what is after it. */
const TURNED = '\u202Egnp.exe';

const HOSTILE: readonly Partial<ServedPage>[] = [
  {
    url: 'http://hostile.org/markup',
    title: `hostile ${MARKUP}`,
    text: `hostile ${MARKUP} </p></li></ol></main>`,
    language: 'en" onclick="window.harmed = true',
    anchors: [MARKUP, ENDLESS, TURNED].map((one) => ({ text: one, count: 1 })),
    duplicates: [
      'javascript:harm()',
      MARKUP,
      ...Array.from({ length: 500 }, (_, i) => `http://d/${i}`),
    ],
  },
  { url: 'javascript:window.harmed=true//hostile', title: 'hostile link' },
  { url: 'data:text/html,<script>alert(1)</script>', title: '', text: 'hostile data' },
  { url: `http://hostile.org/${ENDLESS}`, title: `hostile ${ENDLESS}`, text: `hostile ${ENDLESS}` },
  { url: 'http://hostile.org/turned', title: `hostile ${TURNED}`, text: `${TURNED} hostile` },
];
const MANY = 10_000;
/** The heights of the texts alone: a cell is as high as its row. */
const HEIGHTS_OF_NUMBERS = `Array.from(document.querySelectorAll('.number'), (cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return text.getBoundingClientRect().height;
})`;

/** Read in one step: between two steps the script of the page may replace the rows. */
const ROWS_OF_STATUS = `Array.from(document.querySelectorAll('#status tr'), (row) => row.innerText)`;

describe('the search page', () => {
  let opened: OpenBrowser;
  let server: SearchServer;
  let index: ServingIndex;
  const folder = temporaryFolder();
  const progress = new LoadProgress({
    state: 'loading',
    stages: [{ name: 'fetched', documents: 40 }],
  });

  before(async () => {
    index = await openServingIndex(folder);
    const many = Array.from({ length: MANY }, (_, i) => ({
      url: `https://many.org/${i}`,
      title: `Page ${i}`,
      text: 'many',
    }));
    await Promise.all([...HOSTILE, ...many].map((page) => index.put(pageOf(page), 1)));
    server = await openSearchServer({ index, progress });
    opened = await openBrowser();
  });
  after(async () => {
    await opened[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await index[Symbol.asyncDispose]();
  });

  /** Opens a page, runs `look`, and fails on any complaint, dialog, or request to another place. */
  async function withPage(
    path: string,
    look: (page: Page) => Promise<void>,
    options: { colorScheme?: 'dark'; viewport?: typeof WIDE } = {},
  ): Promise<void> {
    const context = await opened.browser.newContext({ viewport: WIDE, ...options });
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(`console: ${message.text()}`));
      page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
      page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
      page.on('request', (asked) => {
        const url = asked.url();
        if (!url.startsWith(server.url) && url !== 'data:,') complaints.push(`request: ${url}`);
      });
      await page.goto(server.url + path);
      await look(page);
      assert.equal(await page.evaluate('window.harmed'), undefined);
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  }

  test('shows what hostile pages hold as text, and links only to the web', async () => {
    await withPage('?q=hostile', async (page) => {
      const items = await page.locator('ol > li').all();
      assert.equal(items.length, HOSTILE.length);
      const titles = await page.locator('h3').allTextContents();
      assert.ok(
        titles.some((title) => title.trim() === `hostile ${MARKUP}`),
        titles.join('\n'),
      );
      const links = await page.locator('main a').all();
      const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
      assert.equal(hrefs.length, 3);
      assert.deepEqual(
        hrefs.filter((href) => !href?.startsWith('http://hostile.org/')),
        [],
      );
      for (const link of links) assert.match((await link.getAttribute('rel')) ?? '', /noopener/);
      await page.locator('summary').click();
      const duplicates = await page.locator('details li').allTextContents();
      assert.deepEqual(duplicates.slice(0, 2), ['javascript:harm()', MARKUP]);
      assert.equal(duplicates.at(-1), 'and 482 more');
      for (const item of items) await item.click({ position: { x: 2, y: 2 } });
    });
  });

  test('shows a hostile query as text, in the box, the title and the links to other pages', async () => {
    const query = `many ${MARKUP}`;
    await withPage(`?q=${encodeURIComponent(query)}`, async (page) => {
      assert.equal(await page.locator('#query').inputValue(), query);
      assert.match(await page.title(), /^many "'><script>/);
      assert.match(await page.locator('.note').innerText(), /No page has all of the words/);
      await page.locator('a[rel=next]').click();
      assert.equal(await page.locator('#query').inputValue(), query);
    });
  });

  for (const path of [
    '',
    '?q=hostile',
    '?q=many&page=500',
    '?q=nothingness',
    '?q=many&page=5000',
  ]) {
    test(`fits on a telephone, in light and in dark: /${path}`, async () => {
      for (const scheme of [{}, { colorScheme: 'dark' }] as const) {
        await withPage(
          path,
          async (page) => {
            for (const fold of await page.locator('summary').all()) await fold.click();
            assert.equal(await page.evaluate('document.documentElement.scrollWidth'), NARROW.width);
            const background = await page.evaluate(
              'getComputedStyle(document.body).backgroundColor',
            );
            const expected = 'colorScheme' in scheme ? 'rgb(22, 25, 31)' : 'rgb(255, 255, 255)';
            assert.equal(background, expected);
          },
          { viewport: NARROW, ...scheme },
        );
      }
    });
  }

  test('works with the keyboard alone', async () => {
    await withPage('', async (page) => {
      await page.locator('#query:focus').waitFor();
      await page.keyboard.type('many');
      await page.keyboard.press('Enter');
      await page.locator('ol').waitFor();
      await page.keyboard.press('/');
      assert.equal(await page.evaluate('document.activeElement.id'), 'query');
      await page.keyboard.press('/');
      assert.equal(await page.locator('#query').inputValue(), '/', 'in the box it is a letter');
      await page.keyboard.press('Tab'); // The button.
      await page.keyboard.press('Tab');
      assert.match(String(await page.evaluate('document.activeElement.href')), /^https:\/\/many/);
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
      assert.equal(outline, 'solid');
      const toNext = page.locator('a[rel=next]');
      await toNext.focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(/page=2$/);
    });
  });

  test('of ten thousand results shows ten, and links to the first, the last and the neighbouring pages of results', async () => {
    await withPage('?q=many', async (page) => {
      assert.match(await page.locator('.note').innerText(), /^10,000 pages so far, 1 to 10 /);
      const numbers = async (): Promise<string> =>
        (await page.locator('nav li').allInnerTexts()).join(' ');
      assert.equal(await numbers(), '1 2 … 1,000 Next');
      await page.getByRole('link', { name: 'Page 1,000' }).click();
      assert.equal(await numbers(), 'Previous 1 … 999 1,000');
      assert.match(await page.locator('.note').innerText(), /9,991 to 10,000 /);
      assert.equal(await page.locator('ol').getAttribute('start'), '9991');
    });
    await withPage('?q=many&page=1001', async (page) => {
      await page.getByRole('link', { name: 'To the last page, 1,000' }).click();
      assert.equal(await page.locator('ol > li').count(), 10);
    });
    await withPage('?q=many&page=-1', async (page) => {
      assert.equal(await page.locator('[aria-current=page]').innerText(), '1');
    });
  });

  test('cuts a long query, and says so', async () => {
    await withPage(`?q=${'many+'.repeat(1_000)}`, async (page) => {
      assert.match(await page.locator('.note').innerText(), /Only the first 1,000 characters/);
      assert.equal((await page.locator('#query').inputValue()).length, 1_000);
    });
    assert.equal((await ask({ path: `/?q=${'many+'.repeat(20_000)}` })).statusCode, 431);
  });

  test('without a query says how many pages can be searched, as they come', async () => {
    const look = async (page: Page): Promise<void> => {
      const stages = [
        { name: 'a name of several words', documents: 123_456 },
        { name: 'searchable', documents: 7 },
      ];
      progress.update({ stages });
      await page.getByText('7 pages can be searched so far.').waitFor();
      // No number is broken over lines.
      const heights = await page.evaluate<readonly number[]>(HEIGHTS_OF_NUMBERS);
      assert.equal(heights.length, 2);
      assert.ok(Number(heights[0]) < 1.5 * Number(heights[1]), String(heights));
    };
    await withPage('', look, { viewport: NARROW });
    progress.update({ stages: [{ name: 'fetched', documents: 40 }] });
  });

  test('keeps its panel up to date while a crawl is loading', async () => {
    await withPage('?q=nothingness', async (page) => {
      assert.deepEqual(await page.evaluate(ROWS_OF_STATUS), ['fetched\t40\t']);
      assert.match(await page.locator('main').innerText(), /still loading/);
      const stages = [
        { name: 'fetched', documents: 1_100 },
        { name: '<b>searchable</b>', documents: 7 },
      ];
      progress.update({ stages });
      await page.locator('#status tr').nth(1).waitFor();
      const rows = ['fetched\t1,100\t', '<b>searchable</b>\t7\t'];
      assert.deepEqual(await page.evaluate(ROWS_OF_STATUS), rows);
      progress.update({ state: 'ready' });
      await page.getByRole('heading', { name: 'Loaded' }).waitFor();
      assert.match(await page.locator('main').innerText(), /Loading has ended since: search again/);
    });
    await withPage('', async (page) => {
      assert.equal(await page.locator('#status').isVisible(), false);
      assert.match(await page.locator('main').innerText(), /10,005 pages can be searched\./);
    });
  });

  test('says in words that a search failed, and goes on', async () => {
    const closed = await openServingIndex(temporaryFolder());
    await using broken = await openSearchServer({ index: closed, progress });
    await closed[Symbol.asyncDispose]();
    for (const path of ['/?q=a', '/?q=b']) {
      const answered = await ask({ port: new URL(broken.url).port, path });
      assert.equal(answered.statusCode, 500);
      assert.match(await text(answered), /The search failed[^]*database is not open/);
    }
  });

  describe('its server', () => {
    test('answers this machine by its own name, and no other: DNS rebinding reads nothing', async () => {
      const { port } = new URL(server.url);
      const answers = ['127.0.0.1', 'localhost', 'evil.example', '', '127.0.0.1.evil.example'].map(
        async (name) => (await ask({ headers: { host: `${name}:${port}` } })).statusCode,
      );
      assert.deepEqual(await Promise.all(answers), [200, 200, 421, 421, 421]);
      assert.equal(
        (await ask({ path: '/status', headers: { host: 'evil.example' } })).statusCode,
        421,
      );
      assert.equal((await ask({ path: 'http://evil.example/' })).statusCode, 404);
    });

    test('forbids scripts, frames and forms of others on every answer', async () => {
      for (const path of ['/', '/?q=hostile', '/nothing', '/status', '/page.js', '/style.css']) {
        const { headers } = await ask({ path });
        const policy = String(headers['content-security-policy']);
        assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
        assert.match(policy, /form-action 'self'; .*frame-ancestors 'none'/);
        assert.doesNotMatch(policy, /unsafe/);
        assert.equal(headers['x-content-type-options'], 'nosniff');
        assert.equal(headers['access-control-allow-origin'], undefined);
      }
    });

    test('refuses methods other than GET and HEAD, and other paths, and answers malformed queries', async () => {
      assert.equal((await ask({ method: 'POST' })).statusCode, 405);
      assert.equal(await text(await ask({ method: 'HEAD', path: '/?q=many' })), '');
      assert.equal((await ask({ method: 'HEAD', path: '/status' })).statusCode, 200);
      for (const path of ['/../search-server.ts', '/%2e%2e/package.json', '//', '/%', '/page']) {
        assert.equal((await ask({ path })).statusCode, 404, path);
      }
      for (const path of ['/?q=%', '/?q=%00', '/?q=%FF&page=1e9', '/?page=NaN&q=a&q=b']) {
        assert.equal((await ask({ path })).statusCode, 200, path);
      }
    });

    test('says in a sentence that its port is taken', async () => {
      const port = Number(new URL(server.url).port);
      await assert.rejects(openSearchServer({ index, progress, port }), (error) => {
        assert.ok(error instanceof UsageError);
        return /^Port \d+ of 127\.0\.0\.1 is in use; --port names another\.$/.test(error.message);
      });
    });
  });

  /** A request as no browser would make it. The status has no end, so it is only begun. */
  async function ask(options: RequestOptions): Promise<IncomingMessage> {
    const { port, hostname } = new URL(server.url);
    const asked = request({ hostname, port, agent: false, ...options }).end();
    const [answered] = (await once(asked, 'response')) as [IncomingMessage];
    if (options.path === '/status') asked.destroy();
    return answered;
  }
});

function pageOf(page: Partial<ServedPage>): ServedPage {
  const { url = '', title = '', text: words = '', language = '' } = page;
  const { anchors = [], duplicates = [] } = page;
  const whole = { url, title, text: words, language, anchors, duplicates };
  return { ...whole, rank: 1, capturedMs: Date.UTC(2026, 8, 1) };
}
