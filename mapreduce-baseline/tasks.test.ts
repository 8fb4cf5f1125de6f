/** Map tasks: when they combine, and how they call the job. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import { Slice } from './bytes.ts';
import type { MapReduceJob, Output, ValueCursor } from './job.ts';
import { SpillFile } from './tasks.ts';
import { runMapTask } from './tasks.ts';

const ONE = new Slice(Buffer.from('1'));
/** They fill several buffers of `BUFFER_BYTES`. */
const RECORDS = 1_000;
const BUFFER_BYTES = 2_048;

/** How many records were emitted before each call of the combiner. */
function combinedAfter(keyOf: (record: number) => string): readonly number[] {
  const calls: number[] = [];
  const combine = (key: Slice, _values: ValueCursor, output: Output): void => {
    calls.push(spill.recordsEmitted);
    output.emit(key, ONE);
  };
  const path = join(temporaryFolder(), 'spill');
  using spill = new SpillFile({ path, partitions: 1, bufferBytes: BUFFER_BYTES, combine });
  for (let i = 0; i < RECORDS; i++) spill.emit(new Slice(Buffer.from(keyOf(i))), ONE);
  spill.finish();
  return calls;
}

test('a task goes on combining as long as keys repeat, to its end', () => {
  const calls = combinedAfter((record) => `key ${record % 3}`);
  assert.ok(new Set(calls).size > 5, `${new Set(calls).size} buffers`);
  assert.equal(calls.at(-1), RECORDS);
});

test('a task stops combining after a buffer whose keys do not repeat', () => {
  const calls = combinedAfter((record) => `key ${record}`);
  assert.ok(calls.length > 0);
  assert.equal(new Set(calls).size, 1, 'only one buffer is combined');
});

/** A job whose functions need their object: each word once. */
class Words implements MapReduceJob {
  readonly #one = ONE;

  map(record: Slice, output: Output): void {
    output.emit(record, this.#one);
  }

  combine(key: Slice, _values: ValueCursor, output: Output): void {
    output.emit(key, this.#one);
  }

  reduce(key: Slice, _values: ValueCursor, output: Output): void {
    output.emit(key, this.#one);
  }
}

test('the combiner is called on its job, as map and reduce are', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'words');
  await writeFile(path, 'be\nbe\nbe\n');
  const report = await runMapTask(
    {
      kind: 'map',
      name: 'map task',
      job: { url: 'file:///job.ts' },
      input: [{ path, start: 0, end: 9 }],
      partitions: 1,
      spillPath: join(folder, 'spill'),
      memoryBytes: 64 * 1024,
    },
    new Words(),
  );
  assert.equal(report.recordsEmitted, 3);
  assert.deepEqual(
    report.segments.map(({ records }) => records),
    [1],
  );
});
