/** Small random crawls in which everything happens: for tests, and decided by their random stream. */
import type { Random } from '#engine/base';
import type { Capture } from '../model/index.ts';

const SITE = 'http://a.example/';

/** Captures of a few addresses, some several times, in the order of the crawler's clock. */
export function randomCrawl(random: Random, captures: number, addresses: number): Capture[] {
  const name = (): string => `p${random.integer(1, addresses)}`;
  return Array.from({ length: captures }, (_, i) => {
    const head = { url: SITE + name(), timeMs: Math.floor(i / 2), ordinal: i };
    const chance = random.fraction();
    if (chance < 0.7) return pageOf(head, htmlOf(random, name));
    if (chance < 0.8) return { ...plain(head), status: 301, location: `/${name()}` };
    if (chance < 0.85) return { ...plain(head), status: 404 };
    if (chance < 0.88) return { ...plain(head), status: 500 };
    const url = `${SITE}style${random.integer(1, 3)}.css`;
    const body = Buffer.from(`.hidden { display: ${random.pick(['none', 'block'])} }`);
    return { ...plain({ ...head, url }), contentType: 'text/css', body };
  });
}

type Head = Pick<Capture, 'url' | 'timeMs' | 'ordinal'>;

function plain(head: Head): Capture {
  const nothing = { contentType: '', contentLanguage: '', location: '', body: Buffer.alloc(0) };
  return { ...head, status: 200, ...nothing };
}

function pageOf(head: Head, html: string): Capture {
  return { ...plain(head), contentType: 'text/html; charset=utf-8', body: Buffer.from(html) };
}

/** Few different contents, so that there are duplicates, also of pages with other links. */
function htmlOf(random: Random, name: () => string): string {
  const links = Array.from({ length: random.integer(0, 5) }, () => {
    const label = random.pick(['here', 'ünï\u2028code', '<b>bold</b>', '\r\n\t', name()]);
    return `<a href="/${name()}#part" hidden class="menu">${label}</a>`;
  });
  const style = random.pick([
    '',
    `<link rel="stylesheet" href="/style${random.integer(1, 4)}.css">`,
  ]);
  const title = random.pick(['', '<title>Title &amp; more</title>']);
  const text = `content ${random.integer(1, 6)} <p class="hidden">hidden ${random.integer(1, 2)}</p>`;
  const where = random.pick(['<style>.menu{}</style>', '<base href="/">']);
  // What the links say is not part of the text of some pages.
  const menu = random.pick([`<script type="x"></script>`, '']) + links.join(' ');
  return `<html lang="en">${title}${style}${where}${text}${random.pick([menu, `<template>${menu}</template>`])}`;
}
