/** Which runs of `./run.sh reproduce` count as measured before. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { referenceRecords } from '#results';
import { codeVersion } from '../../harness/hosts/code-version.ts';
import { Reproducing } from './reproducing.ts';

test('a folder that holds another run than the listed one is measured anew', () => {
  const folder = temporaryFolder();
  const [record] = referenceRecords().values();
  assert.ok(record !== undefined);
  const run = { name: 'micro', words: ['bench:micro'], seconds: 1 } as const;
  const listed = { folder: 'micro-1', command: 'bench:micro', version: codeVersion() };
  const isDone = (state: string, runId: string): boolean => {
    mkdirSync(path.join(folder, 'micro-1'), { recursive: true });
    writeFileSync(path.join(folder, 'micro-1', 'run.json'), JSON.stringify({ ...record, state }));
    writeFileSync(path.join(folder, 'reproduced.json'), JSON.stringify([{ ...listed, runId }]));
    return new Reproducing(folder).done(run) !== null;
  };
  assert.equal(isDone('finished', record.runId), true);
  assert.equal(isDone('finished', 'another'), false);
  assert.equal(isDone('interrupted', record.runId), false);
});
