/** `./run.sh web-index` as a user runs it, on small crawls. */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { interruptProgram, runProgram } from '../harness/testing/run-script.ts';
import { pageRecord, warcRecord } from './model/warc.fixture.ts';

const MAIN = new URL('main.ts', import.meta.url);

/** Pages with links to one another, each under two addresses, and a record that is damaged. */
function crawl(folder: string, pages: number): string {
  const records = Array.from({ length: pages }, (_, i) => {
    const html = `<title>Page ${i >> 1}</title>words of${i >> 1} <a href="/${(i + 7) % pages}">seven</a>`;
    return pageRecord(`http://a.example/${i}`, html);
  });
  const file = path.join(folder, `crawl-${pages}.warc.gz`);
  records.push(
    warcRecord('response', 'http://a.example/bad', 'HTTP/1.1 200 OK\r\n\r\n').subarray(9),
  );
  writeFileSync(file, gzipSync(Buffer.concat(records)));
  return file;
}

/** What the first group of the pattern matches, once the stream has said it. */
async function untilSaid(stream: Readable, pattern: RegExp): Promise<string> {
  let heard = '';
  for await (const [text] of on(stream, 'data', { close: ['end'] })) {
    heard += String(text);
    const said = pattern.exec(heard)?.[1];
    if (said !== undefined) return said;
  }
  throw new Error(`it ended, and had said only: ${heard}`);
}

test('ctrl-C ends a load, and the next one completes the index; the search page answers while it loads and afterwards, until ctrl-C', async () => {
  const folder = temporaryFolder();
  const words = ['--input', crawl(folder, 30), '--data', path.join(folder, 'data'), '--no-fsync'];
  const interrupted = await interruptProgram(MAIN, words, 'loading ...');
  assert.equal(interrupted.exitCode, 130, interrupted.stderr);
  assert.equal(interrupted.stdout, '');

  const child = execaNode(MAIN, [...words, '--serve'], { reject: false, timeout: 600_000 });
  const address = untilSaid(child.stderr, /^Search: (http.*)$/m);
  const result = untilSaid(child.stdout, /^(30 captures in .*)$/m);
  assert.match(await (await fetch(await address)).text(), /Loading the crawl/);
  assert.match(await result, /: 15 results can be found\. 1 record left out\.$/);
  const found = await (await fetch(`${await address}?q=of7`)).text();
  assert.match(found, /1 page\s[^]*Page 7[^]*The same content at 1 other address/);
  child.kill('SIGINT');
  assert.equal((await child).exitCode, 130);
});

test('the tables may be in another store, such as the emulator', async (t) => {
  const words = ['--input', crawl(temporaryFolder(), 4), '--store', 'emulator'];
  const { exitCode, stdout, stderr } = await runProgram(MAIN, words);
  const isMissing = /^--store: the official Bigtable emulator .* is neither /m.test(stderr);
  if (isMissing) return t.skip(stderr);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^4 captures in .* 2 results can be found\. 1 record left out\.$/);
  assert.match(stderr, /^What can be searched is deleted at the end: --data keeps it/m);
});

test('a mistake is one sentence, and exit code 2', async () => {
  const folder = temporaryFolder();
  const text = path.join(folder, 'text');
  writeFileSync(text, 'no crawl');
  const unreadable = path.join(folder, 'unreadable.warc');
  writeFileSync(unreadable, pageRecord('http://a.example/', 'cut off').subarray(0, -9));
  const mistakes: readonly (readonly [words: readonly string[], sentence: RegExp])[] = [
    [[], /^--input must name a file to load; without one, --serve needs --data /],
    [['--input', text, '--no-fsync'], /^--input must be a WARC file, but .* begins with "no cr"/m],
    [
      ['--data', folder, '--serve'],
      /^--data must be the folder of an earlier load .* no search index in .*\.$/,
    ],
    [
      ['--input', unreadable, '--no-fsync'],
      /^--input must hold HTTP responses .*: 1 record left out\.$/m,
    ],
  ];
  const ended = await Promise.all(mistakes.map(([words]) => runProgram(MAIN, words)));
  for (const [i, [, sentence]] of mistakes.entries()) {
    assert.equal(ended[i]?.exitCode, 2, ended[i]?.stderr);
    assert.match(ended[i]?.stderr ?? '', sentence);
    assert.equal(ended[i]?.stdout, '');
  }
});
