/** The streaming contract at its edges: empty keys, no last newline, lines longer than a read. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Slice, streamMap, streamReduce, type MapReduceJob } from './index.ts';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import { createJob } from './testing/word-count-job.ts';

const wordCount = createJob({ combine: false });

type Stream = typeof streamMap;

/** Calls the mapper or the reducer with input and output in files, a character for each byte. */
function throughFiles(folder: string, stream: Stream, job: MapReduceJob, text: string): string {
  writeFileSync(join(folder, 'in'), text, 'latin1');
  const [input, output] = [openSync(join(folder, 'in'), 'r'), openSync(join(folder, 'out'), 'w')];
  stream(job, { input, output });
  closeSync(input);
  closeSync(output);
  return readFileSync(join(folder, 'out'), 'latin1');
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

test('the reducer gets the keys and values that the mapper has emitted, whatever bytes they have', () => {
  const folder = temporaryFolder();
  const bytes = fc.array(fc.constantFrom(...Buffer.from('\t\n\r\\tnr\0a\xff', 'latin1')), {
    maxLength: 6,
  });
  const records = fc.array(fc.tuple(bytes, bytes), { maxLength: 20 });
  const slice = (given: readonly number[]): Slice => new Slice(Buffer.from(given));
  const hex = ({ bytes: all, start, end }: Slice): string => all.toString('hex', start, end);
  const claim = (emitted: readonly (readonly [number[], number[]])[]): void => {
    const got: string[] = [];
    const job: MapReduceJob = {
      map: (_line, output) => {
        for (const [key, value] of emitted) output.emit(slice(key), slice(value));
      },
      reduce: (key, values) => {
        while (values.next()) got.push(`${hex(key)} ${hex(values.value)}`);
      },
    };
    const mapped = throughFiles(folder, streamMap, job, 'a line\n');
    const lines = mapped.split('\n').slice(0, -1).toSorted(); // As bytes, and so equal keys together.
    throughFiles(folder, streamReduce, job, lines.map((line) => `${line}\n`).join(''));
    const expected = emitted.map(([key, value]) => `${hex(slice(key))} ${hex(slice(value))}`);
    assert.deepEqual(got.toSorted(), expected.toSorted());
  };
  assert.doesNotThrow(() => fc.assert(fc.property(records, claim), { seed: 1, numRuns: 200 }));
});
