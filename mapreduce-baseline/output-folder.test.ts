/** Why an output cannot be published. */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { UnfinishedOutput } from './output-folder.ts';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';

test('an output that another run has published meanwhile is not replaced', async () => {
  const target = join(temporaryFolder(), 'output');
  await using unfinished = await UnfinishedOutput.begin(target);
  await mkdir(target);
  await writeFile(join(target, 'part-00000'), 'of another run');
  await assert.rejects(unfinished.publish({ durable: false }), { code: 'OUTPUT_EXISTS' });
});

test('any other failure keeps its own reason', async () => {
  const target = join(temporaryFolder(), 'output');
  await using unfinished = await UnfinishedOutput.begin(target);
  await rm(unfinished.output, { recursive: true });
  await assert.rejects(unfinished.publish({ durable: false }), { code: 'ENOENT' });
});
