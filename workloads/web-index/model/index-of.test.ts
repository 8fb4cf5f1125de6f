/** Claims about the judge: small crawls whose index is known, and the sample. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { type Capture, finalRank, indexOf, readCaptures, type WebIndex } from './index.ts';
import { convergedRanks } from './page-rank.ts';
import { pageCapture } from './warc.fixture.ts';

const at = (name: string): string => `http://a.example/${name}`;
const link = (name: string, text = name): string => `<a href="/${name}">${text}</a>`;
const page = (name: string, html: string): Capture => pageCapture(at(name), html);
const gone = (name: string): Capture => pageCapture(at(name), '', { status: 404 });
const redirect = (from: string, to: string): Capture =>
  pageCapture(at(from), '', { status: 301, location: `/${to}` });

const served = (index: WebIndex): readonly string[] =>
  [...index.served.keys()].map((url) => url.replace(at(''), '')).toSorted();

test('of pages with equal contents the one with the highest rank is served, with all anchors', () => {
  const index = indexOf([
    page('a', 'Same'),
    page('b', 'Same'),
    page('x', link('a', 'to a')),
    page('y', link('b', 'to b') + link('a', 'to a')),
    page('z', link('b', 'to b')),
    page('w', link('b')),
  ]);
  assert.deepEqual(index.served.get(at('b')), {
    url: at('b'),
    title: '',
    text: 'Same',
    language: '',
    anchors: [
      { text: 'b', count: 1 },
      { text: 'to a', count: 2 },
      { text: 'to b', count: 2 },
    ],
    duplicates: [at('a')],
    rank: 0.5,
    capturedMs: 0,
  });
  assert.ok(!index.served.has(at('a')));
});

test('of equal ranks the first URL is served', () => {
  assert.deepEqual(served(indexOf([page('b', 'Same'), page('a', 'Same')])), ['a']);
});

test('a later capture replaces, removes or redirects; an error of the server changes nothing', () => {
  const first = [page('a', 'One'), page('b', 'Two')];
  assert.deepEqual(served(indexOf([...first, gone('a')])), ['b']);
  assert.deepEqual(served(indexOf([...first, redirect('a', 'b')])), ['b']);
  const error = pageCapture(at('a'), '', { status: 500 });
  assert.deepEqual(served(indexOf([...first, error])), ['a', 'b']);
  const again = indexOf([...first, page('a', 'Three')]);
  assert.equal(again.served.get(at('a'))?.text, 'Three');
});

test('the order of captures is that of their times, whatever the order of the input', () => {
  const late = pageCapture(at('a'), 'Late', { timeMs: 2 });
  const early = pageCapture(at('a'), 'Early', { timeMs: 1 });
  assert.equal(indexOf([late, early]).served.get(at('a'))?.text, 'Late');
});

test('a link to a redirect counts for the page where the redirects end, and for none if they go in a circle', () => {
  const index = indexOf([
    page('x', link('r') + link('s') + link('t') + link('c')),
    redirect('r', 's'),
    redirect('s', 'end'),
    redirect('t', 'lost'),
    redirect('c', 'd'),
    redirect('d', 'c'),
    page('end', 'End'),
  ]);
  assert.deepEqual(
    index.served.get(at('end'))?.anchors.map(({ text }) => text),
    ['r', 's'],
  );
  assert.deepEqual(index.sources.get(at('end')), [at('x'), at('x')]);
});

test('a page with more links gives less to each', () => {
  const index = indexOf([
    page('few', link('a')),
    page('many', `${link('b')}${link('c')}${link('nowhere')}`),
    page('a', 'A'),
    page('b', 'B'),
  ]);
  const rank = (name: string): number => finalRank(index.pages.get(at(name))?.ranks);
  assert.ok(rank('a') > rank('b'));
  assert.ok(Math.abs(rank('a') - (0.15 + 0.85 * 0.15)) < 0.01);
  assert.ok(Math.abs(rank('b') - (0.15 + (0.85 * 0.15) / 3)) < 0.01);
});

test('ranks of the sample are within 4 % of the limit that they approximate', async () => {
  const file = path.join(
    import.meta.dirname,
    '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
  );
  const captures = await Array.fromAsync(readCaptures([file], { onDamage: () => {} }));
  const { pages, sources, clusters } = indexOf(captures);
  assert.equal(clusters.size, 221);
  const limits = convergedRanks(sources, (url) => pages.get(url)?.processed.links.length ?? 0);
  const errors = [...limits].map(([url, limit]) =>
    Math.abs(finalRank(pages.get(url)?.ranks) / limit - 1),
  );
  assert.equal(errors.length, 442);
  assert.ok(Math.max(...errors) < 0.04, `${Math.max(...errors)}`);
});

test('in a circle of links, out of which no rank leaks, more than three quarters of the limit 1 are found', () => {
  const index = indexOf([page('a', link('b')), page('b', link('c')), page('c', `C${link('a')}`)]);
  for (const { ranks } of index.pages.values()) assert.ok(finalRank(ranks) > 0.75);
});
