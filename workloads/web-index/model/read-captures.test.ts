/**
 * Claims about reading a hostile crawl: each bad record costs one report and no more, and the pages
 * around it are read.
 */
import assert from 'node:assert/strict';
import { createWriteStream, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { finished } from 'node:stream/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { UsageError } from '#results';
import { temporaryFolder } from '#engine/testing';
import { type Capture, describeDamage, kindOf, readCaptures } from './index.ts';
import { BODY_BYTES_MAX, HEAD_BYTES_MAX, RECORD_BYTES_MAX, REREADS_MAX } from './limits.ts';
import { HTML_TYPE, pageRecord, warcRecord } from './warc.fixture.ts';

const folder = temporaryFolder();
const SAMPLE = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
const before = pageRecord('http://a.example/before', 'before');
const after = pageRecord('http://a.example/after', 'after');

function write(name: string, bytes: string | Buffer): string {
  const file = path.join(folder, name);
  writeFileSync(file, bytes);
  return file;
}

async function read(...files: readonly string[]): Promise<{
  readonly captures: readonly Capture[];
  readonly names: readonly string[];
  readonly problems: readonly string[];
}> {
  const problems: string[] = [];
  const captures: Capture[] = [];
  const onDamage = (damage: Parameters<typeof describeDamage>[0]): void => {
    problems.push(describeDamage(damage).replace(folder, '.'));
  };
  for await (const capture of readCaptures(files, { onDamage })) captures.push(capture);
  const names = captures.map(({ url }) => url.replace('http://a.example/', ''));
  return { captures, names, problems };
}

/** Reads a file in which `bad` lies between two good pages. */
function readAround(name: string, bad: Buffer): ReturnType<typeof read> {
  return read(write(name, Buffer.concat([before, bad, after])));
}

function edit(bytes: Buffer, from: string | RegExp, to: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');
}

test('the sample is read whole, with nothing left out', async () => {
  const { captures, problems } = await read(SAMPLE);
  assert.equal(captures.length, 442);
  assert.ok(captures.every((capture) => kindOf(capture) === 'page'));
  assert.deepEqual(problems, []);
});

test('several files are read in their order, gzipped or not, and the numbers of their captures go on from file to file', async () => {
  const first = write('first.warc.gz', Buffer.concat([before, after].map((one) => gzipSync(one))));
  const second = write('second.warc', Buffer.concat([after, before]));
  const { captures, names } = await read(first, second);
  assert.deepEqual(names, ['before', 'after', 'after', 'before']);
  assert.deepEqual(
    captures.map(({ ordinal }) => ordinal),
    [1, 2, 3, 4],
  );
});

test('redirects, removals and resources are captures, and records about the crawl are not', async () => {
  const answer = (head: string): Buffer => warcRecord('response', 'http://a.example/x', head);
  const { captures, problems } = await readAround(
    'kinds.warc',
    Buffer.concat([
      warcRecord('request', 'http://a.example/x', 'GET / HTTP/1.1\r\n\r\n'),
      warcRecord('response', 'dns:a.example', '20261121\na.example. 1 IN A 127.0.0.1'),
      answer('HTTP/1.1 301 Moved\r\nLocation: /y\r\n\r\n'),
      answer('HTTP/1.1 404 Not Found\r\n\r\nNo'),
      answer('HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\np {}'),
      answer('HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nPNG'),
      answer('HTTP/1.1 503 Busy\r\n\r\n'),
      answer('HTTP/1.1 302 Found\r\nLocation: javascript:void(0)\r\n\r\n'),
    ]),
  );
  assert.deepEqual(captures.map(kindOf), [
    'page',
    'redirect',
    'gone',
    'resource',
    'gone',
    'unknown',
    'unknown',
    'page',
  ]);
  assert.deepEqual(problems, []);
});

const lie = (to: string): Buffer =>
  edit(pageRecord('http://a.example/lie', '<p>lie'), /Content-Length: \d+/u, to);
const longUrl = (length: number): string => `http://a.example/${'u'.repeat(length)}`;
function packedRecord(encoding: string, body: Buffer): Buffer {
  const head = `HTTP/1.1 200 OK\r\n${HTML_TYPE}Content-Encoding: ${encoding}\r\n\r\n`;
  return warcRecord('response', longUrl(1), Buffer.concat([Buffer.from(head), body]));
}
/** The head of the answer that contains a page. */
const PAGE_HEAD = `HTTP/1.1 200 OK\r\n${HTML_TYPE}\r\n`;

const hostile: readonly (readonly [string, Buffer, RegExp])[] = [
  ['a length too small', lie('Content-Length: 9'), /record 2 does not end after the 9 bytes/u],
  ['a length too large', lie('Content-Length: 70'), /record 2 does not end after the 70 bytes/u],
  [
    'a length past the end of the file',
    lie('Content-Length: 7000000'),
    /record 2 does not end after the 7000000 bytes/u,
  ],
  ['a length of a terabyte', lie('Content-Length: 1000000000000'), /record 2 is too large/u],
  ['a negative length', lie('Content-Length: -1'), /record 2 does not say its length/u],
  ['no length', lie('Content-Size: 5'), /record 2 does not say its length/u],
  ['no date', edit(after, 'WARC-Date', 'Date'), /record 2 does not say when it was made/u],
  ['something else', Buffer.from('garbage\r\n\r\n'), /record 2 does not begin like one/u],
  ['NUL bytes', Buffer.from(`${'\0'.repeat(5_000)}\r\n\r\n`), /record 2 does not begin like one/u],
  [
    'a URL of a few thousand characters',
    pageRecord(longUrl(5_000), 'x'),
    /record 2 has no http or https URL/u,
  ],
  [
    'a URL of a megabyte',
    pageRecord(longUrl(2 ** 20), 'x'),
    /record 2 has a head that is too large: \d+ bytes/u,
  ],
  [
    'a URL of another scheme',
    pageRecord('ftp://a.example/', 'x'),
    /record 2 has no http or https URL/u,
  ],
  [
    'a body too large',
    pageRecord(longUrl(1), 'x'.repeat(BODY_BYTES_MAX + 1)),
    /record 2 has a body/u,
  ],
  [
    'a body that unpacks to too much',
    packedRecord('gzip', gzipSync(Buffer.alloc(BODY_BYTES_MAX * 4))),
    /record 2 has a body of \d+ bytes/u,
  ],
];

for (const [what, bad, problem] of hostile) {
  test(`a record with ${what} costs one report, and the pages around it are read`, async () => {
    const { names, problems } = await readAround('hostile.warc', bad);
    assert.deepEqual(names, ['before', 'after']);
    assert.match(problems.join('\n'), problem);
    assert.equal(problems.length, 1);
  });
}

test('a record of 100 MB costs one report, and is not held in memory', async () => {
  const bytes = 100 * 2 ** 20;
  const file = path.join(folder, 'huge.warc');
  const stream = createWriteStream(file);
  stream.write(before);
  const head = `WARC/1.0\r\nWARC-Type: response\r\nContent-Length: ${bytes + PAGE_HEAD.length}\r\n\r\n`;
  stream.write(head + PAGE_HEAD);
  const piece = Buffer.alloc(2 ** 20, 'x');
  for (let written = 0; written < bytes; written += piece.length) stream.write(piece);
  stream.write('\r\n\r\n');
  stream.end(after);
  await finished(stream);
  const memory = process.memoryUsage.rss();
  const { names, problems } = await read(file);
  assert.deepEqual(names, ['before', 'after']);
  assert.match(problems.join('\n'), /^"\.\/huge\.warc": record 2 is too large: .* bytes$/u);
  assert.ok(process.memoryUsage.rss() - memory < 64 * 2 ** 20 + RECORD_BYTES_MAX);
});

test('a record that is too large cannot forge captures of other sites', async () => {
  const forged = String(pageRecord('http://a.example/forged', 'forged'));
  const page = `${PAGE_HEAD}${'x'.repeat(9 * 2 ** 20)}\r\n\r\n${forged}${'x'.repeat(2 ** 20)}`;
  const large = warcRecord('response', 'http://b.example/', page);
  assert.ok(large.length > RECORD_BYTES_MAX);
  const longAddress = pageRecord(`http://b.example/${'u'.repeat(70_000)}`, `\r\n\r\n${forged}`);
  for (const pages of [
    [before, longAddress, after],
    [before, large, after],
    [before, after, large],
    [before, large, large, after],
  ]) {
    const { names, problems } = await read(write('forged.warc', Buffer.concat(pages)));
    assert.deepEqual(names, ['before', 'after']);
    assert.equal(problems.length, pages.length - 2, problems.join('\n'));
  }
});

test('lengths that are too large and wrong cost one report each, and at most a few readings of the file', async () => {
  const wrong = lie(`Content-Length: ${RECORD_BYTES_MAX + 1}`);
  const filler = pageRecord('http://a.example/filler', 'x'.repeat(2 ** 20));
  const rest = Array.from({ length: 9 }, () => filler);
  const few = await read(write('few.warc', Buffer.concat([wrong, before, wrong, after, ...rest])));
  assert.deepEqual(few.names.slice(0, 3), ['before', 'after', 'filler']);
  assert.equal(few.problems.length, 2);
  const lies = Array.from({ length: 10_000 }, () => wrong);
  const many = await read(write('many.warc', Buffer.concat([before, ...lies, ...rest])));
  assert.equal(many.names[0], 'before');
  assert.equal(many.names.at(-1), 'filler');
  // After the last reading from the beginning, a wrong length hides all other lies.
  assert.equal(many.problems.length, REREADS_MAX + 1);
});

test('a body that is too large to be unpacked costs one report', async () => {
  const body = Buffer.alloc(2 ** 27 + 1);
  const packed = { gzip: gzipSync(body), zstd: zstdCompressSync(body) };
  for (const [encoding, bytes] of Object.entries(packed)) {
    const { names, problems } = await readAround('bomb.warc', packedRecord(encoding, bytes));
    assert.deepEqual(names, ['before', 'after']);
    assert.match(
      problems.join('\n'),
      /^"\.\/bomb\.warc": record 2 has a body that unpacks to .*$/u,
    );
  }
});

test('a gzip file that is cut off in its second record costs one report, wherever in that record it is cut', async () => {
  const members = [before, after].map((one) => gzipSync(one));
  const whole = Buffer.concat(members);
  for (let cut = (members[0] as Buffer).length + 1; cut < whole.length; cut += 7) {
    const { names, problems } = await read(write('cut.warc.gz', whole.subarray(0, cut)));
    assert.equal(names[0], 'before');
    // If only the check sum is cut off, the record is read nevertheless.
    assert.deepEqual(names, ['before', 'after'].slice(0, names.length));
    assert.equal(problems.length, 1, problems.join('\n'));
    const next = names.length + 1;
    assert.ok(problems[0]?.includes(`record ${next} and all after it cannot be unpacked`));
  }
});

test('a plain file that is cut off in its second record costs one report, wherever in that record it is cut', async () => {
  const whole = Buffer.concat([before, after]);
  for (let cut = before.length + 7; cut < whole.length - 4; cut += 3) {
    const { names, problems } = await read(write('cut.warc', whole.subarray(0, cut)));
    assert.deepEqual(names, ['before']);
    assert.equal(problems.length, 1, problems.join('\n'));
  }
});

test('records are read whole if a chunk of the file ends at, or near, the beginning of one', async () => {
  for (let cut = -6; cut < 6; cut++) {
    const filler = pageRecord('http://a.example/filler', '');
    // CHUNK_BYTES of unpacked-file.ts is 2 ** 18.
    const padded = 'x'.repeat(2 ** 18 - filler.length - 6 - cut);
    const bytes = [pageRecord('http://a.example/filler', padded), before, after];
    const { names, problems } = await read(write('chunks.warc', Buffer.concat(bytes)));
    assert.deepEqual([names, problems], [['filler', 'before', 'after'], []]);
  }
  assert.ok(HEAD_BYTES_MAX < 2 ** 18); // So a head lies in at most two chunks.
});

test('a file that is not there, or is no WARC, is an error', async () => {
  await assert.rejects(read(path.join(folder, 'missing.warc')), UsageError);
  await assert.rejects(read(write('page.html', '<html>')), UsageError);
});
