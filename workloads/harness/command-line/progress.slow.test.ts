/** Progress is a bar on a terminal, and lines in a log. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { startProgress } from './progress.ts';

test('a pipe receives plain lines: the start and end of each phase, and notes', () => {
  const written = writeProgress(false);
  assert.doesNotMatch(written, /[^\n\x20-\x7e]/, 'no control character');
  const lines = written.trimEnd().split('\n');
  assert.equal(lines.length, 5);
  assert.deepEqual(lines.slice(0, 2), ['loading ...', 'percolator at 1 %/h: sustained']);
  assert.match(lines[2] ?? '', /^loading: 1,000 documents in 0\.\d s$/);
  assert.equal(lines[3], 'measuring ...');
  assert.match(lines[4] ?? '', /^measuring: 0\.\d s$/);
});

test('a terminal shows a bar, and the line of each phase remains', () => {
  const written = writeProgress(true);
  assert.match(written, /loading {2}.*documents, 0\.\d s/);
  assert.match(written, /percolator at 1 %\/h: sustained\n/);
  assert.match(written, /loading: 1,000 documents in 0\.\d s\n/);
  assert.match(written, /measuring: 0\.\d s\n/);
});

function writeProgress(isTTY: boolean): string {
  const stream = Object.assign(new PassThrough(), {
    isTTY,
    columns: 120,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  });
  // Only the members of a terminal that progress uses.
  const progress = startProgress({ stream: stream as unknown as NodeJS.WriteStream });
  progress.phase('loading', 1000, 'documents');
  for (let done = 0; done <= 1000; done++) progress.update(done);
  progress.note('percolator at 1 %/h: sustained');
  progress.phase('measuring', 0);
  progress.end();
  progress.end();
  return String(stream.read());
}
