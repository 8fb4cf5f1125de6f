/**
 * The web as it is: pages as real servers send them and real crawlers store them, each with a word
 * of its own. A search for the word must find the page, from the WARC to the result; the reader of
 * figure 7 must see the same pages. What cannot be read is reported, and never found as garbage.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { temporaryFolder } from '#engine/testing';
import { visibleText } from '../crawl-rate/documents/visible-text.ts';
import { readWarc } from '../crawl-rate/documents/warc-records.ts';
import { describeDamage, indexOf, readCaptures } from './model/index.ts';
import { warcRecord } from './model/warc.fixture.ts';
import { openServingIndex } from './serving/sqlite-index.ts';
import type { ServingIndex } from './serving/serving-index.ts';

type Bytes = string | Buffer;

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A response; a text is in UTF-8. */
function answer(head: Bytes, body: Bytes = ''): Buffer {
  const parts = [head, '\r\n\r\n', body];
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** The answer with a page in HTML. */
function html(body: Bytes, ...headers: readonly string[]): Buffer {
  const named = headers.some((header) => /^content-type/iu.test(header));
  const types = named ? [] : ['Content-Type: text/html'];
  return answer(['HTTP/1.1 200 OK', ...types, ...headers].join('\r\n'), body);
}

function page(word: string): string {
  return `<!doctype html><title>${word}</title><p>The page is about ${word}.`;
}

/** The bytes as chunks of 40, each with its size in a line that ends so. */
function chunked(bytes: Bytes, lineEnd: string, sizePrefix = ''): Buffer {
  const whole = Buffer.from(bytes as string);
  const parts: Bytes[] = [];
  for (let at = 0; at < whole.length; at += 40) {
    const chunk = whole.subarray(at, at + 40);
    parts.push(`${sizePrefix}${chunk.length.toString(16)}${lineEnd}`, chunk, lineEnd);
  }
  parts.push(`0${lineEnd}${lineEnd}`);
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

const XHTML = 'Content-Type: application/xhtml+xml';
const CHUNKED = 'Transfer-Encoding: chunked';
const encoded = (encoding: string): string => `Content-Encoding: ${encoding}`;
const wrongChecksum = (bytes: Buffer): Buffer => {
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 6) ^ 1, bytes.length - 6);
  return bytes;
};
const long = Array.from({ length: 3_000 }, (_, i) => (i * 7_919) % 10_007).join(' ');
/** Zstandard packs blocks of 128 KiB, of which a part is nothing. */
const blocks = Array.from({ length: 60_000 }, (_, i) => (i * 7_919) % 99_991).join(' ');
const cutOff = (bytes: Buffer): Buffer => bytes.subarray(0, Math.floor(bytes.length / 2));

/** Addresses, what the server answered there, and words that must find the page, and no other. */
const FOUND: readonly (readonly [name: string, answer: Buffer, ...queries: string[]])[] = [
  // Bodies.
  ['deflate-raw', html(deflateRawSync(page('kangaroo')), encoded('deflate')), 'kangaroo'],
  ['gzip-cut', html(cutOff(gzipSync(`${page('wombat')} ${long}`)), encoded('gzip')), 'wombat'],
  ['gzip-crc', html(wrongChecksum(gzipSync(page('koala'))), encoded('gzip')), 'koala'],
  [
    'gzip-more',
    html(Buffer.concat([gzipSync(page('emu')), latin1('more')]), encoded('gzip')),
    'emu',
  ],
  ['gzip-quoted', html(gzipSync(page('dingo')), encoded('"gzip"')), 'dingo'],
  ['gzip-twice', html(gzipSync(gzipSync(page('quokka'))), encoded('gzip, gzip')), 'quokka'],
  ['br', html(brotliCompressSync(page('platypus')), encoded('br')), 'platypus'],
  [
    'br-cut',
    html(cutOff(brotliCompressSync(`${page('numbat')} ${long}`)), encoded('br')),
    'numbat',
  ],
  [
    'zstd-cut',
    html(cutOff(zstdCompressSync(`${page('bilby')} ${blocks}`)), encoded('zstd')),
    'bilby',
  ],
  ['stored', html(page('possum'), encoded('gzip'), CHUNKED), 'possum'],
  ['utf-8', html(page('glider'), encoded('utf-8')), 'glider'],
  [
    'te-gzip',
    html(chunked(gzipSync(page('wallaby')), '\r\n'), 'Transfer-Encoding: gzip, chunked'),
    'wallaby',
  ],
  ['chunks-lf', html(chunked(page('echidna'), '\n'), CHUNKED), 'echidna', '"about echidna"'],
  ['chunks-padded', html(chunked(page('potoroo'), '\r\n', '0000000000'), CHUNKED), 'potoroo'],
  // Heads.
  ['continue', Buffer.concat([answer('HTTP/1.1 100 Continue'), html(page('heron'))]), 'heron'],
  ['two-spaces', answer('HTTP/1.1  200  OK\r\nContent-Type: text/html', page('stork')), 'stork'],
  ['lower-case', answer('http/1.1 200 ok\r\ncontent-type: text/html', page('egret')), 'egret'],
  ['icy', answer('ICY 200 OK\r\nContent-Type: text/html', page('ibis')), 'ibis'],
  ['lf', Buffer.from(`HTTP/1.0 200\nContent-Type: text/html\n\n${page('crane')}`), 'crane'],
  ['no-type', answer('HTTP/1.1 200 OK\r\nServer: x', page('raven')), 'raven'],
  ['empty-type', html(page('rook'), 'Content-Type:'), 'rook'],
  ['two-types', html(page('jay'), 'Content-Type: text/plain', 'Content-Type: text/html'), 'jay'],
  [
    'joined-types',
    html(latin1(page('jackdaw d\xE9')), 'Content-Type: text/html;charset=latin1, text/html'),
    'jackdaw',
    '"jackdaw dé"',
  ],
  [
    'folded',
    html(latin1(page('magpie caf\xE9')), 'Content-Type: text/html;\r\n\tcharset=iso-8859-1'),
    '"magpie café"',
  ],
  // Charsets.
  ['latin1', html(latin1(page('gar\xE7on'))), 'garçon'],
  ['utf8', html(page('señora')), 'señora'],
  [
    'in-comment',
    html(`<!-- <meta charset="latin1"> --><meta charset="utf-8">${page('ñandú')}`),
    'ñandú',
  ],
  [
    'in-description',
    html(
      `<meta name="description" content="say charset=latin1"><meta charset=utf-8>${page('piñata')}`,
    ),
    'piñata',
  ],
  [
    'unknown-charset',
    html(
      latin1(`<meta charset=iso-8859-1>${page('fa\xE7ade')}`),
      'Content-Type: text/html; charset=foo',
    ),
    'façade',
  ],
  [
    'xml-charset',
    html(
      latin1(
        `<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>\xE9clair</p></body></html>`,
      ),
      XHTML,
    ),
    'éclair',
  ],
  ['utf16', html(Buffer.from(`\uFEFF${page('žirafa')}`, 'utf16le')), 'žirafa'],
  ['sjis', html(latin1('<meta charset=shift_jis><title>\x93\x8C\x8B\x9E</title>')), '東京'],
  // XHTML and SVG.
  [
    'xhtml',
    html('<html><head><title/><script src="a.js"/></head><body><p>otter</p></body></html>', XHTML),
    'otter',
  ],
  ['svg', html('<svg><title>icon</title></svg><title>beaver</title>'), 'beaver'],
  // Words.
  ['hyphens', html('<p>Die Ver&shy;bin&shy;dung ist da'), 'Verbindung', 'Ver\u00ADbindung'],
  ['japanese', html('<p>明日の大阪の天気は晴れです'), '天気', '大阪', '大阪 晴れ'],
  ['chinese', html('<p>重跑gen-itgc后50条悬空引用清零'), 'itgc', '引用', '悬空引用'],
  ['thai', html('<p>ประเทศไทยมีอากาศร้อน'), 'อากาศ', 'ไทย'],
  // An address in UTF-8, and the text of the link to it.
  ['caf%C3%A9', html('<p>armadillo'), 'armadillo', '"wonderful anchor"'],
];

const UNSEEN: readonly (readonly [name: string, answer: Buffer])[] = [
  ['moved', answer('HTTP/1.1 301 Moved\r\nLocation: /café')],
  ['picture', answer('HTTP/1.1 200 OK\r\nServer: x', Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'))],
];
const LINKER = ['linker', html('<a href="/moved"><img alt="wonderful anchor"></a>')] as const;

/** What cannot be read as text. */
const REPORTED: readonly (readonly [name: string, answer: Buffer, problem: RegExp])[] = [
  [
    'damaged',
    html(Buffer.concat([gzipSync(long).subarray(0, 40), Buffer.alloc(99, 0xff)]), encoded('gzip')),
    /does not unpack/,
  ],
  ['unknown', html(gzipSync(long), encoded('lzma')), /a body in lzma that does not unpack/],
  ['packed', html(gzipSync(long)), /packed once more than it says/],
];

const problems: string[] = [];
const folder = temporaryFolder();
const warc = path.join(folder, 'web.warc.gz');
let index: ServingIndex;

before(async () => {
  const answers = [...FOUND, ...UNSEEN, LINKER, ...REPORTED];
  const members = answers.map(([name, block]) =>
    gzipSync(warcRecord('response', `http://a.example/${name}`, block)),
  );
  writeFileSync(warc, Buffer.concat(members));
  const onDamage = (damage: Parameters<typeof describeDamage>[0]): void => {
    problems.push(describeDamage(damage));
  };
  const captures = await Array.fromAsync(readCaptures([warc], { onDamage }));
  index = await openServingIndex(path.join(folder, 'serving'));
  const served = [...indexOf(captures).served];
  await index.replaceAll(served.map(([url, one]) => ({ url, page: one, version: 1 })));
});

after(() => index[Symbol.asyncDispose]());

for (const [name, , ...queries] of FOUND) {
  test(`${queries.join(', ')}: finds ${name}`, () => {
    for (const query of queries) {
      const { results } = index.search(query, { limit: 9 });
      assert.deepEqual(
        results.map(({ url }) => url.replace('http://a.example/', '')),
        [name],
        query,
      );
    }
  });
}

test('what is no page is not found, and what cannot be read is reported', () => {
  assert.equal(index.count(), FOUND.length + 1);
  for (const [i, [, , problem]] of REPORTED.entries()) {
    const number = FOUND.length + UNSEEN.length + 1 + i + 1;
    assert.match(problems[i] ?? '', problem);
    assert.match(problems[i] ?? '', new RegExp(`record ${number} `, 'u'));
  }
  assert.equal(problems.length, REPORTED.length);
});

test('the reader of figure 7 sees the same pages, with the same words', async () => {
  const texts = new Map<string, string>();
  const damaged: number[] = [];
  for await (const record of readWarc(warc, (damage) => damaged.push(damage.record))) {
    if (record.kind !== 'page') continue;
    texts.set(record.url, visibleText(record.contents, record.contentType));
  }
  assert.equal(texts.size, FOUND.length + 1);
  assert.equal(damaged.length, REPORTED.length);
  for (const [name, , query = ''] of FOUND) {
    const text = texts.get(`http://a.example/${name}`) ?? '';
    const words = query.replaceAll('"', '').replaceAll('\u00AD', '');
    assert.ok(text.includes(words), `${name}: ${text.slice(0, 100)}`);
  }
});
