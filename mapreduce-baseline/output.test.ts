/** Why an output cannot be published, and what is synced before it is. */
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';
import { UnfinishedOutput } from './output.ts';

test('an output that another run has published meanwhile is not replaced', async () => {
  const target = join(temporaryFolder(), 'output');
  await using unfinished = await UnfinishedOutput.begin(target);
  await mkdir(target);
  await writeFile(join(target, 'part-00000'), 'of another run');
  await assert.rejects(unfinished.publish({ durable: false }), { code: 'OUTPUT_EXISTS' });
});

test('a publish that fails for another reason reports that reason', async () => {
  const target = join(temporaryFolder(), 'output');
  await using unfinished = await UnfinishedOutput.begin(target);
  await rm(unfinished.output, { recursive: true });
  await assert.rejects(unfinished.publish({ durable: false }), { code: 'ENOENT' });
});

/** Calls `sync` in place of every sync of a file or folder. */
async function mockSync(t: TestContext, sync: (this: FileHandle) => Promise<void>): Promise<void> {
  await using handle = await open(temporaryFolder());
  t.mock.method(Object.getPrototypeOf(handle) as FileHandle, 'sync', sync);
}

test('the names of new folders above an output are synced first, then those of its parts, and its own last', async (t) => {
  const root = temporaryFolder();
  const target = join(root, 'new', 'newer', 'output');
  const synced: number[] = [];
  await mockSync(t, async function () {
    synced.push((await this.stat()).ino);
  });
  await using unfinished = await UnfinishedOutput.begin(target);
  await unfinished.publish({ durable: true });
  const folders = [root, join(root, 'new'), target, dirname(target)];
  assert.deepEqual(
    synced,
    folders.map((folder) => statSync(folder).ino),
  );
});

test('an output is published on a system that cannot sync folders, but not on a disk that fails', async (t) => {
  let code = 'EINVAL';
  await mockSync(t, () => Promise.reject(Object.assign(new Error(code), { code })));
  const target = join(temporaryFolder(), 'new', 'output');
  await using unfinished = await UnfinishedOutput.begin(target);
  code = 'EIO';
  await assert.rejects(unfinished.publish({ durable: true }), { code: 'EIO' });
  code = 'EINVAL';
  await unfinished.publish({ durable: true });
  assert.ok(existsSync(target));
});

test('a folder that the system refuses to create is an error, even if the system calls it missing', async (t) => {
  if (!existsSync('/proc')) return t.skip('/proc is of Linux');
  return assert.rejects(
    UnfinishedOutput.begin('/proc/new/output'),
    /^Error: E[A-Z]+: .*, mkdir '\/proc\/new'$/,
  );
});
