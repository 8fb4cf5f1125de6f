/** The processes in which many mutants are judged. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { kill } from 'node:process';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { mutantsOf, readSource } from './generate.ts';
import { judgeAll } from './verdict.ts';
import type { Judge } from './judges.ts';

const FILE = 'engine/transaction/context.ts';
const WAIT_MS = 20;
/** Two minutes. */
const WAITS_MAX = 6_000;

test('an error ends the processes of all judges, also in a step that never ends', async () => {
  const pidFile = path.join(temporaryFolder(), 'pid');
  const [mutant] = mutantsOf(FILE, readSource(FILE)).mutants;
  assert.ok(mutant !== undefined);
  const tellPid = `writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));`;
  const endless = `process.getBuiltinModule('node:fs').${tellPid} for (;;);`;
  const at = readSource(FILE).indexOf('export function');
  const unreached = { ...mutant, file: 'engine/transaction/commit.ts', start: 0, end: 0 };
  const mutants = [
    { ...unreached, replacement: ' ' },
    { ...mutant, start: at, end: at, replacement: endless },
  ];
  const judge: Judge = {
    step: { kind: 'tests', name: 'engine/transaction/rules-reads.test.ts' },
    cpuMs: 1_000_000,
    isTimed: true,
    reached: { [FILE]: [[0, 100_000]] },
  };
  // The mutant that no judge reaches has its verdict at once, while the other one is judged.
  const onVerdict = (): void => {
    waitForContent(pidFile);
    throw new Error('the disk is full');
  };
  const { signal } = new AbortController();
  const court = { judges: [judge], isThorough: false };
  await assert.rejects(
    judgeAll(mutants, court, { jobs: 2, signal, onVerdict }),
    /the disk is full/,
  );
  assert.throws(() => kill(Number(readFileSync(pidFile, 'utf8')), 0), /ESRCH/);
});

/**
 * Waits until the file has content: it is there, and empty, before the process has written into it.
 * Does not give way to events, because `onVerdict` is synchronous.
 */
function waitForContent(file: string): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const isEmpty = (): boolean => !existsSync(file) || readFileSync(file).length === 0;
  for (let i = 0; i < WAITS_MAX && isEmpty(); i++) Atomics.wait(never, 0, 0, WAIT_MS);
}
