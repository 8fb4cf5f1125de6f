/** The streaming contract at its edges: empty keys, no last newline, lines longer than a read. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { streamMap, streamReduce, type MapReduceJob } from './index.ts';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import { createJob } from './testing/word-count-job.ts';

const wordCount = createJob({ combine: false });

type Stream = typeof streamMap;

/** Calls the mapper or the reducer with input and output in files; returns the output. */
function throughFiles(folder: string, stream: Stream, job: MapReduceJob, text: string): string {
  writeFileSync(join(folder, 'in'), text);
  const [input, output] = [openSync(join(folder, 'in'), 'r'), openSync(join(folder, 'out'), 'w')];
  stream(job, { input, output });
  closeSync(input);
  closeSync(output);
  return readFileSync(join(folder, 'out'), 'utf8');
}

test('the mapper reads every line, also a last one without a newline, and writes key, tab, value', async () => {
  const folder = temporaryFolder();
  const written = throughFiles(folder, streamMap, wordCount, 'to be\n\nor not');
  assert.equal(written, 'to\t1\nbe\t1\n\t1\nor\t1\nnot\t1\n');
  assert.equal(throughFiles(folder, streamMap, wordCount, ''), '');
});

test('the reducer groups neighbouring lines of one key, also of an empty key', async () => {
  const folder = temporaryFolder();
  const written = throughFiles(folder, streamReduce, wordCount, '\t1\n\t2\na\t3\nab\t4\nab\t5');
  assert.equal(written, '\t3\na\t3\nab\t9\n');
  assert.equal(throughFiles(folder, streamReduce, wordCount, ''), '');
});

test('a reduce function that reads no values is still called once for each key', async () => {
  const folder = temporaryFolder();
  const keysOnly: MapReduceJob = {
    ...wordCount,
    reduce: (key, _values, output) => output.emit(key, key),
  };
  const written = throughFiles(folder, streamReduce, keysOnly, 'a\t1\na\t2\nb\t3\nc\t4\nc\t5\n');
  assert.equal(written, 'a\ta\nb\tb\nc\tc\n');
});

test('lines of several megabytes pass whole', async () => {
  const folder = temporaryFolder();
  const words = ['short', 'x'.repeat(5_000_000), 'y'.repeat(1_048_576), 'end'];
  const written = throughFiles(folder, streamMap, wordCount, `${words.join('\n')}\n`);
  assert.deepEqual(written.replaceAll('\t1', '').split('\n').slice(0, -1), words);
});
