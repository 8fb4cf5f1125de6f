/**
 * Small random crawls that contain what makes an index hard: copies on two hosts, recrawls,
 * removals, redirects in chains and circles, charsets that change, and stylesheets and scripts that
 * change or go.
 */
import type { Random } from '#engine';
import { pageCapture } from './warc.fixture.ts';
import type { Capture } from './index.ts';

const HOSTS = ['a.example', 'b.example'];
const NAMES = ['1', '2', '3', '4', '5', '6'];
const PAGE_TYPES = ['text/html', 'text/html; charset=windows-1251'];
const STYLESHEETS = ['.menu { display: none }', 'nav { display: none }', 'p { color: red }'];
const SCRIPTS = ['one()', 'two()'];

/** Captures in the order of the crawl; some are of the moment of the one before, none is older. */
export function randomCrawl(random: Random, size: number): readonly Capture[] {
  const contents = Array.from({ length: 7 }, (_, i) => contentOf(random, i));
  let timeMs = 0;
  return Array.from({ length: size }, (_, ordinal) => {
    timeMs += random.integer(0, 2);
    return { ...captureOf(random, contents), timeMs, ordinal };
  });
}

function captureOf(random: Random, contents: readonly string[]): Capture {
  const url = `http://${random.pick(HOSTS)}/${random.pick(NAMES)}`;
  const dice = random.integer(1, 100);
  if (dice <= 60) {
    return pageCapture(url, random.pick(contents), { contentType: random.pick(PAGE_TYPES) });
  }
  if (dice <= 70) return pageCapture(url, '', { status: 404 });
  if (dice <= 82) return pageCapture(url, '', { status: 301, location: `/${random.pick(NAMES)}` });
  if (dice <= 85) return pageCapture(url, '', { status: 503 });
  const host = random.pick(HOSTS);
  if (dice <= 87) return pageCapture(`http://${host}/s.css`, '', { status: 404 });
  if (dice <= 94) {
    const contentType = 'text/css';
    return pageCapture(`http://${host}/s.css`, random.pick(STYLESHEETS), { contentType });
  }
  const contentType = 'text/javascript';
  return pageCapture(`http://${host}/t.js`, random.pick(SCRIPTS), { contentType });
}

/** Most links are relative: copies of a page on two hosts are equal, and link to their own host. */
function contentOf(random: Random, i: number): string {
  const links = Array.from({ length: random.integer(0, 4) }, () => {
    const host = random.integer(1, 4) === 1 ? `http://${random.pick(HOSTS)}` : '';
    return `<a href="${host}/${random.pick(NAMES)}">text ${random.integer(1, 3)}</a>`;
  });
  const stylesheet = random.integer(1, 2) === 1 ? '<link rel="stylesheet" href="/s.css">' : '';
  const script = random.integer(1, 4) === 1 ? '<script src="/t.js"></script>' : '';
  return `<title>Title ${i % 3}</title>${stylesheet}${script}<nav>${links.join(' ')}</nav><p class="menu">Menu</p>T${i % 2 === 0 ? 'é' : 'e'}xt ${i % 5}`;
}
