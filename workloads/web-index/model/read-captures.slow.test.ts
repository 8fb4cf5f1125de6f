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
import { createRandom } from '#engine/base';
import { UsageError } from '#results';
import { temporaryFolder } from '#engine/testing';
import { type Capture, describeDamage, kindOf, readCaptures } from './index.ts';
import {
  HEAD_BYTES_MAX,
  RECORD_BYTES_MAX,
  REREADS_MAX,
} from '../../crawl-rate/documents/warc-records.ts';
import { BODY_BYTES_MAX } from './limits.ts';
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
  readonly notes: readonly string[];
}> {
  const problems: string[] = [];
  const notes: string[] = [];
  const captures: Capture[] = [];
  const onDamage = (damage: Parameters<typeof describeDamage>[0]): void => {
    problems.push(describeDamage(damage).replace(folder, '.'));
  };
  const onNote = (note: string): void => void notes.push(note);
  for await (const capture of readCaptures(files, { onDamage, onNote })) captures.push(capture);
  const names = captures.map(({ url }) => url.replace('http://a.example/', ''));
  return { captures, names, problems, notes };
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
    assert.deepEqual(names, ['before']);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', /record 2 cannot be unpacked \(/);
  }
});

/** One record in each member, as crawlers write them. */
const MEMBERS = 20;
const members = Array.from({ length: MEMBERS }, (_, i) =>
  gzipSync(pageRecord(`http://a.example/${i}`, `<title>Page ${i}</title>text of page ${i * 7919}`)),
);

test('one byte of a packed crawl that is changed, removed, added, or begins a hole costs at most the record that it hits, and that one is named', async () => {
  const whole = Buffer.concat(members);
  const ends = members.map((_, i) => Buffer.concat(members.slice(0, i + 1)).length);
  const random = createRandom(55);
  const damages: Readonly<Record<string, (at: number) => Buffer[]>> = {
    changed: (at) => [
      whole.subarray(0, at),
      Buffer.from([whole.readUInt8(at) ^ random.integer(1, 255)]),
      whole.subarray(at + 1),
    ],
    removed: (at) => [whole.subarray(0, at), whole.subarray(at + 1)],
    added: (at) => [
      whole.subarray(0, at),
      Buffer.from([random.integer(0, 255)]),
      whole.subarray(at),
    ],
    hole: (at) => [whole.subarray(0, at), Buffer.alloc(16), whole.subarray(at + 16)],
  };
  for (let at = 0; at < whole.length - 16; at += random.integer(1, 12)) {
    const hit = ends.findIndex((end) => at < end);
    for (const [how, damage] of Object.entries(damages)) {
      const { names, problems } = await read(write('hit.warc.gz', Buffer.concat(damage(at))));
      const context = `byte ${at} ${how}: ${names.join()}: ${problems.join()}`;
      const isNextHit = how === 'hole' && at + 16 > (ends[hit] as number);
      const missing = members.map((_, i) => i).filter((i) => !names.includes(`${i}`));
      const allowed = isNextHit ? [hit, hit + 1] : [hit];
      assert.deepEqual(
        missing.filter((i) => !allowed.includes(i)),
        [],
        context,
      );
      assert.ok(missing.length > 0 ? problems.length > 0 : problems.length <= 1, context);
      const named = problems.map((problem) => Number(/record (\d+) /u.exec(problem)?.[1]) - 1);
      assert.ok(
        named.every((i) => allowed.includes(i)),
        context,
      );
    }
  }
});

test('of a gzip file with one member for all records, damage costs the records from there on', async () => {
  const records = Array.from({ length: 16 }, (_, i) => pageRecord(`http://a.example/${i}`, `${i}`));
  const whole = gzipSync(Buffer.concat(records), { level: 0 });
  const at = whole.indexOf('a.example/9');
  whole.writeUInt8(0x58, at); // Stored bytes: only the checksum tells.
  const { names, problems } = await read(write('one.warc.gz', whole));
  assert.deepEqual([names.length, problems.length], [15, 1]);
  assert.match(problems[0] ?? '', /record 16 cannot be unpacked \(wrong checksum\)$/);
  const cut = await read(write('one.warc.gz', whole.subarray(0, at)));
  assert.deepEqual([cut.names.length, cut.problems.length], [9, 1]);
  assert.match(cut.problems[0] ?? '', /record 10 cannot be unpacked/);
});

test('large members are read as a stream, and damage in one costs no other', async () => {
  const random = createRandom(7);
  const filler = Buffer.from(Array.from({ length: 3 * 2 ** 20 }, () => random.integer(32, 126)));
  const large = gzipSync(pageRecord('http://a.example/large', filler.toString('latin1')));
  const small = members.slice(0, 2) as [Buffer, Buffer];
  const good = await read(write('large.warc.gz', Buffer.concat([small[0], large, small[1]])));
  assert.deepEqual([good.names, good.problems], [['0', 'large', '1'], []]);
  large.writeUInt8(large.readUInt8(large.length - 6) ^ 1, large.length - 6);
  const bad = await read(write('large.warc.gz', Buffer.concat([small[0], large, small[1]])));
  assert.deepEqual(bad.names, ['0', '1']);
  assert.match(bad.problems.join(), /record 2 cannot be unpacked \(wrong checksum\)$/);
});

test('bytes that lie between members, or after the last one, cost no record', async () => {
  const lineEnds = members.flatMap((member) => [member, Buffer.from('\r\n')]);
  const packed = await read(write('between.warc.gz', Buffer.concat(lineEnds)));
  assert.deepEqual([packed.names.length, packed.problems], [MEMBERS, []]);
  for (const garbage of [Buffer.from('garbage\n'), Buffer.alloc(512)]) {
    const atEnd = await read(write('after.warc.gz', Buffer.concat([...members, garbage])));
    assert.deepEqual([atEnd.names.length, atEnd.problems.length], [MEMBERS, 1]);
    assert.match(atEnd.problems[0] ?? '', /record 21 .* bytes of the file are no gzip member/);
    const [first = Buffer.alloc(0), ...rest] = members;
    const within = await read(write('after.warc.gz', Buffer.concat([first, garbage, ...rest])));
    assert.deepEqual([within.names.length, within.problems.length], [MEMBERS, 1]);
  }
});

test('a record whose length counts the empty line after it is whole where its member ends', async () => {
  const swallowing = pageRecord('http://a.example/swallows', 'text');
  const length = Number(/Content-Length: (\d+)/u.exec(swallowing.toString())?.[1]) + 4;
  const record = edit(swallowing, /Content-Length: \d+/u, `Content-Length: ${length}`);
  const packed = [record, before].map((one) => gzipSync(one));
  const { names, captures, problems } = await read(write('swallow.warc.gz', Buffer.concat(packed)));
  assert.deepEqual([names, problems], [['swallows', 'before'], []]);
  assert.equal(String(captures[0]?.body), 'text');
});

test('captures whose date cannot be read are dated by their file or their server, and their number is said once', async () => {
  const undated = (name: string, more = ''): Buffer =>
    edit(
      warcRecord(
        'response',
        `http://a.example/${name}`,
        `HTTP/1.1 200 OK\r\n${more}${HTML_TYPE}\r\n`,
      ),
      /WARC-Date: .*/u,
      'WARC-Date: 2008-10-294T05:21:46-0700\r',
    );
  const served = undated('b', 'Date: Tue, 04 Nov 2008 08:49:37 GMT\r\n');
  const { captures, problems, notes } = await read(
    write('no.warc', Buffer.concat([undated('a'), served])),
  );
  assert.deepEqual(
    captures.map(({ timeMs }) => timeMs),
    [0, Date.UTC(2008, 10, 4, 8, 49, 37)],
  );
  assert.deepEqual(problems, []);
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /2 captures do not say when they were made/);
  const info = warcRecord('warcinfo', 'urn:x', '');
  const dated = await read(write('info.warc', Buffer.concat([info, undated('a'), served])));
  const times = dated.captures.map(({ timeMs }) => timeMs);
  assert.deepEqual(
    times,
    times.map(() => Date.UTC(2026, 10, 21, 0, 58, 22)),
  );
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
