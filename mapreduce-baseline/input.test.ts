/** Splits: wherever they are cut, every record is read once, whatever the size of the blocks. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import { forEachRecord, planTaskInputs, readRecordBlocks, resolveInputs } from './input.ts';
import { MapReduceError } from './job.ts';

/** Blocks have at least 64 KiB, whatever is asked for. */
const SMALLEST = 1;

async function recordsIn(
  path: string,
  start: number,
  end: number,
  blockBytes = SMALLEST,
): Promise<string[]> {
  const records: string[] = [];
  for await (const block of readRecordBlocks({ path, start, end }, blockBytes)) {
    forEachRecord(block, (record) => records.push(record.toString()));
  }
  return records;
}

test('two splits cut at any byte lose nothing and repeat nothing', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'records');
  for (const text of ['a\nbcd\n\n\nefg\nh\n', 'no newline at the end\nlast', '\n', 'single']) {
    await writeFile(path, text);
    const lines = text.replace(/\n$/, '').split('\n');
    for (let cut = 0; cut <= text.length; cut++) {
      const first = cut === 0 ? [] : await recordsIn(path, 0, cut);
      const second = cut === text.length ? [] : await recordsIn(path, cut, text.length);
      assert.deepEqual([...first, ...second], lines, `${JSON.stringify(text)} cut at ${cut}`);
    }
  }
});

test('records longer than a block, or than the space kept before one, come out whole', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'records');
  const lines = ['short', 'x'.repeat(70_000), '', 'y'.repeat(400_000), 'z'.repeat(65_536), 'end'];
  await writeFile(path, lines.map((line) => `${line}\n`).join(''));
  const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
  for (const blockBytes of [SMALLEST, 65_537, 100_000, 1_000_000]) {
    for (const cut of [1, 6, 7, 65_536, 70_006, 70_007, 70_008, 200_000, 470_009, size - 4]) {
      const read = [
        ...(await recordsIn(path, 0, cut, blockBytes)),
        ...(await recordsIn(path, cut, size, blockBytes)),
      ];
      assert.deepEqual(read, lines, `cut at ${cut}, blocks of ${blockBytes}`);
    }
  }
});

test('a range that ends at a record boundary does not read bytes appended after it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'records');
  await writeFile(path, 'one\ntwo\nhalf a rec');
  assert.deepEqual(await recordsIn(path, 0, 8), ['one', 'two']);
});

test('planned splits cover every byte of the inputs once, in order, and none is too large', () => {
  const range = fc.tuple(fc.nat(50), fc.nat(200)).map(([start, length]) => ({
    path: 'file',
    start,
    end: start + length,
  }));
  fc.assert(
    fc.property(fc.array(range), fc.integer({ min: 1, max: 99 }), (inputs, splitBytes) => {
      const tasks = planTaskInputs(inputs, splitBytes);
      const bytes = (ranges: readonly { start: number; end: number }[]): number[] =>
        ranges.flatMap(({ start, end }) =>
          Array.from({ length: end - start }, (_, i) => start + i),
        );
      assert.deepEqual(bytes(tasks.flat()), bytes(inputs));
      for (const task of tasks) assert.ok(bytes(task).length <= splitBytes);
    }),
  );
});

test('a range that its file does not have is refused, and so is a file that is missing or not local', async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, 'ten'), '0123456789');
  const path = join(folder, 'ten');
  for (const input of [
    { path, end: 11 },
    { path, start: 5, end: 4 },
    { path: join(folder, 'no') },
    { path: 'hdfs://server/file' },
  ]) {
    await assert.rejects(
      resolveInputs([input]),
      (error) => error instanceof MapReduceError && error.code === 'INVALID_ARGUMENT',
    );
  }
  assert.deepEqual(await resolveInputs([{ path }]), [{ path, start: 0, end: 10 }]);
});
