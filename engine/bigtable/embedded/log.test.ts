/** Claims of the log that need larger files than a test can write, or files that fail to close. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Disk, DiskFile } from './disk.ts';
import { Log } from './log.ts';
import { GroupWriter, type Mark } from './record.ts';
import { SIZES } from './sizes.ts';

/** A disk that forgets what is written. */
function nowhere(): Disk {
  const file: DiskFile = {
    size: () => 0,
    read: () => 0,
    write: () => undefined,
    sync: async () => undefined,
    truncate: () => undefined,
    close: () => undefined,
  };
  return {
    names: () => [],
    open: () => file,
    create: () => file,
    rename: () => undefined,
    remove: () => undefined,
    sync: async () => undefined,
  };
}

test('a file ends before its offsets need more than 32 bits, however much data there is', async () => {
  const end = { file: 0, offset: 0 };
  const state = { store: 1, files: new Map(), end, sequence: 0, oldest: 0, newest: 0 };
  const log = new Log(nowhere(), state, SIZES);
  const dataBytes = 2 ** 40;
  let at: Mark = log.next(dataBytes);
  await log.append(Buffer.alloc(100), at);
  at = log.next(dataBytes);
  assert.deepEqual(at, { file: 1, offset: 100 }, 'a small file goes on');
  // As if the groups between had been written.
  await log.append(Buffer.alloc(100), { file: 1, offset: 2 ** 32 - 200 });
  at = log.next(dataBytes);
  assert.deepEqual(at, { file: 2, offset: 0 });
  const writer = new GroupWriter();
  writer.begin(at);
  assert.doesNotThrow(
    () => writer.finish(log.header(at, 1)),
    'the header holds where the file ends',
  );
});

test('a file that cannot be closed does not leave the others open, and is reported', () => {
  const closed: number[] = [];
  const fileOf = (number: number): DiskFile => ({
    ...nowhere().open(''),
    close: () => {
      closed.push(number);
      if (number < 3) throw new Error(`file ${number}`);
    },
  });
  const files = new Map([1, 2, 3].map((number) => [number, { file: fileOf(number), size: 0 }]));
  const end = { file: 3, offset: 0 };
  const log = new Log(
    nowhere(),
    { store: 1, files, end, sequence: 0, oldest: 1, newest: 3 },
    SIZES,
  );
  assert.throws(() => log.close(), /file 1/);
  assert.deepEqual(closed, [1, 2, 3]);
});
