/**
 * The explorer's page in a real Chromium: each story gives the same log as in Node, line by line,
 * and the same verdict, on the engine without its rule and on the engine as it is; a newcomer's
 * first minute; three widths.
 */
import assert from 'node:assert/strict';
import { mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execaNode } from 'execa';
import type { Page } from 'playwright-core';
import { type OpenBrowser, openBrowser } from '../../../../results/report/testing/browser.ts';
import { assertRefused } from '../../../harness/testing/run-script.ts';
import { importWith } from '../../mutants/hunt.ts';
import { MUTANTS } from '../../mutants/mutants.ts';
import { planOf } from '../../simulation/index.ts';
import { COURSE } from '../course.ts';
import * as sound from '../engine.ts';
import { wholeStory, GALLERY } from '../gallery/index.ts';
import type { ExplorerEngine } from '../search.ts';
import { type RecordedSimulation, recordSimulation } from '../recording.ts';
import { buildPage, buildRecordedPage } from './build.ts';
import { readLink, writeLink } from './link.ts';

const MAIN = path.join(import.meta.dirname, '../main.ts');
const BYTES_MAX = 400_000;
const folder = mkdtempDisposableSync(path.join(os.tmpdir(), 'explorer-'));
const file = path.join(folder.path, 'explorer.html');
const address = pathToFileURL(file).href;
let open: OpenBrowser;
let html = '';

before(async () => {
  html = await buildPage();
  writeFileSync(file, html);
  open = await openBrowser();
});

after(async () => {
  await open[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function show(hash: string, width = 1400): Promise<Page> {
  const page = await open.browser.newPage({ viewport: { width, height: 900 } });
  await page.route(/^https?:/, (route) => route.abort());
  await page.goto(`${address}${hash}`);
  await page.waitForSelector('#next');
  return page;
}

/** What a story gives on an engine. */
async function told(
  engine: ExplorerEngine,
  name: string,
  choices: string,
): Promise<{ readonly log: readonly string[]; readonly claims: readonly string[] }> {
  const scenario = engine.SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
  const world = await engine.replay(scenario, engine.readChoices(choices));
  const log = [...world.log];
  const claims = (await engine.endAndJudge(world)).map(({ claim }) => claim);
  return { log, claims };
}

async function engineOf(mutant: string | undefined): Promise<ExplorerEngine> {
  const found = MUTANTS.find(({ name }) => name === mutant);
  if (found === undefined) return sound;
  return importWith<ExplorerEngine>(found, new URL('../engine.ts', import.meta.url));
}

test('the page is one file below 400 KB that names no host', () => {
  assert.ok(html.length < BYTES_MAX, `${html.length} bytes`);
  assert.doesNotMatch(html.replaceAll('http://www.w3.org/', ''), /\bhttps?:\/\/[a-z]/);
});

describe('each story is the same in Chromium as in Node:', () => {
  let page: Page;
  before(async () => {
    page = await show('');
  });

  for (const entry of GALLERY) {
    test(entry.name, async () => {
      for (const mutant of new Set([entry.mutant, undefined])) {
        const choices = wholeStory(entry);
        const here = await told(await engineOf(mutant), entry.scenario, choices);
        const there = await page.evaluate(
          `(${told.toString()})(explorer.load(${JSON.stringify(mutant)}), ${JSON.stringify(entry.scenario)}, ${JSON.stringify(choices)})`,
        );
        assert.deepEqual(there, here);
        if (mutant === undefined) assert.deepEqual(here.claims, []);
        else assert.ok(here.claims.includes(entry.convicted ?? ''), here.claims.join('; '));
      }
    });
  }
});

describe('a newcomer', () => {
  test('sees a crash and the clean-up by pressing one button', async () => {
    const page = await show('');
    while (await page.isEnabled('#next')) await page.click('#next');
    await page.waitForSelector('.verdict.good');
    assert.match((await page.textContent('#log')) ?? '', /dies[\s\S]*set bal:rollback@7/);
  });

  test('presses a button of a card without a mouse', async () => {
    const page = await show('#transfer/s0n4');
    const isThere = `document.activeElement.closest('.process') && document.activeElement.textContent === 'crash'`;
    for (let tabs = 0; tabs < 100 && (await page.evaluate(isThere)) !== true; tabs++) {
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.waitForFunction('location.hash === "#transfer/s0n4c0"');
    assert.match((await page.textContent('.process.dead')) ?? '', /start again/);
  });

  test('opens the reason of a line of the protocol without a mouse', async () => {
    const page = await show('');
    await page.focus('.figure summary');
    await page.keyboard.press('Enter');
    const reason = await page.waitForSelector('.figure details[open] p');
    assert.match((await reason.textContent()) ?? '', /\w{3}/);
  });

  test('steps with the arrow keys, and goes back', async () => {
    const page = await show('');
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    assert.match((await page.textContent('.count')) ?? '', /^4 of/);
  });

  test('takes over, and has a link to the own story', async () => {
    const page = await show('#transfer/s0n4');
    await page.click('.process .buttons button:text-is("crash")');
    await page.waitForFunction('location.hash === "#transfer/s0n4c0"');
    const other = await show('#transfer/s0n4c0');
    await other.waitForSelector('.process.dead');
    assert.match((await other.textContent('.count')) ?? '', /^6 of 6/);
  });

  test('takes a step of the course by doing it, and sees that it is done', async () => {
    const page = await show('#course-1');
    assert.match((await page.textContent('#says')) ?? '', /let the writer crash/);
    const [first] = COURSE;
    await page.goto(`${address}#course-1/${first?.solution.replace(/c0$/, '')}`);
    await page.waitForFunction('document.querySelector(".count").textContent === "6 of 6"');
    await page.click('.process .buttons button:text-is("crash")');
    await page.waitForSelector('.course .done');
    assert.match((await page.textContent('#says')) ?? '', /^Done\. /);
    await page.click('#on');
    await page.waitForFunction('location.hash === "#course-2/"');
    await page.click('#solve');
    await page.waitForSelector('.course .done:nth-child(2)');
  });

  test('has not done a step that another story, shown before, would have done', async () => {
    const solved = COURSE[0]?.solution ?? '';
    const page = await show(`#transfer/${solved}`);
    await page.waitForSelector('.process.dead');
    await page.goto(`${address}#course-1/s0n6`);
    await page.waitForSelector('.process.dead', { state: 'detached' });
    assert.match((await page.textContent('.count')) ?? '', /^7 of 7/);
    assert.equal(await page.$('.course .done'), null);
  });

  test('is told at each moment that a rule is missing, or on now', async () => {
    const page = await show('#transfer!prewrite-ignores-marker/');
    assert.match((await page.textContent('.badge')) ?? '', /^WITHOUT rule P1$/);
    assert.equal(await page.textContent('#next'), 'Next', 'there is nothing to begin');
    const story = await show('#late-prewrite-copy*');
    assert.match((await story.textContent('#says')) ?? '', /^Rule P1 is on now; without it: /);
  });

  test('sees the place of the present when choices are passed over', async () => {
    const page = await show('#transfer/s0f0s0s0f0');
    const x = await page.getAttribute('.diagram .now', 'x');
    const there = await show('#transfer/s0f0f0');
    assert.equal(x, await there.getAttribute('.diagram .now', 'x'));
  });

  test('sees a scan reach all rows of its table', async () => {
    const page = await show('#predicate/s0n2');
    const heights = await page.$$eval('.diagram g:last-of-type circle', (circles) =>
      circles.map((one) => one.getAttribute('cy')),
    );
    assert.equal(new Set(heights.slice(-2)).size, 2);
  });

  test('sees the shared locks of a cell in a column of their own, as locks', async () => {
    const page = await show('#shared-limit/s0f0f0f0s1f1f1f1f0f0f1f1');
    await page.waitForSelector('td.shared.lock .cell + .cell');
    const titles = await page.$$eval('.cells thead th', (all) => all.map((th) => th.textContent));
    assert.deepEqual(titles, ['cell', 'data', 'lock', 'write', 'shared lock']);
    const text = await page.textContent('.cells tr:has(td.shared.lock .cell)');
    assert.match(text ?? '', /^all\.limit.*of Ben\.drawn.*of Ann\.drawn$/);
  });

  test('sees the judge convict the engine without a rule, and not the one with it', async () => {
    const page = await show('#late-prewrite-copy');
    while (await page.isEnabled('#next')) await page.click('#next');
    await page.waitForSelector('.verdict.bad');
    assert.match((await page.textContent('#verdict')) ?? '', /half committed/);
    await page.click('#rule');
    while (await page.isEnabled('#next')) await page.click('#next');
    await page.waitForSelector('.verdict.good');
  });

  for (const width of [1400, 800, 360]) {
    test(`needs no scrolling to the side at ${width} pixels`, async () => {
      for (const hash of ['#late-prewrite-copy', '#course-1/s0n3']) {
        const page = await show(hash, width);
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(wide <= width, `${hash}: ${wide} pixels`);
      }
    });
  }
});

describe('a recorded run of the simulator', () => {
  let recording: RecordedSimulation;
  before(async () => {
    recording = await recordSimulation(planOf(6));
  });

  test('is stepped through, with its cells, messages and deaths', async () => {
    const { pictures } = recording.story;
    assert.ok(pictures.some(({ log }) => log.some((line) => /set c:lock@/.test(line))));
    const recorded = path.join(folder.path, 'recorded.html');
    writeFileSync(recorded, await buildRecordedPage(recording));
    const page = await open.browser.newPage({ viewport: { width: 360, height: 900 } });
    await page.goto(pathToFileURL(recorded).href);
    await page.waitForSelector('.verdict.good');
    for (let steps = 0; steps < 3; steps++) await page.click('#next');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.textContent('.count'), `4 of ${pictures.length - 1}`);
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(wide <= 360, `${wide} pixels`);
    const seen = pictures.slice(0, 5).flatMap(({ log }) => log);
    assert.equal(await page.textContent('#log'), seen.join('\n'));
    assert.equal(await page.$('.process .buttons'), null, 'nothing can be chosen');
  });

  test('draws what happened to each message', () => {
    const { story } = recording;
    const kinds = new Set(story.events.map(({ kind }) => kind));
    assert.ok(kinds.has('deliver'));
    assert.ok(kinds.has('give up') || kinds.has('lose answer'));
    for (const [i, { step, message }] of story.events.entries()) {
      assert.equal(step, i + 1);
      assert.ok((message?.sentAt ?? 0) <= step);
    }
  });
});

describe('a link', () => {
  const links = [
    '#figure-4',
    '#figure-4*',
    '#transfer/',
    '#transfer/s0n5',
    '#transfer!no-fence/s0c0',
    '#course-3/s0',
  ];
  for (const link of links) {
    test(`${link} is read and written back`, () => {
      const shown = readLink(link);
      assert.equal(shown && writeLink(shown), link);
    });
  }

  const refused = {
    '#nosuch': /no story nosuch/,
    '#nosuch/s0': /no scenario nosuch/,
    '#transfer/q1': /"q1"/,
    '#transfer/99': /"99"/,
    '#transfer!nosuch/s0': /no mutant nosuch/,
    '#transfer/n99999999999': /"n99999999999"/,
  };

  test('that names nothing is refused by the script', async () => {
    const words = ['--no-open', '--out', folder.path, '--link'];
    const mistakes = Object.entries(refused).map(([link, why]) => [[...words, link], why] as const);
    await assertRefused(MAIN, mistakes);
  });

  test('that names nothing shows the first story on the page', async () => {
    const page = await show('#transfer/');
    for (const link of Object.keys(refused)) {
      await page.goto(`${address}${link}`);
      await page.waitForFunction('location.hash === "#crash-before-commit"');
      assert.equal(await page.textContent('h2'), 'A writer dies before the commit point', link);
    }
  });

  test('of the script is the one that the page writes, and its page is the same', async () => {
    const words = ['--no-open', '--out', folder.path, '--link', 'transfer/s0n5'];
    const { stdout } = await execaNode(MAIN, words);
    assert.match(stdout, /explorer\.html#transfer\/s0n5$/);
    assert.equal(readFileSync(file, 'utf8'), html);
    assert.deepEqual(readLink('transfer/s0n5'), readLink('#transfer/s0n5'));
  });

  test('that no page has written is not read', () => {
    for (const link of ['', '#', '#a b', '#A/s0', '#a/b/c', '#a!/s0']) {
      assert.equal(readLink(link), undefined, link);
    }
  });
});
