/** Claims about single steps of the pipeline: what runs, and what does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capture } from '../model/index.ts';
import { pageCapture } from '../model/warc.fixture.ts';
import { SimulatedIndex } from './simulation.fixture.ts';

const at = (name: string): string => `http://a.example/${name}`;
const stylesheet = (css: string): Capture =>
  pageCapture(at('s.css'), css, { contentType: 'text/css' });
const link = (name: string): string => `<a href="/${name}">${name}</a>`;

/** Runs of each observer since a moment, as `observer: row row`. */
function runsSince(index: SimulatedIndex, start: number): Readonly<Record<string, string>> {
  const runs = Map.groupBy(index.runs.slice(start), ({ observer }) => observer);
  const names = (rows: readonly { readonly row: string }[]): string =>
    [...new Set(rows.map(({ row }) => row.replace(at(''), '')))].toSorted().join(' ');
  return Object.fromEntries([...runs].map(([observer, rows]) => [observer, names(rows)]));
}

/** Pages 1 to 3 include the stylesheet, and 4 to 6 do not. */
async function styledIndex(): Promise<{ index: SimulatedIndex; captures: Capture[] }> {
  const index = await SimulatedIndex.open({ seed: 1, processes: 1 });
  const head = '<link rel="stylesheet" href="/s.css">';
  const captures = [1, 2, 3, 4, 5, 6].map((n) =>
    pageCapture(at(`${n}`), `${n <= 3 ? head : ''}<p class="menu">Menu</p>${link('1')} ${n}`),
  );
  captures.push(stylesheet('p { color: red }'));
  await index.load(captures);
  await index.rest();
  return { index, captures };
}

test('when a stylesheet changes, only pages that include it are rendered again, and they move on', async () => {
  const { index, captures } = await styledIndex();
  const start = index.runs.length;
  captures.push(stylesheet('.menu { display: none }'));
  await index.load(captures.slice(-1));
  await index.rest();
  const { renderer, clustering, ...others } = runsSince(index, start);
  assert.deepEqual([renderer, clustering], ['1 2 3', '1 2 3']);
  assert.deepEqual([others['document-processor'], others['resource-watcher']], ['s.css', 's.css']);
  // Links and ranks do not depend on what is to be seen.
  for (const observer of ['link-inversion', 'collector', 'ranker', 'rank-spreader']) {
    assert.equal(others[observer], undefined);
  }
  assert.deepEqual([others['anchor-placer'], others['exporter']], ['1 2 3', '1 2 3']);
  assert.deepEqual(await index.checkAtRest(captures), []);
  assert.equal(index.serving.pages.get(at('2'))?.text, '1 2');
  await index.close();
});

test('when a stylesheet changes nothing visible, its pages are rendered again, and none is exported', async () => {
  const { index, captures } = await styledIndex();
  const start = index.runs.length;
  captures.push(stylesheet('.menu { display: block }'));
  await index.load(captures.slice(-1));
  await index.rest();
  const { publisher, ...others } = runsSince(index, start);
  assert.deepEqual(others, {
    'document-processor': 's.css',
    'resource-watcher': 's.css',
    renderer: '1 2 3',
  });
  assert.equal(publisher, '1 2 3'); // It finds that all is served already.
  await index.close();
});

test('a recrawl of an unchanged page changes only the time of its capture', async () => {
  const { index, captures } = await styledIndex();
  const start = index.runs.length;
  const again = { ...(captures[3] as Capture), timeMs: 1_000, ordinal: 1_000 };
  await index.load([again]);
  await index.rest();
  assert.deepEqual(runsSince(index, start), {
    'document-processor': '4',
    publisher: '4',
    exporter: '4',
  });
  assert.equal(index.serving.pages.get(at('4'))?.capturedMs, 1_000);
  await index.close();
});

test('a page whose charset alone has changed is rendered again', async () => {
  const index = await SimulatedIndex.open({ seed: 1, processes: 1 });
  const body = Buffer.from('Gr\xFC\xDFe', 'latin1');
  const captures = ['iso-8859-1', 'windows-1251'].map((charset) =>
    pageCapture(at('a'), '', { contentType: `text/html; charset=${charset}`, body }),
  );
  for (const capture of captures) {
    await index.load([capture]);
    await index.rest();
  }
  assert.deepEqual(await index.checkAtRest(captures), []);
  assert.equal(index.serving.pages.get(at('a'))?.text, 'GrьЯe');
  await index.close();
});

test('anchors move when another page becomes canonical, and back', async () => {
  const index = await SimulatedIndex.open({ seed: 1, processes: 1 });
  const captures = [
    pageCapture(at('a'), 'Same'),
    pageCapture(at('b'), 'Same'),
    pageCapture(at('x'), `X ${link('a')}`),
  ];
  const anchorsOf = (name: string): string | undefined =>
    index.serving.pages
      .get(at(name))
      ?.anchors.map(({ text }) => text)
      .join();
  await index.load(captures);
  await index.rest();
  assert.deepEqual([anchorsOf('a'), anchorsOf('b')], ['a', undefined]);
  for (const name of ['y', 'z']) captures.push(pageCapture(at(name), `${name} ${link('b')}`));
  await index.load(captures.slice(-2));
  await index.rest();
  assert.deepEqual([anchorsOf('a'), anchorsOf('b')], [undefined, 'a,b']);
  for (const name of ['y', 'z']) captures.push(pageCapture(at(name), '', { status: 404 }));
  await index.load(captures.slice(-2));
  await index.rest();
  assert.deepEqual([anchorsOf('a'), anchorsOf('b')], ['a', undefined]);
  assert.deepEqual(await index.checkAtRest(captures), []);
  await index.close();
});
