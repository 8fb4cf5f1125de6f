/** The bench, if its own event loop stands still for a while, or its process ends between jobs. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { kill } from 'node:process';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '#engine/testing';
import { Bench, type Job, type JudgeStep } from './bench.ts';
import { readSource } from './generate.ts';

const FILE = 'engine/transaction/context.ts';
const LOADING: JudgeStep = { kind: 'tests', name: FILE };
const CALLING: JudgeStep = { kind: 'tests', name: 'engine/transaction/rules-reads.test.ts' };
const LOOK_MS = 200;
const WAIT_MS = 20;
/** Two minutes. */
const WAITS_MAX = 6_000;

/**
 * A job on a file that computes when it is loaded, and when its function is first called, and then
 * writes its process id to `said`.
 */
function computing(
  steps: readonly JudgeStep[],
  { loadMs = 0, callMs = 0 },
): Job & { said: string } {
  const said = path.join(temporaryFolder(), 'said');
  const helpers = `
    const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e3; };
    const compute = (ms) => { for (const endMs = cpuMs() + ms; cpuMs() < endMs;); };
    const say = () => process.getBuiltinModule('node:fs')
      .writeFileSync(${JSON.stringify(said)}, String(process.pid));
    let isCalled = false;
    compute(${loadMs});
    ${callMs === 0 ? 'say();' : ''}
  `;
  const called = `if (!isCalled) { isCalled = true; compute(${callMs}); say(); } const ceiling`;
  const text = readSource(FILE)
    .replace('export function', `${helpers} export function`)
    .replace('const ceiling', callMs === 0 ? 'const ceiling' : called);
  return { change: { file: FILE, text }, steps, measures: false, said };
}

/**
 * Resolves when the bench has heard that the first step began: it then asks for the limit of this
 * step. It does so only at ticks.
 */
async function untilBegun(t: TestContext, asked: ReadonlySet<string>): Promise<void> {
  for (let i = 0; i < WAITS_MAX && !asked.has(LOADING.name); i++) {
    await sleep(WAIT_MS);
    t.mock.timers.tick(LOOK_MS);
  }
  assert.ok(asked.has(LOADING.name));
}

/** Without giving way to events: as if this process had been stopped. */
function standStillUntil(said: string): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < WAITS_MAX && !existsSync(said); i++) Atomics.wait(never, 0, 0, WAIT_MS);
  Atomics.wait(never, 0, 0, 500); // Until the process has told how its step ended.
}

test('the time of two steps is not taken for that of one by a bench that stood still', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  using bench = new Bench();
  const job = computing([LOADING, CALLING], { loadMs: 1_500, callMs: 500 });
  const asked = new Set<string>();
  const run = bench.run(job, (step) => {
    asked.add(step);
    return 2_000;
  });
  await untilBegun(t, asked);
  standStillUntil(job.said);
  t.mock.timers.tick(LOOK_MS);
  const { failure, passed } = await run;
  assert.equal(failure, undefined);
  assert.equal(passed.length, 2);
});

test('a process that was ended as late gets no other job, even if it had done its own', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  using bench = new Bench();
  const job = computing([LOADING], { loadMs: 500 });
  const asked = new Set<string>();
  let cpuMsMax = Infinity;
  const run = bench.run(job, (step) => {
    asked.add(step);
    return cpuMsMax;
  });
  await untilBegun(t, asked);
  standStillUntil(job.said);
  cpuMsMax = 0;
  t.mock.timers.tick(LOOK_MS);
  assert.equal((await run).failure?.isLate, true);
  const next = await bench.run({ steps: [], measures: false }, () => Infinity);
  assert.equal(next.failure, undefined);
});

test('a process that ended between two jobs is replaced', async () => {
  using bench = new Bench();
  const job = computing([LOADING], {});
  assert.equal((await bench.run(job, () => Infinity)).failure, undefined);
  const pid = Number(readFileSync(job.said, 'utf8'));
  kill(pid, 'SIGKILL');
  for (let i = 0; i < WAITS_MAX && isThere(pid); i++) await sleep(WAIT_MS);
  const next = await bench.run({ steps: [], measures: false }, () => Infinity);
  assert.equal(next.failure, undefined);
});

test('what a failed test leaves in the folder for temporary files is removed with the bench', async () => {
  const said = path.join(temporaryFolder(), 'said');
  const text = `
    const fs = process.getBuiltinModule('node:fs');
    const folder = fs.mkdtempSync(process.getBuiltinModule('node:os').tmpdir() + '/left-');
    fs.writeFileSync(${JSON.stringify(said)}, folder);
    throw new Error('this test fails');
    ${readSource(FILE)}
  `;
  {
    using bench = new Bench();
    const job = { change: { file: FILE, text }, steps: [LOADING], measures: false };
    assert.notEqual((await bench.run(job, () => Infinity)).failure, undefined);
    assert.ok(existsSync(readFileSync(said, 'utf8')));
  }
  assert.ok(!existsSync(readFileSync(said, 'utf8')));
});

function isThere(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
}
