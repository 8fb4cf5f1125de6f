/**
 * A run with `--watch`, seen by a browser, and by viewers that behave badly. The page goes on with
 * the run, and is its report when the run ends.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execaNode } from 'execa';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { openBrowser, type OpenBrowser } from '../../../results/report/testing/browser.ts';

const SCRIPT = new URL('watched.fixture.ts', import.meta.url);

describe('a run with --watch', () => {
  let opened: OpenBrowser;
  before(async () => {
    opened = await openBrowser();
  });
  after(() => opened[Symbol.asyncDispose]());

  async function openPage(url: string): Promise<{ page: Page; complaints: string[] }> {
    const page = await opened.browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(url);
    return { page, complaints };
  }

  test('is a page that goes on, also when it is opened again, and is the report at the end', async () => {
    const run = await startRun();
    const first = await openPage(run.url);
    await until(first.page, hasPoints('live-throughput', 'things done', 2));
    const seen = await first.page.evaluate<Chart>(chartNamed('live-throughput'));
    await first.page.close();

    const { page, complaints } = await openPage(run.url);
    const again = await page.evaluate<Chart>(chartNamed('live-throughput'));
    assert.deepEqual(beginnings(again), beginnings(seen));
    await until(page, hasPoints('live-observers', 'committed', 1));
    await until(page, hasPoints('live-latency', 'a thing, median', 2));
    const { length } = beginnings(seen);
    await until(page, hasPoints('live-throughput', 'things done', length + 2));
    assert.match(await page.locator('.headline').innerText(), /^1 rows were found/);

    run.finish();
    assert.equal((await run.child).exitCode, 0);
    await until(page, HAS_ENDED);
    const live = await page.evaluate<Shown>(SHOWN);
    const report = await openPage(pathToFileURL(path.join(run.out, 'report.html')).href);
    assert.deepEqual(live, await report.page.evaluate<Shown>(SHOWN));
    assert.match(live.text, /3 rows were found/);
    assert.deepEqual(await page.evaluate(FILE_LINKS), [], 'its server has no files');
    assert.notDeepEqual(await report.page.evaluate(FILE_LINKS), []);
    assert.deepEqual([...complaints, ...report.complaints], []);
  });

  test('ends in good time if a viewer reads nothing, or is cut off', async () => {
    const run = await startRun();
    const { hostname, port } = new URL(run.url);
    const deaf = connect(Number(port), hostname).pause();
    const cutOff = connect(Number(port), hostname);
    for (const socket of [deaf, cutOff]) {
      socket.on('error', () => {});
      socket.write(`GET /events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    }
    await once(cutOff, 'data');
    cutOff.destroy();
    run.finish();
    const { exitCode, stderr } = await run.child;
    assert.equal(exitCode, 0, stderr);
    deaf.destroy();
  });

  test('keeps its seconds in the record, and its page is the report, if ctrl-C ends it', async () => {
    const run = await startRun();
    const { page } = await openPage(run.url);
    await until(page, hasPoints('live-throughput', 'things done', 1));
    run.child.kill('SIGINT');
    assert.equal((await run.child).exitCode, 130);
    await until(page, HAS_ENDED);
    assert.match(await page.locator('.limitations').innerText(), /The run did not finish/);
    const { state, timeline, commandLine } = readRunRecord(run.out);
    assert.equal(state, 'interrupted');
    assert.doesNotMatch(commandLine, /--watch/);
    const events = timeline?.events.map(({ label }) => label);
    assert.deepEqual(events, ['before the middle', 'the middle']);
  });

  test('answers no other site, and refuses a port that is taken', async () => {
    const run = await startRun();
    const { port } = new URL(run.url);
    const other = startScript(['--watch', port]);
    const { exitCode, stderr } = await other.child;
    assert.equal(exitCode, 2);
    assert.match(stderr, /^Port \d+ of \S+ is in use; --watch names another\.$/m);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(String(answer), /^HTTP\/1\.1 421 /);
    run.finish();
    assert.equal((await run.child).exitCode, 0);
  });
});

function startScript(words: readonly string[]) {
  const out = path.join(temporaryFolder(), 'run');
  const go = `${out}.go`;
  const child = execaNode(SCRIPT, [...words, '--go', go, '--out', out], { reject: false });
  return { child, out, finish: () => writeFileSync(go, '') };
}

async function startRun() {
  const script = startScript(['--watch']);
  let said = '';
  const told = new Promise<string>((resolve, reject) => {
    script.child.stderr.on('data', (text: Buffer) => {
      said += String(text);
      const [, url] = /(http:\S+)\n/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
    void script.child.then(() => reject(new Error(`no address was told: ${said}`)));
  });
  return { ...script, url: await told };
}

/** The policy of the page forbids what `page.waitForFunction` does with a text. */
async function until(page: Page, condition: string): Promise<void> {
  while ((await page.evaluate(condition)) !== true) await page.waitForTimeout(50);
}

const HAS_ENDED = `document.getElementById('live').textContent.includes('ended')`;

type Chart = readonly {
  readonly label: string;
  readonly data: readonly { x: number; y: number | null }[];
}[];

/** What a reader of the page sees, in words and in curves. */
interface Shown {
  readonly text: string;
  readonly charts: readonly Chart[];
}

const DATASETS = `.data.datasets.map(({ label, data }) => ({
  label,
  data: data.map(({ x, y }) => ({ x, y: Number.isNaN(y) ? null : y })),
}))`;

const SHOWN = `({
  text: document.querySelector('main').textContent.replaceAll(/\\s+/g, ' '),
  charts: [...document.querySelectorAll('canvas')].map((canvas) => Chart.getChart(canvas)${DATASETS}),
})`;

const FILE_LINKS = `[...document.querySelectorAll('main a[href]')]
  .map((link) => link.getAttribute('href')).filter((to) => !/^(?:#|https?:)/.test(to))`;

function chartNamed(name: string): string {
  return `Chart.getChart(${JSON.stringify(name)})${DATASETS}`;
}

function hasPoints(chart: string, label: string, points: number): string {
  const named = JSON.stringify(chart);
  return `document.getElementById(${named}) !== null && Chart.getChart(${named})?.data.datasets
    .some(({ label, data }) => label === ${JSON.stringify(label)} && data.length >= ${points})`;
}

/** The first points of a chart: those that every later page must have. */
function beginnings(chart: Chart) {
  return chart.find(({ label }) => label === 'things done')?.data.slice(0, 2) ?? [];
}
