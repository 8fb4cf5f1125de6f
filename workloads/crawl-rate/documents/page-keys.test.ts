/** Claims about the page keys: which hand-made pages are the same document, and by which key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOfPage, Redirects } from './crawl.ts';
import { visibleText } from './visible-text.ts';
import type { Page } from './warc-records.ts';

const none = new Redirects();

function page(url: string, contents: string | Uint8Array, contentType = 'text/html'): Page {
  return { kind: 'page', url, contentType, contents: Buffer.from(contents) };
}

function textOf(html: string | Uint8Array, contentType = 'text/html'): string {
  return visibleText(Buffer.from(html), contentType);
}

test('the same bytes at two addresses share keys 1 and 2, not 3', () => {
  const [one, other] = ['http://a.example/1', 'http://a.example/2'].map((url) =>
    keysOfPage(page(url, '<p>Hello'), none),
  );
  assert.equal(one?.[0], other?.[0]);
  assert.equal(one?.[1], other?.[1]);
  assert.notEqual(one?.[2], other?.[2]);
});

test('the same words in other markup share only key 2', () => {
  const one = keysOfPage(page('http://a.example/1', '<p>Hello  <b>world</b></p>'), none);
  const other = keysOfPage(page('http://a.example/2', '<div>Hello\nworld<script>x</script>'), none);
  assert.notEqual(one[0], other[0]);
  assert.equal(one[1], other[1]);
});

test('other words at the same address share only key 3', () => {
  const one = keysOfPage(page('http://www.a.example/', 'monday'), none);
  const other = keysOfPage(page('https://a.example/index.html', 'tuesday'), none);
  assert.notEqual(one[0], other[0]);
  assert.notEqual(one[1], other[1]);
  assert.equal(one[2], other[2]);
});

test('a page that says in ASCII letters that it is in UTF-16 is read as UTF-8, as in browsers', () => {
  for (const name of ['utf-16', 'unicode', 'utf-16be']) {
    assert.equal(textOf(`<meta charset="${name}"><p>Gr\u00fc\u00dfe`), 'Gr\u00fc\u00dfe', name);
  }
});

test('pages without visible text are not all one document', () => {
  const [one, other] = ['<img src=a>', '<img src=b>'].map((html) =>
    keysOfPage(page('http://a.example/', html), none),
  );
  assert.notEqual(one?.[1], other?.[1]);
});

test('an address has the key of the page at the end of its chain of redirects', () => {
  const redirects = new Redirects();
  redirects.add('http://a.example/old', 'http://a.example/older');
  redirects.add('http://a.example/older', 'https://www.b.example/new/');
  for (const url of ['http://a.example/old', 'http://a.example/older', 'http://b.example/new']) {
    assert.equal(keysOfPage(page(url, url), redirects)[2], 'b.example/new');
  }
});

test('a circle of redirects is not followed', () => {
  const redirects = new Redirects();
  redirects.add('http://a.example/1', 'http://a.example/2');
  redirects.add('http://a.example/2', 'http://a.example/1');
  assert.equal(redirects.follow('a.example/1'), 'a.example/1');
  assert.equal(redirects.follow('a.example/2'), 'a.example/2');
});

test('a redirect to another spelling of the same address changes nothing', () => {
  const redirects = new Redirects();
  redirects.add('http://a.example', 'https://www.a.example/index.html');
  assert.equal(redirects.follow('a.example'), 'a.example');
  redirects.add('http://x.example', 'http://a.example');
  assert.equal(redirects.follow('x.example'), 'a.example');
});

test('an address too long for a row key is cut, and stays different from similar ones', () => {
  const long = `http://a.example/${'x'.repeat(5000)}`;
  const [one, other] = [`${long}1`, `${long}2`].map((url) => keysOfPage(page(url, ''), none)[2]);
  assert.ok(one !== undefined && one.length < 500);
  assert.notEqual(one, other);
});

test('visible text is title and body, entities decoded, white space collapsed', () => {
  const html = `<html><head><title>Q&amp;A</title><style>p{}</style><meta name=x content=y></head>
    <body><!-- no --><h1>Caf&eacute;</h1><p>un<b>do</b>ne<br>a&nbsp;b<noscript>no</noscript>
    <template><p>no</p></template><script>document.write("<p>no</p>")</script></body></html>`;
  assert.equal(textOf(html), 'Q&A Café undone a b');
});

test('elements end words, except for inline elements', () => {
  assert.equal(textOf('<td>a<td>b'), 'a b');
  assert.equal(textOf('<i>a</i>b'), 'ab');
});

test('the charset comes from the byte order mark, the server or the page, and is UTF-8 if none knows it', () => {
  const latin1 = Buffer.from('caf\xe9', 'latin1');
  assert.equal(textOf(latin1, 'text/html; charset="iso-8859-1"'), 'café');
  assert.equal(textOf(Buffer.concat([Buffer.from('<meta charset=latin1>'), latin1])), 'café');
  assert.equal(textOf(Buffer.from('\uFEFFcafé', 'utf16le'), 'text/html; charset=utf-8'), 'café');
  assert.equal(textOf('\uFEFFcafé', 'text/html; charset=latin1'), 'café');
  assert.equal(textOf('café', 'text/html; charset=no-such-thing'), 'café');
});
