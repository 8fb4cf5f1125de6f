/**
 * Claims about the normal form of a URL: a table of addresses that are one page, and of those that
 * are not.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hostOf, normalizeUrl } from './crawl.ts';

const forms: readonly (readonly [form: string, ...urls: string[]])[] = [
  ['sqlite.org/c3ref/intro.html', 'http://www.sqlite.org/c3ref/intro.html'],
  ['sqlite.org', 'http://sqlite.org', 'https://sqlite.org/', 'http://WWW.SQLite.org./index.html'],
  ['a.example/b', 'http://a.example/b/', 'http://a.example/b//', 'http://a.example/b/index.php'],
  ['a.example/b', 'http://a.example/b/Default.asp', 'http://a.example/b/default.aspx#top'],
  ['a.example/myindex.html', 'http://a.example/myindex.html'],
  ['a.example/b', 'http://a.example:80/b', 'https://a.example:443/b', 'http://u:p@a.example/b'],
  ['a.example:8080/b', 'http://a.example:8080/b'],
  ['a.example/c', 'http://a.example/b/../c', 'http://a.example/./c', 'http://a.example/%63'],
  ['a.example/~b%2Fc', 'http://a.example/%7Eb%2fc', 'http://a.example/~b%2Fc'],
  ['a.example/%C3%A9', 'http://a.example/é', 'http://a.example/%c3%a9'],
  ['a.example/b', 'http://a.example/b?', 'http://a.example/b#fragment'],
  ['a.example/b?x=1&y=~', 'http://a.example/b?x=1&y=%7e'],
  ['a.example/b?y=2&x=1', 'http://a.example/b/?y=2&x=1'],
  ['xn--bcher-kva.example', 'http://bücher.example/'],
  ['www2.a.example', 'http://www2.a.example/'],
  ['ftp:a.example/b', 'ftp://a.example/b'],
  ['no url at all', 'no url at all', ' no url at all '],
];

for (const [form, ...urls] of forms) {
  test(`${urls.join(' and ')} normalised: ${form}`, () => {
    for (const url of urls) assert.equal(normalizeUrl(url), form);
  });
}

test('addresses that differ in path, query or case of the path are different pages', () => {
  const urls = ['/a', '/A', '/a/b', '/a?x', '/a?x=1', '/a%2Fb', '/a.html'];
  assert.equal(
    new Set(urls.map((url) => normalizeUrl(`http://h.example${url}`))).size,
    urls.length,
  );
});

/** Not any URL: of `www.www.a.example`, each normal form removes one `www.`. */
test('the normal form of a random URL, turned into a URL again, has the same normal form', () => {
  const urls = fc.webUrl({ withQueryParameters: true, withFragments: true });
  fc.assert(
    fc.property(urls, (url) => {
      const form = normalizeUrl(url);
      assert.equal(normalizeUrl(`http://${form}`), form);
    }),
  );
});

test('the host of a URL keeps its www, and a text that is not a URL has no host', () => {
  assert.equal(hostOf('http://www.sqlite.org/x'), 'www.sqlite.org');
  assert.equal(hostOf('nothing'), '');
});
