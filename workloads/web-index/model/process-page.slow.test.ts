/** Claims about what is found in a page, hostile pages included. */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { test } from 'node:test';
import {
  describeResource,
  processPage,
  type ProcessedPage,
  renderPage,
  type RenderedPage,
  type Resource,
} from './index.ts';
import {
  ANCHOR_LENGTH_MAX,
  BODY_BYTES_MAX,
  LINKS_MAX,
  TEXT_LENGTH_MAX,
  TITLE_LENGTH_MAX,
  URL_LENGTH_MAX,
} from './limits.ts';
import { pageCapture } from './warc.fixture.ts';

const URL_OF_PAGE = 'http://a.example/b/page.html';

function processed(html: string): ProcessedPage {
  return processPage(pageCapture(URL_OF_PAGE, html));
}

function rendered(html: string, resources: Readonly<Record<string, Resource>> = {}): RenderedPage {
  const capture = pageCapture(URL_OF_PAGE, html);
  return renderPage(capture, processPage(capture), (url) => resources[url]);
}

const targets = ({ links }: ProcessedPage): readonly string[] => links.map(({ target }) => target);

test('title, language, canonical link, stylesheets and scripts are found', () => {
  const page = processed(`<html lang="EN-us"><head><title> One &amp;
    <b>two </title><title>three</title><link rel="canonical" href="/c">
    <link rel="alternate stylesheet" href="s.css"><script src="../t.js"></script>
    <script>document.write('<a href="x">x</a>')</script></head>`);
  assert.deepEqual(page, {
    title: 'One & <b>two',
    language: 'en-us',
    canonicalLink: 'http://a.example/c',
    links: [{ target: 'http://a.example/c', texts: [] }],
    stylesheets: ['http://a.example/b/s.css'],
    scripts: ['http://a.example/t.js'],
  });
});

test('the language is that of the response if the page names none', () => {
  const capture = pageCapture(URL_OF_PAGE, '<p>', { contentLanguage: 'de, en' });
  assert.equal(processPage(capture).language, 'de');
});

test('links are resolved against the base, wherever in the page it is', () => {
  const page = processed('<a href="x">X</a><base href="/base/"><a href="?q#f">Q</a>');
  assert.deepEqual(targets(page), ['http://a.example/base/?q', 'http://a.example/base/x']);
});

test('a target counts once, with its different texts', () => {
  const { links } = processed(`<a href="x">One <b>t</b>wo</a> <a href="x#f">One</a>
    <a href="./x"> One </a><a href="x"><img alt="Picture"></a><a href=y>`);
  assert.deepEqual(links, [
    { target: 'http://a.example/b/x', texts: ['One', 'One two', 'Picture'] },
    { target: 'http://a.example/b/y', texts: [] },
  ]);
});

test('the text of a link has no script, style sheet or other hidden element', () => {
  const { links } = processed(`<a href="/x"><svg><style>.a{fill:red}</style></svg>Home
    <script>go()</script><noscript>No <img alt="pixel"></noscript></a>`);
  assert.deepEqual(links, [{ target: 'http://a.example/x', texts: ['Home'] }]);
});

test('the alt of an area is one line with a limit, as other texts are', () => {
  const { links } = processed(`<area href="x" alt="a\0b\n&#xD800;${'t'.repeat(10_000)}">
    <area href="y" alt=" ">`);
  const [x, y] = links;
  assert.match(x?.texts.join('|') ?? '', /^a b \uFFFDt+$/u);
  assert.equal(x?.texts[0]?.length, ANCHOR_LENGTH_MAX);
  assert.deepEqual(y, { target: 'http://a.example/b/y', texts: [] });
});

test('links to the page itself, and what no crawler can fetch, are no links', () => {
  const hrefs = ['#f', 'page.html', 'javascript:void(0)', 'mailto:a@a', 'http://[', 'data:,x'];
  assert.deepEqual(targets(processed(hrefs.map((href) => `<a href="${href}">x</a>`).join(''))), []);
});

test('a link whose URL is too long is left out, and the other links of its page stay', () => {
  const html = `<a href="/${'u'.repeat(2 ** 20)}">x</a><a href="/${'v'.repeat(URL_LENGTH_MAX)}">y</a><a href="z">z</a>`;
  assert.deepEqual(targets(processed(html)), ['http://a.example/b/z']);
});

test('the title and the list of links have limits', () => {
  const links = Array.from({ length: LINKS_MAX + 9 }, (_, i) => `<a href="${i}">${i}</a>`);
  const page = processed(`<title>${'t'.repeat(10_000)}</title>${links.join('')}`);
  assert.equal(page.title.length, TITLE_LENGTH_MAX);
  assert.equal(page.links.length, LINKS_MAX);
});

test('a page that is nested 10,000 deep is a page like any other', () => {
  const html = `${'<div><a href="/deep">'.repeat(10_000)}deep${'</a></div>'.repeat(10_000)}end`;
  assert.deepEqual(targets(processed(html)), ['http://a.example/deep']);
  assert.equal(rendered(html).text, 'deep end');
});

test('no page takes minutes, however it is nested: one that is nested too much ends early', () => {
  const fill = (start: string, repeated: string): string =>
    start + repeated.repeat((BODY_BYTES_MAX - start.length) / repeated.length);
  const deep = '<ba>'.repeat(20_000);
  for (const html of [fill('', '<i>'), fill(deep, '</bb>'), fill(deep, '<i></i>')]) {
    const before = cpuUsage();
    assert.equal(rendered(`begin${html}end`).text, 'begin');
    const seconds = cpuUsage(before).user / 1e6;
    assert.ok(seconds < 60, `${seconds} s of the processor`);
  }
});

test('a page is read whole wherever the pieces that the parser gets end', () => {
  const html = `<title>A &amp; b</title><!-- <a> --><a href="/x?a&amp;b" class='c'>&lt;x&notit;</a><script src=s>
    "</script"</script><svg><foreignObject>y</foreignObject><path/></svg><p id=1>one</p >two\u{1F600}&#x41;&amp`;
  const whole = [processed(html), rendered(html).text];
  assert.match(rendered(html).text, /^<x¬it; y one two\u{1F600}A&$/u);
  for (let length = 0; length <= html.length; length++) {
    // PIECE_LENGTH of process-page.ts is 2 ** 14; the marks of a comment have 7 characters.
    const padded = `<!--${'-'.repeat(2 ** 14 - 7 - length)}-->${html}`;
    assert.deepEqual([processed(padded), rendered(padded).text], whole, `cut at ${length}`);
  }
});

test('entities become their characters, and those that a page defines are not expanded', () => {
  const million = rendered('&lt;'.repeat(1_000_000)).text;
  assert.equal(million.length, 1_000_000);
  const laughs = `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><p>&b;`;
  assert.equal(rendered(laughs).text, ']> &b;');
});

test('control and broken characters do not reach texts', () => {
  const { text, title } = rendered('<title>a\0b</title>x\0\u0001y\u007Fz &#xD800; z');
  assert.deepEqual([title, text], ['a b', 'x y z \uFFFD z']);
});

/** What HBase takes, with its default settings. */
const CELL_BYTES_MAX = 10 * 2 ** 20;

function assertFits(value: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  assert.ok(bytes < CELL_BYTES_MAX, `${bytes} bytes`);
}

test('the text of a page fits into a cell of every store, whatever its bytes are', () => {
  for (const byte of [0xff, 0x01, 0x22]) {
    const body = Buffer.alloc(BODY_BYTES_MAX, byte);
    const capture = pageCapture(URL_OF_PAGE, '', { body });
    assertFits(renderPage(capture, processPage(capture), () => undefined));
  }
});

test('the links of a page fit into a cell of every store', () => {
  const invalid = '\xFF'.repeat(85);
  const links = Array.from(
    { length: LINKS_MAX * 8 },
    (_, i) => `<a href=${i >> 3}>${i & 7}${invalid}`,
  );
  const body = Buffer.from(links.join(''), 'latin1');
  assert.ok(body.length <= BODY_BYTES_MAX);
  const folder = 'f'.repeat(URL_LENGTH_MAX - 50);
  const { links: found } = processPage(pageCapture(`http://a.example/${folder}/`, '', { body }));
  assert.equal(found.length, LINKS_MAX);
  assertFits(found);
});

test('the rules of a stylesheet fit into a cell of every store', () => {
  const css = `${'a,'.repeat(2 ** 20)}a{display:none}`;
  const { hides } = stylesheet(css);
  assert.deepEqual(hides[0], ['a', true]);
  assertFits(hides);
});

test('long pages with the same beginning are no duplicates', () => {
  const words = 'word '.repeat(TEXT_LENGTH_MAX / 4);
  const [a, b] = [rendered(`${words} a`), rendered(`${words} b`)];
  assert.equal(a.text, b.text);
  assert.notEqual(a.hash, b.hash);
});

const stylesheet = (css: string): Resource =>
  describeResource(pageCapture('http://a.example/b/s.css', css, { contentType: 'text/css' }));

const STYLED =
  '<link rel=stylesheet href=s.css><p class="menu wide">Menu</p><nav>Way</nav><p id=x>X</p>Text';

test('a stylesheet hides what its simple rules name', () => {
  const seen = (css: string): string =>
    rendered(STYLED, { 'http://a.example/b/s.css': stylesheet(css) }).text;
  assert.equal(rendered(STYLED).text, 'Menu Way X Text');
  assert.equal(seen('.menu{color:red;display:none}'), 'Way X Text');
  assert.equal(seen('/* .menu {} */ NAV, #x { DISPLAY: none }'), 'Menu Text');
  assert.equal(seen('.menu { display: none } .menu { display: block }'), 'Menu Way X Text');
  assert.equal(seen('@media print { .menu { display: none } } nav{display:none}'), 'Menu X Text');
  assert.equal(seen('@charset "utf-8"; .menu { display: none }'), 'Way X Text');
  assert.equal(seen('@import "x.css";@media print { .menu { display: none } }'), 'Menu Way X Text');
  assert.equal(seen('p .menu, .menu:hover { display: none } } } { nav'), 'Menu Way X Text');
});

test('a stylesheet that is included again overrules those in between', () => {
  const html = '<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css>';
  const sheets = {
    'http://a.example/b/a.css': stylesheet('.menu { display: none }'),
    'http://a.example/b/b.css': stylesheet('.menu { display: block }'),
  };
  const menu = '<p class=menu>Menu</p>Text';
  assert.equal(rendered(html + menu, sheets).text, 'Menu Text');
  assert.equal(rendered(`${html}<link rel=stylesheet href=a.css>${menu}`, sheets).text, 'Text');
});

test('a script that is included again keeps its place', () => {
  const { scripts } = processed(
    '<script src=a></script><script src=b></script><script src=a></script>',
  );
  assert.deepEqual(scripts, ['http://a.example/b/a', 'http://a.example/b/b']);
});

test('pages are duplicates if their rendered forms are equal', () => {
  const sheets = (css: string): Record<string, Resource> => ({
    'http://a.example/b/s.css': stylesheet(css),
  });
  assert.equal(rendered(STYLED).hash, rendered(STYLED.replace('<nav>', '<nav >')).hash);
  assert.equal(rendered(STYLED).hash, rendered(STYLED, sheets('p { color: red }')).hash);
  assert.notEqual(rendered(STYLED).hash, rendered(STYLED, sheets('nav{display:none}')).hash);
});

test('pages with different scripts are different, and a changed script changes its pages', () => {
  const html = '<script src="s.js"></script>Text';
  const script = (text: string): RenderedPage =>
    rendered(html, {
      'http://a.example/b/s.js': describeResource(
        pageCapture('http://a.example/b/s.js', text, { contentType: 'text/javascript' }),
      ),
    });
  assert.notEqual(rendered(html).hash, rendered('Text').hash);
  assert.notEqual(script('1').hash, script('2').hash);
  assert.equal(script('1').hash, script('1').hash);
});

test('pages on which nothing is to be seen are duplicates only if their HTML is equal', () => {
  assert.notEqual(rendered('<p>').hash, rendered('<b>').hash);
  assert.equal(rendered('<p>').hash, rendered('<p>').hash);
});
