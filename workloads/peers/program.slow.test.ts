/** A program of bench:peers that breaks ends the run with a sentence; one that hangs is ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeerProgram } from './program.ts';

const { signal } = new AbortController();

function program(text: string): PeerProgram {
  return new PeerProgram({ words: [process.execPath, '-e', text], serverPids: [] });
}

test('an answer is found among what the program logs, and has its processor time', async () => {
  const text = `process.stdin.on('data', () => {
    for (const begin = process.cpuUsage(); process.cpuUsage(begin).user < 200_000;);
    console.log('INFO: done\\n{"done":3,"seconds":0.2}');
  })`;
  await using answering = program(text);
  const { done, cpuSeconds } = await answering.ask('crawl 3 1 1', signal);
  assert.equal(done, 3);
  assert.ok(cpuSeconds !== null && cpuSeconds > 0.1, String(cpuSeconds));
});

test('the end of a program is an error with its last words', async () => {
  await using ending = program(`console.error('the disk is full'); process.exit(3)`);
  await assert.rejects(ending.ask('load', signal), {
    message: 'asked to load, it ended with exit code 3\nthe disk is full',
  });
});

test('a program that does not exist is an error, too', async () => {
  await using missing = new PeerProgram({ words: ['/nowhere/program'], serverPids: [] });
  await assert.rejects(missing.ask('load', signal), /^Error: asked to load, it ended /);
});

test('an interrupt ends a program that is silent', async () => {
  await using silent = program('setInterval(() => {}, 1000)');
  await assert.rejects(silent.ask('load', AbortSignal.timeout(200)), { name: 'TimeoutError' });
});
