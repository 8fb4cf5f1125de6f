/**
 * Claims about the WARC reader: what counts as a page, which encodings are undone, and how damage
 * is reported.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { UsageError } from '#results';
import { temporaryFolder, until } from '#engine/testing';
import { openCrawl } from './crawl.ts';
import { type CrawlRecord, describeDamage, readWarc } from './warc-records.ts';

const folder = temporaryFolder();

const HTML = '<title>Hi</title>';
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

/** One WARC record. */
function record(type: string, url: string, block: string | Buffer): Buffer {
  const head = `WARC/1.0\r\nWARC-Type: ${type}\r\nWARC-Target-URI: <${url}>\r\n`;
  const length = `Content-Length: ${Buffer.byteLength(block)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head + length), Buffer.from(block), Buffer.from('\r\n\r\n')]);
}

function response(name: string, head: string, body: string | Buffer): Buffer {
  const block = Buffer.concat([Buffer.from(`${head}\r\n`), Buffer.from(body)]);
  return record('response', `http://a.example/${name}`, block);
}

function write(name: string, contents: string | Buffer): string {
  const file = path.join(folder, name);
  writeFileSync(file, contents);
  return file;
}

async function readAll(file: string): Promise<CrawlRecord[]> {
  const records: CrawlRecord[] = [];
  for await (const read of readWarc(file)) records.push(read);
  return records;
}

/** Writes the bytes to a file, and reads the first record from it. */
async function readOne(name: string, bytes: Buffer): Promise<CrawlRecord | undefined> {
  return (await readAll(write(`${name}.warc`, bytes)))[0];
}

async function problemsOf(file: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for await (const _ of readWarc(file, (damage) => problems.push(describeDamage(damage))));
  return problems.map((problem) => problem.replace(folder, '.'));
}

async function messageOf(file: string): Promise<string> {
  const error = await readAll(file).then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UsageError, String(error));
  return error.message.replace(folder, '.');
}

const crawl = [
  record('warcinfo', 'urn:x', 'software: by hand'),
  record('request', 'http://a.example/1', 'GET /1 HTTP/1.1\r\n\r\n'),
  response('1', OK, HTML),
  response('2', 'HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n', 'Not here'),
  response('3', 'HTTP/1.1 301 Moved\r\nLocation: /1\r\n', ''),
  response('4', 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n', 'PNG'),
  response('5', 'HTTP/1.0 200\r\ncontent-type: application/xhtml+xml; charset=utf-8\r\n', HTML),
  response('6', 'HTTP/1.1 304 Not Modified\r\n', ''),
  record('revisit', 'http://a.example/7', OK),
  record('response', 'dns:a.example', '20261121\na.example. 1 IN A 127.0.0.1'),
];
const kinds = [
  'not-response',
  'not-response',
  'page',
  'failure',
  'redirect',
  'not-html',
  'page',
  'failure',
  'not-response',
  'not-response',
];

test('a page is a response with status 200 and an HTML content type', async () => {
  const records = await readAll(write('crawl.warc', Buffer.concat(crawl)));
  assert.deepEqual(
    records.map(({ kind }) => kind),
    kinds,
  );
  assert.deepEqual(records[4], {
    kind: 'redirect',
    url: 'http://a.example/3',
    target: 'http://a.example/1',
  });
});

test('a WARC reads the same plain, gzipped in one member, and gzipped in one per record', async () => {
  const plain = await readAll(write('plain.warc', Buffer.concat(crawl)));
  const one = write('one.warc.gz', gzipSync(Buffer.concat(crawl)));
  const many = write('many.warc.gz', Buffer.concat(crawl.map((bytes) => gzipSync(bytes))));
  assert.deepEqual(await readAll(one), plain);
  assert.deepEqual(await readAll(many), plain);
});

test('records of any size are read whole', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(sizes, async (bodySizes) => {
    const members = bodySizes.map((size, i) => gzipSync(response(`${i}`, OK, 'x'.repeat(size))));
    const records = await readAll(write('sizes.warc.gz', Buffer.concat(members)));
    assert.deepEqual(
      records.map((read) => (read.kind === 'page' ? read.contents.length : read.kind)),
      bodySizes,
    );
  });
  await fc.assert(property, { numRuns: 30 });
});

test('records are read whole wherever the chunks of the file end', async () => {
  const chunkBytes = 2 ** 18;
  const next = response('next', OK, HTML);
  const around = response('first', OK, '').length + 6; // With up to six more digits of its length.
  // The first chunk ends about `cut` bytes after the first record.
  for (let cut = -4; cut < next.length + 4; cut++) {
    const first = response('first', OK, 'x'.repeat(chunkBytes - around - cut));
    const records = await readAll(write('cuts.warc', Buffer.concat([first, next, next])));
    assert.deepEqual(
      records.map(({ kind }) => kind),
      ['page', 'page', 'page'],
    );
  }
});

test(
  'a reader that stops early leaves no file open',
  { skip: !existsSync('/proc/self/fd') },
  async () => {
    const openFiles = (): number => readdirSync('/proc/self/fd').length;
    const big = [crawl[2] as Buffer, response('big', OK, 'x'.repeat(2 ** 21)), crawl[2] as Buffer];
    const files = [
      write('early.warc', Buffer.concat(big)),
      write('early.warc.gz', gzipSync(Buffer.concat(big))),
    ];
    const before = openFiles();
    for (const file of files) {
      for await (const { kind } of readWarc(file)) if (kind === 'page') break;
    }
    await until(() => openFiles() <= before); // Closing takes a moment.
    assert.equal(openFiles(), before);
  },
);

const chunked = `4;x=y\r\n${HTML.slice(0, 4)}\r\nD\r\n${HTML.slice(4)}\r\n0\r\n\r\n`;
const bodies: readonly (readonly [string, string, string | Buffer])[] = [
  ['in chunks', 'Transfer-Encoding: chunked\r\n', chunked],
  ['said to be in chunks, stored whole', 'Transfer-Encoding: chunked\r\n', HTML],
  ['gzipped', 'Content-Encoding: gzip\r\n', gzipSync(HTML)],
  ['said to be gzipped, stored unpacked', 'Content-Encoding: gzip\r\n', HTML],
  ['in brotli', 'Content-Encoding: br\r\n', brotliCompressSync(HTML)],
  ['in zstd', 'Content-Encoding: zstd\r\n', zstdCompressSync(HTML)],
  ['in an unknown encoding', 'Content-Encoding: identity\r\n', HTML],
  [
    'gzipped, then in chunks',
    'transfer-encoding: Chunked\r\ncontent-encoding: GZIP\r\n',
    inChunks(gzipSync(HTML)),
  ],
];

for (const contents of [`0\n${HTML}`, `1\n${HTML}`, `2025\n${HTML}`, `1\r\n${HTML}\r\nmore\r\n`]) {
  test(`a page said to be in chunks that begins with ${JSON.stringify(contents.slice(0, 6))} is taken as it is`, async () => {
    const stored = response('1', `${OK}Transfer-Encoding: chunked\r\n`, contents);
    const read = await readOne('numbered', stored);
    assert.equal(read?.kind === 'page' && read.contents.toString(), contents);
  });
}

for (const [how, headers, body] of bodies) {
  test(`a page ${how} gives its contents as written`, async () => {
    const read = await readOne('encoded', response('1', OK + headers, body));
    assert.equal(read?.kind === 'page' && read.contents.toString(), HTML);
  });
}

test('a page that would unpack to too much is reported and left out', async () => {
  const body = gzipSync(Buffer.alloc(2 ** 27 + 1));
  const bomb = write('bomb.warc', response('1', `${OK}Content-Encoding: gzip\r\n`, body));
  assert.deepEqual(await problemsOf(bomb), [
    '"./bomb.warc": record 1 has a body that unpacks to too much',
  ]);
  assert.deepEqual(await readAll(bomb), []);
});

function inChunks(body: Buffer): Buffer {
  const pieces = [body.subarray(0, 7), body.subarray(7)].flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}

test('an address never holds a character that would end a field of a record', async () => {
  const read = await readOne('tab', record('response', 'http://a.example/\t1', `${OK}\r\n`));
  assert.equal(read?.kind === 'page' && read.url, 'http://a.example/1');
});

test('a WARC that is cut off says which record is', async () => {
  const whole = Buffer.concat(crawl.slice(0, 3));
  assert.deepEqual(await problemsOf(write('cut.warc', whole.subarray(0, -10))), [
    '"./cut.warc": record 3 does not end after the 61 bytes that it promises',
  ]);
  assert.deepEqual(await problemsOf(write('cut.warc.gz', gzipSync(whole).subarray(0, -10))), [
    '"./cut.warc.gz": record 3 cannot be unpacked (unexpected end of file)',
  ]);
});

test('wherever a WARC is cut, whole records are read, and the one that is cut is reported', async () => {
  const records = crawl.slice(0, 3);
  const whole = Buffer.concat(records);
  const ends = records.map((_, i) => Buffer.concat(records.slice(0, i + 1)).length);
  for (let length = 5; length < whole.length; length++) {
    const file = write('any.warc', whole.subarray(0, length));
    const read = (await readAll(file)).map(({ kind }) => kind);
    // The two line ends after a block hold nothing: without them a record is whole, too.
    const wholeRecords = ends.filter((end) => end - 4 <= length).length;
    assert.deepEqual(read, kinds.slice(0, wholeRecords), `cut at byte ${length}`);
    const isCut = ends.every((end) => length < end - 4 || length > end);
    const problems = await problemsOf(file);
    assert.equal(problems.length, isCut ? 1 : 0, `cut at byte ${length}: ${problems.join()}`);
  }
});

const damages: readonly (readonly [string, Buffer, RegExp])[] = [
  [
    'a length too small',
    Buffer.concat([
      edit(crawl[1], 'Content-Length: 19', 'Content-Length: 9'),
      response('1', OK, ''),
    ]),
    /: record 1 does not end after the 9 bytes that it promises$/u,
  ],
  [
    'no length',
    edit(crawl[1], 'Content-Length', 'Content-Size'),
    /: record 1 does not say its length$/u,
  ],
  [
    'something else between records',
    Buffer.concat([crawl[1] as Buffer, Buffer.from('garbage\r\n\r\n')]),
    /: record 2 does not begin like one/u,
  ],
  [
    'a flipped bit in gzip',
    flip(gzipSync(Buffer.concat(crawl)), 100),
    /: record \d+ cannot be unpacked \(.+\)$/u,
  ],
  [
    'zeros between gzip members',
    Buffer.concat([
      gzipSync(Buffer.concat(crawl)),
      Buffer.alloc(1000),
      gzipSync(crawl[2] as Buffer),
    ]),
    /: record 11 cannot be unpacked \(1000 bytes of the file are no gzip member\)$/u,
  ],
];

function edit(bytes: Buffer | undefined, from: string, to: string): Buffer {
  return Buffer.from((bytes ?? '').toString('latin1').replace(from, to), 'latin1');
}

function flip(bytes: Buffer, at: number): Buffer {
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0x40, at);
  return bytes;
}

for (const [what, bytes, message] of damages) {
  test(`${what} is reported once, with the record`, async () => {
    const [problem, ...more] = await problemsOf(write('damaged.warc', bytes));
    assert.match(problem ?? '', message);
    assert.deepEqual(more, []);
  });
}

test('a file that is not a WARC is reported in one sentence', async () => {
  assert.equal(
    await messageOf(write('empty', '')),
    '--input must be a WARC file, but "./empty" is empty.',
  );
  assert.equal(
    await messageOf(write('page.html', '<html>')),
    '--input must be a WARC file, but "./page.html" begins with "<html" instead of "WARC/".',
  );
  assert.equal(
    await messageOf(path.join(folder, 'missing')),
    '--input must be a WARC file, but "./missing" does not exist.',
  );
  assert.equal(await messageOf(folder), '--input must be a WARC file, but "." is a folder.');
});

test('damage is known before the first document is returned, and costs no other document', async () => {
  const cut = (crawl[4] as Buffer).subarray(0, -10);
  const file = write('late.warc', Buffer.concat([cut, ...crawl]));
  const opened = await openCrawl([file]);
  assert.deepEqual(
    opened.damages.map((damage) => damage.record),
    [1],
  );
  assert.equal(opened.records.redirect, 1);
  assert.equal((await Array.fromAsync(opened.documents())).length, opened.records.page);
});

test('a crawl without pages is refused: every clustering of it would be right', async () => {
  const file = write('moved.warc', Buffer.concat(crawl.slice(3, 5)));
  await assert.rejects(
    openCrawl([file]),
    new UsageError(
      `--input must be a WARC file with pages, but no response in ${JSON.stringify(file)} has status 200 and an HTML content type.`,
    ),
  );
});

test('the pages of several files are one crawl, redirects included', async () => {
  const moved = response('1', 'HTTP/1.1 308 Moved\r\nLocation: http://b.example/\r\n', '');
  const opened = await openCrawl([
    write('first.warc', Buffer.concat(crawl)),
    write('second.warc', moved),
  ]);
  assert.deepEqual(opened.records, {
    page: 2,
    redirect: 2,
    failure: 2,
    'not-html': 1,
    'not-response': 4,
  });
  const addresses: [string, string][] = [];
  for await (const { id, keys } of opened.documents()) addresses.push([id, keys[2]]);
  assert.deepEqual(addresses, [
    ['0000000000', 'b.example'],
    ['0000000001', 'a.example/5'],
  ]);
});
